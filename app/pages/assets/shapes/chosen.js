// One shape: where its step goes, its figures, and the arguments that launch it.

import { bars } from "../charts/bars.js";
import { el, facts, fill, say } from "../elements/dom.js";
import { named } from "../elements/evidence.js";
import { memory, number, percent, time } from "../elements/format.js";
import { term } from "../elements/term.js";
import { complain } from "../service/api.js";
import { unitOf } from "../timeline/bars.js";
import { timeOf } from "./rows.js";

/** @import { ShapeRow } from "interlace-api" */

/** Below this share of a step nothing is drawn: rounding leaves as much. */
const NOTHING = 1e-6;

/** What a step has besides compute that hides it, the greatest first. */
function lossesOf(row) {
  return [
    { name: "bubble", us: row.bubble_us, tone: "c5" },
    { name: "tail", us: row.tail_us, tone: "optimizer" },
    ...row.exposed.map(({ group, us }) => ({ name: `exposed, ${group}`, us, tone: "bad" })),
  ]
    .filter(({ us }) => us > NOTHING * row.time_us)
    .sort((a, b) => b.us - a.us);
}

/** What a plan of its data-parallel communication gains, with what it sends. */
function planOf({ plan }) {
  if (!plan) return null;
  const { why_not, headline, launches, forward_prefetch: forward, backward_prefetch: backward } = plan;
  const sent =
    forward === null
      ? `${number(launches.length, 12)} launches`
      : `${number(launches.length, 12)} units of FSDP2, prefetch ${forward} forward, ${backward} backward`;
  return el(
    "div",
    { class: "inside" },
    el("h3", {}, "The plan inside"),
    el("p", {}, why_not ?? headline.sentence),
    headline
      ? facts([
          ...headline.gains.map((each) => [`A step by ${named(each)}`, time(each.today_us)]),
          ["Planned", `${time(headline.gains[0].plan_us)}, ${sent}`],
          ["No schedule below", time(headline.gains[0].lower_bound_us)],
        ])
      : null,
  );
}

function launchOf({ launch }) {
  if (!launch) return null;
  const text = launch.arguments.join(" \\\n  ");
  const copy = el("button", { type: "button", class: "quiet", onclick: copied }, "Copy");
  async function copied() {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    say("The arguments are copied.");
  }
  return el(
    "div",
    {},
    el("div", { class: "row" }, el("h3", {}, `Arguments of ${launch.program}`), copy),
    el("pre", { class: "scroll", tabindex: 0, "aria-label": "Launch arguments" }, text),
    launch.config
      ? el("pre", { class: "scroll", tabindex: 0, "aria-label": "The file that they name" }, launch.config)
      : null,
    launch.unsaid.map((each) => el("p", { class: "note" }, each)),
  );
}

/**
 * Show it.
 *
 * @param {HTMLElement} host
 * @param {ShapeRow} row
 * @param {string} place "fastest", "2nd of those ranked", or what else it is
 */
export function showChosen(host, row, place) {
  const drawn = el("div");
  const losses = lossesOf(row);
  const unit = unitOf(timeOf(row));
  fill(
    host,
    el("h2", {}, row.name),
    el("p", { class: "faint" }, place),
    el("p", {}, row.why),
    row.outside.length
      ? el("p", { class: "note" }, `No measured step is near in: ${row.outside.join(", ")}.`)
      : null,
    losses.length ? drawn : null,
    facts([
      ["Step", time(timeOf(row))],
      ["As simulated", row.predicted_us === null ? null : time(row.time_us)],
      [
        "Nine of ten steps",
        row.low_us === null
          ? "unknown: too few measured steps"
          : `${time(row.low_us)} to ${time(row.high_us)}`,
      ],
      ["Memory", `${memory(row.memory_bytes)}, on pipeline rank ${row.memory_rank}`],
      [term("MFU"), percent(row.mfu)],
      ["Tokens/s/GPU", number(row.tokens_per_s_per_gpu)],
      [
        "Price of 1e9 tokens",
        row.price_per_billion_tokens === null ? null : number(row.price_per_billion_tokens),
      ],
      ["Recomputation", row.shape.recomputation],
      ["Schedule", row.shape.pp > 1 ? row.shape.schedule : "none: one stage"],
    ]),
    planOf(row),
    launchOf(row),
  );
  if (losses.length)
    bars(drawn, {
      title: "Where the step waits",
      axis: unit.name,
      size: unit.size,
      columns: ["what", "us"],
      bars: losses.map(({ name, us, tone }) => ({
        name,
        value: us,
        text: `${time(us)} (${percent(us / row.time_us)})`,
        tone,
      })),
    }).catch(complain);
}
