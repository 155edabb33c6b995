// The timeline of an iteration beside a rival, with a search for ops.

import { el, fill, say } from "../elements/dom.js";
import { bytes, count, time } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { complain, get } from "../service/api.js";
import { label } from "../service/names.js";
import { gantt } from "../timeline/gantt.js";
import { markCritical, measuredRun, runsOf } from "../timeline/runs.js";
import { toneOf, wordsOf } from "../timeline/tones.js";

/** @import { Iteration } from "./iteration.js" */
/** @import { Run } from "../timeline/runs.js" */

/**
 * @typedef {object} TimelineOptions
 * @property {string} name
 * @property {string[]} rivals
 * @property {(rival: string | null) => Promise<any>} fetchTrace
 * @property {(ops: string[] | null) => void} onselect
 */

const NONE = "none";

/** Of more launches than this a plan is drawn before what stands beside it is there. */
const MANY = 5_000;

/** Names of ops: a few, and how many more. */
function named(ops) {
  return ops.length > 3 ? `${ops.slice(0, 3).join(", ")} and ${ops.length - 3} more` : ops.join(", ");
}

/** The view that an address names, "from~to" [us]; null when it names none. */
function viewIn(text) {
  const [from, to] = text.split("~").map(Number);
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null;
}

/** What a bar tells of itself; release and wait are known of the run that was explained. */
function describing(tensors) {
  return (bar, row, run) => {
    const told = [
      [bar.ops.length > 1 ? "ops" : "op", named(bar.ops)],
      ["kind", wordsOf(toneOf(bar))],
    ];
    if (bar.bytes !== null) told.push(["bytes", bytes(bar.bytes)]);
    told.push(["start", time(bar.start)], ["end", time(bar.end)], ["takes", time(bar.end - bar.start)]);
    const known = run.isExplained ? bar.ops.map((op) => tensors.get(op)) : [];
    if (row.isChannel && known.length && known.every(Boolean)) {
      const release = Math.max(...known.map((tensor) => tensor.release_us));
      told.push(["release", time(release)]);
      if (!bar.offset) told.push(["waited", time(Math.max(0, bar.start - release))]);
    }
    if (row.isChannel) told.push(["exposed", time(bar.exposed)]);
    return told;
  };
}

/**
 * Show the timeline.
 *
 * rivals: names of what can be drawn beside it, the first by default (NONE is always one);
 * fetchTrace(rival or null): the Chrome trace; onselect(ops or null).
 * Returns { select(ops, isReached), compare(run), beside() }: compare draws another run in the rival's
 * place, and null draws the rival again.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 * @param {TimelineOptions} options
 */
export async function timelineOf(host, body, { name, rivals, fetchTrace, onselect }) {
  const given = read({ beside: rivals[0] ?? NONE, t: "", op: "" });
  const tensors = new Map((body.tensors ?? []).map((tensor) => [tensor.id, tensor]));
  const choice = el(
    "select",
    { id: "beside" },
    [...new Set([...rivals, NONE])].map((each) =>
      el("option", { value: each, selected: each === given.beside }, label(each)),
    ),
  );
  if (![...rivals, NONE].includes(given.beside))
    choice.prepend(el("option", { value: given.beside, selected: true }, given.beside));
  const words = el("input", { type: "search", id: "find", placeholder: "Part of a name", value: given.op });
  const matches = el("span", { class: "faint", role: "status" });
  const canvas = el("div");
  let rival = null;
  let instead = null;
  let chart = null;

  async function load(beside = choice.value) {
    const trace = await fetchTrace(beside === NONE ? null : beside);
    const [own, other = null] = runsOf(trace);
    Object.assign(own, { label: name, isExplained: true, peak: body.peak_bytes });
    markCritical(own, body.critical_path);
    rival =
      choice.value === NONE || other === null ? null : Object.assign(other, { label: label(other.name) });
    return own;
  }

  fill(
    host,
    el("h2", {}, "Timeline"),
    el(
      "div",
      { class: "row timeline-tools" },
      el("label", { for: "beside" }, "Beside it"),
      choice,
      el("label", { for: "find" }, "Find an op"),
      words,
      el("button", { type: "button", id: "next", onclick: () => find(1) }, "Find"),
      matches,
    ),
    canvas,
  );
  let own;
  const isLate = choice.value !== NONE && body.schedule.parts.length > MANY;
  try {
    own = await load(isLate ? NONE : choice.value);
  } catch (error) {
    if (choice.value === NONE) throw error;
    complain(error); // of a rival that the address names, perhaps
    choice.value = NONE;
    own = await load();
  }
  const measured = body.evidence?.recorded_us ?? null;
  const recorded = measured === null ? null : measuredRun("recorded step", measured);
  const runs = () => [own, instead ?? rival, recorded].filter(Boolean);

  chart = gantt(canvas, {
    title: "Timeline of one iteration",
    runs: runs(),
    bound: body.lower_bound_us ?? null,
    view: viewIn(given.t),
    describe: describing(tensors),
    onselect: (bar) => {
      const ops = bar === null ? null : bar.ops;
      chart.select(ops && touching(ops));
      onselect(ops);
    },
    onview: (from, to) =>
      write({ t: from === null ? null : `${+from.toPrecision(7)}~${+to.toPrecision(7)}` }),
  });

  function touching(ops) {
    const wanted = new Set(ops);
    return (bar) => bar.ops.some((op) => wanted.has(op));
  }

  let found = { words: "", bars: [], at: -1 };

  /** Zoom to the next bar that has the words. */
  function find(by) {
    const text = words.value.trim();
    write({ op: text });
    if (!text) {
      matches.textContent = "";
      chart.select(null);
      return;
    }
    if (found.words !== text) found = { words: text, bars: chart.find(text), at: -1 };
    if (!found.bars.length) {
      matches.textContent = "No op has that in its name.";
      return;
    }
    found.at = (found.at + by + found.bars.length) % found.bars.length;
    const hit = found.bars[found.at];
    const those = hit.bar.ops.filter((op) => op.toLowerCase().includes(text.toLowerCase()));
    matches.textContent = `${found.at + 1} of ${count(found.bars.length, "bar")}: ${named(those)}`;
    chart.zoomTo(hit.bar);
    chart.point(hit);
  }
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
  });
  if (given.op) find(1);

  /** Draw what is chosen beside it. */
  async function choose() {
    try {
      choice.disabled = true;
      own = await load();
      found.words = "";
      instead = null;
      chart.setRuns(runs());
      say(rival ? `${rival.label} takes ${time(rival.end)}.` : "No rival is drawn.");
    } catch (error) {
      complain(error);
    } finally {
      choice.disabled = false;
    }
  }
  choice.addEventListener("change", () => {
    write({ beside: choice.value === (rivals[0] ?? NONE) ? null : choice.value });
    choose();
  });
  if (isLate) choose();

  return {
    select(ops, isReached = true) {
      chart.select(ops && touching(ops));
      const first =
        ops &&
        own.rows
          .filter((row) => row.isChannel)
          .flatMap((row) => row.bars)
          .find(touching(ops));
      if (first && isReached) chart.zoomTo(first);
    },
    compare(run) {
      instead = run;
      chart.setRuns(runs());
    },
    beside: () => (choice.value === NONE ? null : choice.value),
  };
}

/**
 * The runs of a simulation's trace, to be compared with.
 *
 * @param {string} path
 */
export async function runsAt(path) {
  return runsOf(await get(path));
}
