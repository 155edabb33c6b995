// A step of the chosen shape on one time axis, as the service draws it.

import { el, fill } from "../elements/dom.js";
import { time } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { Problem, post } from "../service/api.js";
import { saved } from "../service/saved.js";
import { gantt } from "../timeline/gantt.js";
import { runsOf } from "../timeline/runs.js";
import { toneOf, wordsOf } from "../timeline/tones.js";

/** @import { ShapeRow } from "interlace-api" */

const PATH = "/v1/shapes/timeline";

/** The shape that is being drawn: one that is chosen meanwhile takes its place. */
let left = new AbortController();

/** The view that the address names, "from~to" [us]; null when it names none. */
function viewOf() {
  const [from, to] = read({ t: "" }).t.split("~").map(Number);
  return from < to ? [from, to] : null;
}

/**
 * Draw it; a shape of too many passes says so instead.
 *
 * @param {HTMLElement} host
 * @param {any} request that of the ranking
 * @param {ShapeRow} row
 */
export async function drawChosen(host, request, row) {
  host.hidden = saved !== undefined; // a service draws it
  if (host.hidden) return;
  left.abort();
  left = new AbortController();
  const { signal } = left;
  const drawn = el("div", {}, el("p", { class: "faint" }, "It is being drawn."));
  fill(
    host,
    el("h2", {}, "A step of this shape"),
    el(
      "p",
      { class: "faint" },
      "One pipeline of its ranks: F, B and W are passes forward, backward and of weights, by virtual stage " +
        "and micro-batch; r/data sums the gradients of rank r, r-s has its messages to rank s.",
    ),
    drawn,
  );
  try {
    const { body } = await post(PATH, { ...request, shape: row.shape }, { signal });
    gantt(drawn, {
      title: "A step of this shape",
      runs: runsOf(body),
      view: viewOf(),
      describe: (bar, { name }) => [
        [bar.kind === "compute" ? "pass" : "message", bar.name],
        ["on", name],
        ["kind", wordsOf(toneOf(bar))],
        ["start", time(bar.start)],
        ["takes", time(bar.end - bar.start)],
      ],
      onview: (from, to) =>
        write({ t: from === null ? null : `${+from.toPrecision(7)}~${+to.toPrecision(7)}` }),
    });
  } catch (/** @type {any} */ error) {
    if (signal.aborted) return;
    if (!(error instanceof Problem) || !error.faults?.length) throw error;
    fill(drawn, el("p", { class: "note" }, error.faults.map(({ detail }) => detail).join(" ")));
  }
}
