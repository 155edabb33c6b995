// Shapes of a job: which is best, how sure that is, time against memory, and how to launch one.

import { byId, el, facts, fill } from "../elements/dom.js";
import { figure } from "../elements/figures.js";
import { count, memory, number, percent, time } from "../elements/format.js";
import { ask } from "../elements/request.js";
import { idOfPage, read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { term } from "../elements/term.js";
import { complain, get, Problem, post } from "../service/api.js";
import { follow, outcome } from "../service/progress.js";
import { saved } from "../service/saved.js";
import { showChosen } from "../shapes/chosen.js";
import { drawChosen } from "../shapes/chosen-timeline.js";
import { drawFront } from "../shapes/front.js";
import { exposedOf, namedIn, timeOf } from "../shapes/rows.js";

/** @import { RankingOut, ShapeAnswer } from "interlace-api" */
/** @import { Solved } from "../elements/request.js" */

const RANKINGS = "/v1/shapes/rankings";
const WORDS = {
  best: "Best shape",
  bound: "No simulated step is shorter than",
  each: "shape",
  time: "Simulated step",
};

/** The ranking that the page was opened for; null once another is asked, or where it is of none. */
let kept = saved === undefined && location.pathname !== "/shapes" ? idOfPage() : null;

/**
 * Rank by a job, which says how far it is.
 *
 * @param {any} request
 * @param {HTMLElement} host
 * @param {AbortSignal} signal
 * @returns {Promise<Solved>}
 */
async function ranked(request, host, signal) {
  const id = kept ?? (await post(`${RANKINGS}?wait=0`, request, { signal })).body.id;
  kept = null;
  /** @type {RankingOut} */
  const body = await follow(RANKINGS, id, host, { words: WORDS, signal });
  if (body.state === "failed") throw new Problem(body.error.status, body.error);
  const isAnswered = Boolean(body.best?.length);
  const why = isAnswered ? [] : (body.notes ?? []).map((note) => el("p", { class: "note" }, note));
  return { body: isAnswered ? body : null, remark: el("div", {}, outcome(body, isAnswered), why) };
}

/** How sure the first one is, in a sentence. */
function sureness(answer) {
  const [best] = answer.best;
  const left = answer.shapes - answer.too_large - answer.simulated;
  const looked =
    `${count(answer.shapes, "shape")} looked at: ${number(answer.too_large, 12)} too large for memory, ` +
    `${number(answer.simulated, 12)} simulated, ${number(left, 12)} not simulated`;
  if (answer.is_proven) return `${looked} since a bound says that their simulated step is no shorter.`;
  if (answer.lower_bound_us === null) return `${looked}; nothing is proven of those.`;
  return (
    `${looked}; ${number(answer.cut, 12)} of them may be faster, ` +
    `by at most ${percent(1 - answer.lower_bound_us / best.time_us)} in simulated time.`
  );
}

/** That measured steps speak for another shape than the simulation does; "" where they do not. */
function likeliest(answer) {
  const [best] = answer.best;
  const first = namedIn(answer).reduce((a, b) => (timeOf(b) < timeOf(a) ? b : a));
  if (timeOf(first) >= timeOf(best)) return "";
  return ` By the measured steps ${first.name} may be faster: ${time(timeOf(first))}.`;
}

/** How the time of the best is known. */
function source(answer) {
  const [best] = answer.best;
  if (best.predicted_us === null) return "by simulation alone: may be far off";
  const interval =
    best.low_us === null
      ? "too few measured steps for an interval"
      : `nine of ten steps ${time(best.low_us)} to ${time(best.high_us)}`;
  return `${interval}; ${time(best.time_us)} as simulated`;
}

function tell(host, answer) {
  const [best] = answer.best;
  fill(
    host,
    el(
      "div",
      { class: "figures" },
      figure("plan", ["Best ", term("shape")], best.name, best.why),
      figure("today", "its step takes", time(timeOf(best)), source(answer)),
      figure(
        "bound",
        "no simulated step is shorter than",
        [
          time(answer.lower_bound_us),
          " ",
          answer.is_proven ? el("span", { class: "badge optimal" }, term("proven")) : null,
        ],
        answer.is_proven
          ? "of shapes in this space"
          : answer.lower_bound_us === null
            ? "unknown: not every shape has a bound"
            : "of shapes in this space; the gap is open",
      ),
      figure("today", "memory of its fullest rank", memory(best.memory_bytes), [
        `${percent(best.mfu)} `,
        term("MFU"),
      ]),
    ),
    el("p", { class: "lead summary" }, sureness(answer), likeliest(answer)),
  );
}

/** A share with its sign. */
function signed(share) {
  return `${share < 0 ? "" : "+"}${percent(share)}`;
}

function rank(host, answer, onchoose) {
  const against = (row) => timeOf(row) / timeOf(answer.best[0]) - 1;
  const span = (name, of) => ({ name, of, show: (row) => time(of(row)) });
  const rows = namedIn(answer);
  const front = new Set(answer.front.map((row) => row.name));
  const isPriced = rows.some((row) => row.price_per_billion_tokens !== null);
  return table(
    host,
    [
      { name: "shape", of: (row) => row.name, show: (row) => row.name, isText: true },
      span("step", timeOf),
      ...(answer.rows ? [span("simulated", (row) => row.time_us)] : []),
      {
        name: "against the best",
        of: against,
        show: (row) => (row === answer.best[0] ? "best" : signed(against(row))),
      },
      { name: "memory", of: (row) => row.memory_bytes, show: (row) => memory(row.memory_bytes) },
      { name: "bubble", of: (row) => row.bubble_us, show: (row) => percent(row.bubble_us / row.time_us) },
      { name: "exposed", of: exposedOf, show: (row) => percent(exposedOf(row) / row.time_us) },
      {
        name: "tokens/s/GPU",
        of: (row) => row.tokens_per_s_per_gpu,
        show: (row) => number(row.tokens_per_s_per_gpu),
      },
      { name: "MFU", of: (row) => row.mfu, show: (row) => percent(row.mfu) },
      ...(isPriced
        ? [
            {
              name: "price of 1e9 tokens",
              of: (row) => row.price_per_billion_tokens,
              show: (row) => number(row.price_per_billion_tokens),
            },
          ]
        : []),
      {
        name: "on the front",
        of: (row) => (front.has(row.name) ? "yes" : ""),
        show: (row) => (front.has(row.name) ? "yes" : ""),
        isText: true,
      },
    ],
    rows,
    {
      caption: "Ranked shapes, and those of the front",
      key: (row) => row.name,
      filter: (row) => `${row.name} ${row.why}`,
      onselect: (row) => onchoose((row ?? answer.best[0]).name),
    },
  );
}

function restOn(host, answer) {
  const known = answer.rows ? "measured steps" : "the request";
  const from = (row) => (row.is_determined ? known : "assumed");
  const figures = el("div");
  fill(
    host,
    el("h2", {}, "What it rests on"),
    answer.notes.map((note) => el("p", { class: "note" }, note)),
    facts([
      ["Measured steps", number(answer.rows, 12)],
      [
        "Median error of a step as the others predict it",
        answer.rows_error === null ? null : percent(answer.rows_error),
      ],
    ]),
    el("details", {}, el("summary", {}, "Figures taken of the machine"), figures),
  );
  table(
    figures,
    [
      { name: "figure", of: (row) => row.name, show: (row) => row.name, isText: true },
      { name: "value", of: (row) => row.value, show: (row) => number(row.value) },
      { name: "spread", of: (row) => row.spread, show: (row) => percent(row.spread, 0) },
      {
        name: "from",
        of: from,
        show: from,
        isText: true,
      },
    ],
    answer.figures,
    { caption: "Figures of the machine" },
  );
}

/**
 * @param {ShapeAnswer} answer
 * @param {any} request
 */
async function show(answer, request) {
  const all = namedIn(answer);
  let { shape: chosen } = read({ shape: "" });
  if (!all.some((row) => row.name === chosen)) chosen = answer.best[0].name;
  let drawn = null;
  byId("title").textContent = `Shapes of ${answer.model} on ${count(answer.gpus, "GPU")}`;
  document.title = `${answer.model} on ${count(answer.gpus, "GPU")} – Interlace`;
  tell(byId("answer"), answer);
  const place = (name) => {
    const at = answer.best.findIndex((row) => row.name === name);
    return at === 0
      ? "The fastest as simulated."
      : at > 0
        ? `Number ${at + 1} of those ranked.`
        : "On the front of time and memory.";
  };
  const choose = (name) => {
    chosen = name;
    write({ shape: name === answer.best[0].name ? "" : name });
    const row = all.find((each) => each.name === name);
    showChosen(byId("chosen"), row, place(name));
    drawChosen(byId("timeline"), request, row).catch(complain);
    rows.select(name);
    drawn?.redraw().catch(complain);
  };
  const rows = rank(byId("ranked"), answer, choose);
  restOn(byId("doubts"), answer);
  choose(chosen);
  drawn = await drawFront(byId("front"), answer, () => chosen, choose);
}

ask(byId("form"), byId("work"), byId("content"), {
  path: "/v1/shapes",
  verb: "Rank the shapes",
  empty:
    "The fields have an example: a published model on 16 GPUs. Change it, paste or drop your own request, " +
    "and rank its shapes.",
  busy: "Every shape that fits in memory is simulated, or has a bound …",
  fields: [
    { name: "Model", of: "model" },
    { name: "GPU", of: "gpu" },
    { name: "GPUs", of: "gpus", isNumber: true },
    { name: "Global batch", of: "global_batch", unit: "sequences", isNumber: true },
    { name: "Price of a GPU hour", of: "price_per_gpu_hour", isNumber: true },
  ],
  asked: (request) => ({ launch: "megatron", ...request }),
  solve: ranked,
  given: kept === null ? undefined : () => get(`${RANKINGS}/${encodeURIComponent(kept)}/request`),
  show,
}).catch(complain);
