// A sweep: what each cluster gains over what you run as a map, lines along each axis, and all cells.

import { byId, el, facts, fill, say } from "../elements/dom.js";
import { named, restsOn } from "../elements/evidence.js";
import { figure } from "../elements/figures.js";
import { count, percent, time } from "../elements/format.js";
import { fileName } from "../elements/save.js";
import { idOfPage, read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { complain } from "../service/api.js";
import { fileButton } from "../service/downloads.js";
import { pageButton } from "../service/one-file.js";
import { follow, outcome } from "../service/progress.js";
import { saved } from "../service/saved.js";
import { bestIn, dimensionsOf, labelIn, nameOf, SHOWN, said, shown, TIE } from "../sweep/cells.js";
import { drawLines, drawnOf } from "../sweep/lines.js";
import { drawMap } from "../sweep/map.js";
import { open } from "../sweep/open.js";

/** @import { SweepCell, SweepOut } from "interlace-api" */
/** @import { Dimension, View } from "../sweep/cells.js" */

const PLAIN = { show: "saved", of: "", over: "", y: "saved", off: "" };

try {
  /** @type {SweepOut} */
  const sweep = await follow("/v1/sweeps", idOfPage(), byId("progress"));
  const isAnswered = Boolean(sweep.cells?.length);
  fill(byId("progress"), outcome(sweep, isAnswered));
  if (isAnswered) await show(sweep);
} catch (error) {
  complain(error);
}

/**
 * Fill the page with a sweep that has cells.
 *
 * @param {SweepOut} sweep
 */
async function show(sweep) {
  const dimensions = dimensionsOf(sweep);
  const view = viewOf(sweep, dimensions);
  document.title = `${sweep.name || "Sweep"} – Interlace`;
  fill(byId("title"), `Sweep of ${sweep.name || "a graph"}`);
  tell(byId("lead"), sweep, dimensions);
  summarise(sweep);
  byId("content").hidden = false;
  const enter = (cell) => {
    const label = SHOWN[view.show].isOfBest ? cell.best : labelIn(cell, view.of);
    say(`Opening ${label ?? "a cell"} with ${said("workers", cell.workers)}.`);
    open(sweep, cell, label).catch(complain);
  };
  const opening = saved === undefined ? enter : null; // it needs a service
  listCells(sweep, dimensions, opening);
  await drawMap(sweep, dimensions, view, opening);
  await drawLines(sweep, dimensions, view);
}

/**
 * What the page shows, from its address: show, of, over, y, off as there; fixed: the value of each
 * dimension where others are drawn; change(changes) notes it in the address.
 */
function viewOf(sweep, dimensions) {
  const labels = sweep.policies.map((policy) => policy.label);
  const drawn = drawnOf(sweep);
  const first = drawn.includes("saved") ? PLAIN.show : "best"; // of older releases
  const view = /** @type {View & Record<string, any>} */ (
    read({
      ...PLAIN,
      show: first,
      y: drawn[0],
      ...Object.fromEntries(dimensions.map(({ field }) => [field, ""])),
    })
  );
  view.fixed = {};
  for (const { field, values } of dimensions) {
    view.fixed[field] =
      values.find((value) => String(value) === view[field]) ?? values[Math.floor(values.length / 2)];
  }
  if (!Object.hasOwn(SHOWN, view.show)) view.show = first;
  if (!drawn.includes(view.y)) view.y = drawn[0];
  if (!labels.includes(view.of)) view.of = "";
  if (!labels.includes(view.over)) view.over = labels[0];
  view.change = (changes) => {
    Object.assign(view, changes);
    write(
      Object.fromEntries(
        Object.entries(changes).map(([name, value]) => [name, value === PLAIN[name] ? "" : value]),
      ),
    );
  };
  view.fix = (field, text) => {
    view.fixed[field] = dimensions
      .find((one) => one.field === field)
      .values.find((value) => String(value) === text);
    write({ [field]: text });
  };
  return view;
}

/** The most that is saved, on how many clusters anything is, and how near to the bound the fastest are. */
function tell(host, sweep, dimensions) {
  const known = sweep.cells.filter((cell) => SHOWN.saved.of(cell) !== null);
  const [most] = [...known].sort((a, b) => SHOWN.saved.of(b) - SHOWN.saved.of(a));
  const better = known.filter((cell) => SHOWN.saved.of(cell) >= TIE);
  const gaps = sweep.cells.map((cell) => SHOWN.gap.of(cell, "")).filter((gap) => gap !== null);
  const where = dimensions
    .filter(({ values }) => values.length > 1)
    .map(({ field }) => said(field, most?.[field]))
    .join(", ");
  fill(
    host,
    el(
      "div",
      { class: "figures" },
      most
        ? figure(
            "plan",
            "saved at most",
            better.length ? percent(SHOWN.saved.of(most)) : "nothing",
            better.length ? `over ${named(most.gains[0])}${where ? `, with ${where}` : ""}` : null,
          )
        : null,
      most
        ? figure(
            "today",
            "something is saved on",
            `${better.length} of ${count(known.length, "cluster")}`,
            better.length < known.length ? "on the others what you run is as fast" : null,
          )
        : null,
      gaps.length
        ? figure(
            "bound",
            "the fastest is at most",
            percent(Math.max(...gaps), 2),
            "above the lower bound, which nothing passes",
          )
        : null,
    ),
  );
}

/**
 * @param {SweepOut} sweep
 */
function summarise(sweep) {
  const at = `/v1/sweeps/${sweep.id}`;
  const about = sweep.name || "sweep";
  const isCut = sweep.cells_asked !== null && sweep.cells_asked > sweep.cells.length;
  fill(
    byId("summary"),
    sweep.summary.map((sentence) => el("p", {}, sentence)),
    restsOn(sweep.evidence),
    [...new Set(sweep.warnings.map((warning) => warning.detail))].map((detail) =>
      el("p", { class: "note" }, detail),
    ),
    facts([
      ["Cells", isCut ? `${sweep.cells.length} of ${sweep.cells_asked}` : String(sweep.cells.length)],
      ["Policies", sweep.policies.map((policy) => policy.label).join(", ")],
      ["Barrier", sweep.request.barrier ? "yes: the next pass waits for all gradients" : "no"],
      ["Took", time(sweep.runtime_s * 1e6)],
    ]),
    el(
      "p",
      { class: "row", hidden: saved !== undefined },
      pageButton("sweep", sweep.id, () => ({ [at]: sweep })),
      fileButton("CSV of all cells", () => `${at}/table.csv`, fileName(`${about} cells`, "csv")),
      sweep.axes.workers.length > 1
        ? fileButton(
            "SVG of speed by workers",
            () => `${at}/speed-by-workers.svg`,
            fileName(`${about} speed by workers`, "svg"),
          )
        : null,
      sweep.axes.bandwidths_gbps.length > 1
        ? fileButton(
            "SVG of speed by bandwidth",
            () => `${at}/speed-by-bandwidth.svg`,
            fileName(`${about} speed by bandwidth`, "svg"),
          )
        : null,
    ),
  );
}

/**
 * @param {SweepOut} sweep
 * @param {Dimension[]} dimensions
 * @param {((cell: SweepCell) => void) | null} enter
 */
function listCells(sweep, dimensions, enter) {
  const columns = dimensions.map(({ field }) => ({
    name: nameOf(field),
    of: (cell) => cell[field],
    show: (cell) => shown(field, cell[field]),
  }));
  const gap = (cell) => SHOWN.gap.of(cell, "");
  table(
    byId("cells"),
    [
      ...columns,
      {
        name: "best",
        of: bestIn,
        show: (cell) => el("span", { class: "nowrap" }, bestIn(cell) || "–"),
        isText: true,
      },
      { name: "lower bound", of: (cell) => cell.lower_bound_us, show: (cell) => time(cell.lower_bound_us) },
      { name: "gap", of: gap, show: (cell) => percent(gap(cell), 2) },
      {
        name: "speed of the best",
        of: (cell) => cell.speed,
        show: (cell) => (cell.speed === null ? "–" : cell.speed.toFixed(2)),
      },
      ...sweep.policies.map(({ label }) => ({
        name: label,
        of: (cell) => cell.iteration_time_us[label],
        show: (cell) => time(cell.iteration_time_us[label]),
      })),
    ],
    sweep.cells,
    {
      caption: "All cells, with the iteration time of each policy",
      key: (cell) => dimensions.map(({ field }) => String(cell[field])).join(" "),
      filter: (cell) =>
        `${cell.best ?? ""} ${dimensions.map(({ field }) => said(field, cell[field])).join(" ")}`,
      onselect: enter ? (cell) => cell && enter(cell) : undefined,
    },
  );
}
