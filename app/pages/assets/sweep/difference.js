// Two sweeps side by side: a map of what the second takes less on each cluster, and all cells.

import { chart, plain } from "../charts/chart.js";
import { choice } from "../elements/controls.js";
import { el, fill } from "../elements/dom.js";
import { percent, time } from "../elements/format.js";
import { table } from "../elements/table.js";
import { complain } from "../service/api.js";
import { label } from "../service/names.js";
import { nameOf, said, shown } from "./cells.js";
import { heatMap } from "./map.js";

/** @import { ComparedCell, SweepComparison, SweepOut } from "interlace-api" */

const FIELDS = ["workers", "bandwidth_gbps", "startup_us", "memory_limit_bytes"];

/** What the second is beside the first, in words. */
function words(cell) {
  if (cell.held_by !== "both") return cell.held_by === "first" ? "in A alone" : "in B alone";
  if (cell.less === null) return "not known";
  if (cell.is_alike) return "equal";
  return `${percent(Math.abs(cell.less))} ${cell.less > 0 ? "faster" : "slower"}`;
}

const named = (labels) => labels.map(label).join(" = ") || "–";

/** All that is known of a cell, for who points at it. */
const hoverOf = (cell) =>
  [
    FIELDS.filter((field) => cell[field] !== undefined)
      .map((field) => said(field, cell[field]))
      .join(", "),
    `A: ${time(cell.first_us)}, ${named(cell.first_fastest)}`,
    `B: ${time(cell.second_us)}, ${named(cell.second_fastest)}`,
    `B: ${words(cell)}${cell.is_other_best ? "; another policy is the fastest" : ""}`,
  ]
    .map(plain)
    .join("<br>");

/**
 * Draw the map of the difference, with a choice of each dimension that is not drawn.
 *
 * @param {HTMLElement} host
 * @param {SweepComparison} comparison
 */
export async function drawDifference(host, comparison) {
  const dimensions = FIELDS.map((field) => ({
    field,
    values: [...new Set(comparison.cells.map((cell) => cell[field]))].sort((a, b) => a - b),
  })).filter(({ values }) => values.some((value) => value !== undefined));
  const along = dimensions.filter(({ values }) => values.length > 1);
  const [x = dimensions[0], y = dimensions.find((one) => one !== x)] = along;
  const rest = along.filter((one) => one !== x && one !== y);
  const fixed = Object.fromEntries(
    dimensions
      .filter((one) => one !== x && one !== y)
      .map(({ field, values }) => [field, values[Math.floor(values.length / 2)]]),
  );
  const cells = comparison.cells.map((cell) => ({
    ...cell,
    gains: [{ gain: cell.is_alike ? 0 : cell.less }],
  }));
  const figure = el("div");
  const drawing = chart(figure, {
    title: "What B takes less than A",
    description: `${comparison.sentence} The table of all clusters below has the same figures.`,
    height: Math.min(640, 200 + 44 * y.values.length),
    make: () =>
      heatMap(/** @type {SweepOut} */ (/** @type {unknown} */ ({ cells, policies: [], knees: [] })), {
        x,
        y,
        fixed,
        show: "saved",
        of: "",
        over: "",
        width: figure.clientWidth - 90,
        what: "what B takes less than A (less than nothing: more)",
        hover: hoverOf,
      }),
    table: () => ({
      columns: [...dimensions.map(({ field }) => field), "first_us", "second_us", "less"],
      rows: cells.map((cell) => [
        ...dimensions.map(({ field }) => cell[field]),
        cell.first_us,
        cell.second_us,
        cell.less,
      ]),
    }),
  });
  const controls = rest.map(({ field, values }) =>
    choice(
      nameOf(field),
      values.map((value) => [String(value), shown(field, value)]),
      String(fixed[field]),
      (text) => {
        fixed[field] = values.find((value) => String(value) === text);
        drawing.then((drawn) => drawn.redraw()).catch(complain);
      },
    ),
  );
  fill(
    host,
    el("h2", {}, "What B takes less than A"),
    controls.length ? el("p", { class: "row" }, controls) : null,
    figure,
  );
  await drawing;
}

/**
 * List the cells of either sweep, the fastest of each.
 *
 * @param {HTMLElement} host
 * @param {SweepComparison} comparison
 */
export function listDifferences(host, comparison) {
  const swept = FIELDS.filter((field) => comparison.cells.some((cell) => cell[field] !== undefined));
  /** @type {(name: string, field: "first_us" | "second_us") => any} */
  const took = (name, field) => ({ name, of: (cell) => cell[field], show: (cell) => time(cell[field]) });
  const saves = (name, field) => ({ name, of: (cell) => cell[field], show: (cell) => percent(cell[field]) });
  const fastest = (name, field) => ({
    name,
    of: (cell) => named(cell[field]),
    show: (cell) => named(cell[field]),
    isText: true,
  });
  table(
    host,
    [
      ...swept.map((field) => ({
        name: nameOf(field),
        of: (cell) => cell[field],
        show: (cell) => shown(field, cell[field]),
      })),
      fastest("fastest in A", "first_fastest"),
      took("A", "first_us"),
      saves("A saves", "first_gain"),
      fastest("fastest in B", "second_fastest"),
      took("B", "second_us"),
      saves("B saves", "second_gain"),
      { name: "B is", of: (cell) => cell.less, show: words },
    ],
    comparison.cells,
    {
      caption: "All clusters of either",
      filter: (cell) => `${named(cell.first_fastest)} ${named(cell.second_fastest)} ${words(cell)}`,
    },
  );
}
