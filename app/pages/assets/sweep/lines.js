// Lines of a sweep along each axis: a policy each, the bound dashed, knees ringed.

import { chart } from "../charts/chart.js";
import { curves, heightOf, rowsOf } from "../charts/curves.js";
import { boxes, choice, joined, parted } from "../elements/controls.js";
import { byId, el, fill } from "../elements/dom.js";
import { number, percent, time } from "../elements/format.js";
import { complain } from "../service/api.js";
import { cellAt, nameOf, said, savedBy, shown, speedIn, timeIn } from "./cells.js";

/** @import { SweepOut } from "interlace-api" */
/** @import { Dimension, View } from "./cells.js" */

/**
 * What lines may show: its name, the title of its axis, its column in a CSV, its value of a policy and of the
 * bound in a cell, and that in words.
 */
const DRAWN = {
  saved: {
    name: "saved over what you run",
    axis: "saved over what you run [%]",
    column: "saved_percent",
    of: (cell, label) => savedBy(cell, timeIn(cell, label)),
    bound: (cell) => savedBy(cell, cell.lower_bound_us),
    show: (value) => percent(value / 100),
  },
  speed: {
    name: "speed, in workers that never wait",
    axis: "speed [workers]",
    column: "speed",
    of: speedIn,
    bound: (cell) => cell.speed_bound,
    show: (value) => `${number(value)} workers`,
  },
  time: {
    name: "iteration time",
    axis: "iteration time [us]",
    column: "iteration_time_us",
    of: timeIn,
    bound: (cell) => cell.lower_bound_us,
    show: time,
  },
};

/** The keys of what lines may show of a sweep; one of an older release has nothing to compare with. */
export const drawnOf = (sweep) =>
  Object.keys(DRAWN).filter((key) => key !== "saved" || sweep.cells.some((cell) => cell.gains?.length));

/** What is drawn along a dimension at the fixed values of the others. */
function dataOf(sweep, { field, values }, fixed, y, off) {
  const { of, bound } = DRAWN[y];
  const cells = values.map((value) => cellAt(sweep, { ...fixed, [field]: value }));
  const lines = sweep.policies
    .map(({ label }, style) => ({
      name: label,
      style,
      ys: cells.map((cell) => (cell ? of(cell, label) : null)),
    }))
    .filter(({ name }) => !off.has(name))
    .map((line, i, all) => ({ ...line, more: Math.min(2.5, 12 / all.length) * (all.length - 1 - i) }));
  const limits = [
    {
      name: "bound",
      ys: cells.map((cell) => (cell ? bound(cell) : null)),
      dash: "dash",
    },
  ];
  if (y === "speed")
    limits.push({ name: "ideal", ys: cells.map((cell) => cell?.workers ?? null), dash: "dot" });
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
    const data = () => dataOf(sweep, dimension, view.fixed, view.y, off);
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
            y: DRAWN[view.y].axis,
            show: DRAWN[view.y].show,
            isLogY: view.y === "saved" ? false : null,
            title: along
              .filter((one) => one !== dimension)
              .map(({ field }) => said(field, view.fixed[field]))
              .join(", "),
          }),
        table: () => ({
          columns: [dimension.field, "policy", DRAWN[view.y].column],
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
        drawnOf(sweep).map((key) => [key, DRAWN[key].name]),
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
