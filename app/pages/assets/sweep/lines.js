// Lines of a sweep along each axis: a policy each, the bound dashed, knees ringed.

import { chart } from "../charts/chart.js";
import { curves, heightOf, rowsOf } from "../charts/curves.js";
import { boxes, choice, joined, parted } from "../elements/controls.js";
import { byId, el, fill } from "../elements/dom.js";
import { number, time } from "../elements/format.js";
import { complain } from "../service/api.js";
import { cellAt, nameOf, said, shown, speedIn, timeIn } from "./cells.js";

/** @import { SweepOut } from "interlace-api" */
/** @import { Dimension, View } from "./cells.js" */

/** What is drawn along a dimension at the fixed values of the others. */
function dataOf(sweep, { field, values }, fixed, isSpeed, off) {
  const cells = values.map((value) => cellAt(sweep, { ...fixed, [field]: value }));
  const of = isSpeed ? speedIn : timeIn;
  const lines = sweep.policies
    .map(({ label }, style) => ({
      name: label,
      style,
      ys: cells.map((cell) => (cell ? of(cell, label) : null)),
    }))
    .filter(({ name }) => !off.has(name));
  const limits = [
    {
      name: "bound",
      ys: cells.map((cell) => (cell ? (isSpeed ? cell.speed_bound : cell.lower_bound_us) : null)),
      dash: "dash",
    },
  ];
  if (isSpeed) limits.push({ name: "ideal", ys: cells.map((cell) => cell?.workers ?? null), dash: "dot" });
  const isHere = (knee) =>
    knee.along === field &&
    Object.entries(fixed).every(
      ([name, value]) =>
        name === field || knee[name] === undefined || knee[name] === null || knee[name] === value,
    );
  const rings = sweep.knees
    .filter((knee) => knee.value !== null && isHere(knee))
    .flatMap((knee) =>
      lines
        .filter(({ name }) => name === knee.policy)
        .map(({ ys }) => ({ x: knee.value, y: ys[values.indexOf(knee.value)], text: knee.text })),
    )
    .filter(({ y }) => y !== null && y !== undefined);
  return { xs: values, lines, limits, rings };
}

/**
 * Draw a chart for each dimension of several values, with the choices above them.
 *
 * @param {SweepOut} sweep
 * @param {Dimension[]} dimensions
 * @param {View} view
 */
export async function drawLines(sweep, dimensions, view) {
  const along = dimensions.filter(
    ({ values }) => values.length > 1 && values.every((value) => typeof value === "number"),
  );
  byId("lines").hidden = along.length === 0;
  const labels = sweep.policies.map((policy) => policy.label);
  const off = new Set(parted(view.off));
  const drawing = [];
  const redraw = () => {
    for (const one of drawing) one.then((drawn) => drawn.redraw()).catch(complain);
  };
  const hosts = along.map(() => el("div"));
  fill(byId("charts"), hosts);
  for (const [i, dimension] of along.entries()) {
    const isSpeed = () => view.y === "speed";
    const data = () => dataOf(sweep, dimension, view.fixed, isSpeed(), off);
    drawing.push(
      chart(hosts[i], {
        title: `By ${nameOf(dimension.field)}`,
        description:
          "A line for each policy, the bound dashed, knees ringed; " +
          "the table of all cells below has the same figures.",
        height: heightOf(hosts[i], 420, labels.length + 3),
        make: () =>
          curves({
            ...data(),
            x: nameOf(dimension.field),
            y: isSpeed() ? "speed [workers]" : "iteration time [us]",
            show: isSpeed() ? (value) => `${number(value)} workers` : time,
            title: along
              .filter((one) => one !== dimension)
              .map(({ field }) => said(field, view.fixed[field]))
              .join(", "),
          }),
        table: () => ({
          columns: [dimension.field, "policy", isSpeed() ? "speed" : "iteration_time_us"],
          rows: rowsOf(data()),
        }),
      }),
    );
  }
  fill(
    byId("line-controls"),
    el(
      "div",
      { class: "fields" },
      choice(
        "Draw",
        [
          ["speed", "speed, in workers that never wait"],
          ["time", "iteration time"],
        ],
        view.y,
        (y) => {
          view.change({ y });
          redraw();
        },
      ).field,
      along.length > 1
        ? along.map(
            ({ field, values }) =>
              choice(
                `At ${nameOf(field)}`,
                values.map((value) => [String(value), shown(field, value)]),
                view.fixed[field],
                (text) => {
                  view.fix(field, text);
                  redraw();
                },
              ).field,
          )
        : null,
    ),
    boxes("Policies", labels, off, (left) => {
      off.clear();
      for (const label of left) off.add(label);
      view.change({ off: joined(left) });
      redraw();
    }),
  );
  fill(
    byId("knees"),
    el("summary", {}, "Knees in words"),
    el(
      "ul",
      {},
      sweep.knees.map((knee) => el("li", {}, knee.text)),
    ),
  );
  byId("knees").hidden = sweep.knees.length === 0;
  await Promise.all(drawing);
}
