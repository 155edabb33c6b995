// What limits an iteration, what a plan gains, and what would help.

import { bars } from "../charts/bars.js";
import { el, facts, fill } from "../elements/dom.js";
import { less, named, restsOn } from "../elements/evidence.js";
import { memory, number, percent, time, times } from "../elements/format.js";
import { term } from "../elements/term.js";
import { label, names, provenOf, reason } from "../service/names.js";
import { unitOf } from "../timeline/bars.js";

/** @import { Iteration } from "./iteration.js" */
/** @import { BarOfChart } from "../charts/bars.js" */

const LIMITS = {
  compute: "compute",
  bandwidth: "bandwidth",
  startup: "start-ups",
  tensor: "one tensor",
  op: "one compute op",
  policy: "the policy",
};

/** Until when what a launch reads is held, of all figures of memory. */
const HELD_TO = {
  wait: "; what launches read is held to their waits",
  launch: "; what launches read is held to their ends",
};

/** What each sensitivity changes, of its op or channel where it has one. */
export const CHANGES = {
  bandwidth_double: () => "twice the bandwidth",
  bandwidth_free: () => "endless bandwidth",
  channel_double: ({ channel }) => `twice the bandwidth of ${channel}`,
  startup_half: () => "half the start-up",
  startup_free: () => "no start-up",
  compute_half: () => "compute twice as fast",
  tensor_free: ({ op }) => `without ${op}`,
  op_half: ({ op }) => `${op} twice as fast`,
  compute_faster: () => "compute a tenth faster",
  bandwidth_faster: () => "a tenth more bandwidth",
  channel_faster: ({ channel }) => `a tenth more bandwidth of ${channel}`,
  startup_lower: () => "a tenth less start-up",
  copies_free: () => "free copies",
};

/**
 * Whether a change of bandwidth is one of links, too; empty where the cluster has none.
 *
 * @param {string} name
 * @param {number} links
 */
function linksSaid(name, links) {
  if (!links) return "";
  if (name === "bandwidth_double") return ", of links too";
  return name === "channel_double" ? ", its links as they are" : "";
}

/** What a plan gains over what you run, under one barrier; its verdict says how it looks. */
function gain(each) {
  const { verdict, why, barrier, runtime } = each;
  const where =
    barrier === null
      ? ""
      : `${barrier ? "With PyTorch's barrier" : "Each parameter waits for its own bucket alone"}. `;
  const span =
    each.gain_low === null
      ? ""
      : ` (${percent(each.gain_low)} to ${percent(each.gain_high)} where costs are off)`;
  const peaks =
    each.plan_peak_bytes === null || each.today_peak_bytes === null
      ? ""
      : ` Memory: ${memory(each.plan_peak_bytes)} instead of ${memory(each.today_peak_bytes)}.`;
  return el(
    "li",
    { class: `gain ${verdict ?? ""}` },
    el("strong", {}, less(each)),
    verdict ? [": ", el("span", { class: `badge ${verdict}` }, names.verdicts[verdict])] : null,
    `, ${time(each.plan_us)} instead of ${time(each.today_us)}${span}. ${why}${peaks} `,
    el(
      "span",
      { class: "faint" },
      `${where}${verdict === "worth_it" && runtime ? `Run it by ${runtime}.` : ""}`,
    ),
  );
}

/** What you run under the rules of this plan, in bars; a recorded step has a bar of its own. */
function todayOf(body) {
  return (body.headline?.gains ?? [])
    .filter(
      ({ over, today_us: today, plan_us: plan }) =>
        over !== "recorded" &&
        today !== null &&
        Math.abs(plan - body.iteration_time_us) <= 1e-6 * body.iteration_time_us,
    )
    .map((each) => ({
      name: `what you run: ${named(each)}`,
      value: each.today_us,
      text: `${time(each.today_us)}, ${times(each.today_us / body.iteration_time_us)} the plan`,
      tone: "c6",
    }));
}

/** A recorded step, as it was measured and as it is simulated, in bars. */
function recordedOf(evidence) {
  const rows = [
    ["as recorded", evidence?.recorded_us ?? null],
    ["as recorded, simulated", evidence?.recorded_simulated_us ?? null],
  ];
  return rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ({ name, value, text: time(value), tone: "c6" }));
}

/**
 * The sentence, the gains, what they rest on, the figures and the warnings.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
export function summary(host, body) {
  const cuts = (body.warnings ?? []).filter((each) => each.code === "search_cut_short");
  fill(
    host,
    cuts.map((each) => el("p", { class: "note" }, each.detail)),
    el("h2", {}, "The figures, and what they rest on"),
    body.headline ? el("ul", { class: "gains" }, body.headline.gains.map(gain)) : null,
    restsOn(body.evidence),
    facts([
      [
        term("iteration time", "Iteration time"),
        el(
          "span",
          {},
          time(body.iteration_time_us),
          body.status ? [" ", el("span", { class: `badge ${body.status}` }, provenOf(body.status))] : null,
        ),
      ],
      [
        term("lower bound", "Lower bound"),
        body.lower_bound_us === undefined
          ? null
          : [
              time(body.lower_bound_us),
              body.gap === null ? ", gap unknown" : `, gap ${percent(body.gap, 2)}`,
            ],
      ],
      ["Bound by", body.bound ? reason(body.bound, body.program ? "op" : "tensor") : null],
      [
        term("compute alone", "Compute alone"),
        [
          time(body.compute_time_us),
          body.scaling_factor === null ? null : `, ${percent(body.scaling_factor)} of the iteration time`,
        ],
      ],
      [
        term("exposed", "Exposed"),
        [
          time(body.exposed_us),
          body.overlap === null ? null : `; ${percent(body.overlap)} of communication is hidden`,
        ],
      ],
      [
        term("limited by", "Limited by"),
        body.limited_by ? (LIMITS[body.limited_by] ?? body.limited_by) : null,
      ],
      [term("policy", "Policy"), body.policy ? label(body.policy.policy) : null],
      [
        term("peak memory", "Most memory"),
        body.peak_bytes ? [memory(body.peak_bytes), HELD_TO[body.memory?.inputs_held] ?? null] : null,
      ],
      [term("launch", "Launches"), number(body.schedule.parts.length, 12)],
    ]),
    body.warnings?.length
      ? el(
          "div",
          { class: "warnings" },
          el("h3", {}, "What this rests on"),
          body.warnings.map((each) =>
            el("p", { class: "note" }, each.detail, " ", el("code", { class: "faint" }, each.pointer)),
          ),
        )
      : null,
  );
}

/** A baseline by its name, and by what tells it apart from others of the policy. */
function nameOf(baseline, all) {
  const same = all.filter((each) => each.policy === baseline.policy);
  const parts =
    same.length > 1 ? Object.entries(baseline.parameters).map(([name, value]) => `${name} ${value}`) : [];
  if (baseline.barrier && same.some((each) => !each.barrier)) parts.push("barrier");
  return [label(baseline.policy), ...parts].join(", ");
}

/** The time of a baseline, and its ratio to the plan's. */
function textOf(baseline) {
  if (baseline.iteration_time_us === null) return "not defined here";
  const ratio = baseline.speedup === null ? "" : `, ${times(baseline.speedup)} the plan`;
  return `${time(baseline.iteration_time_us)}${ratio}`;
}

/**
 * Iteration times of what is compared with it; `more` are bars besides.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 * @param {BarOfChart[]} [more]
 */
export function comparison(host, body, more = []) {
  const unit = unitOf(body.iteration_time_us);
  const rivals = body.baselines ?? [];
  const isPlan = body.lower_bound_us !== undefined;
  const given = [
    {
      name: isPlan ? "plan" : body.policy ? label(body.policy.policy) : "plan",
      value: body.iteration_time_us,
      text: time(body.iteration_time_us),
      tone: "c1",
    },
    ...more,
    ...recordedOf(body.evidence),
    ...todayOf(body),
    ...rivals.map((each) => ({
      name: nameOf(each, rivals),
      value: each.iteration_time_us,
      text: textOf(each),
      tone: "c7",
    })),
    ...(isPlan
      ? [{ name: "lower bound", value: body.lower_bound_us, text: time(body.lower_bound_us), tone: "c3" }]
      : []),
    { name: "compute alone", value: body.compute_time_us, text: time(body.compute_time_us), tone: "c5" },
  ];
  return bars(host, {
    title: "Iteration times",
    bars: given,
    axis: `iteration time [${unit.name}]`,
    size: unit.size,
    columns: ["what", "iteration_time_us"],
  });
}

/**
 * What would make the iteration shorter, most first.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
export function helps(host, body) {
  const links = Object.keys(body.request?.cluster?.links ?? {}).length;
  const found = [...(body.sensitivities ?? [])].sort((a, b) => b.gain_us - a.gain_us);
  if (!found.length)
    return fill(
      host,
      el("h2", {}, "What would help"),
      el("p", { class: "faint" }, body.sensitivities ? "Nothing was tried." : "It was not explained."),
    );
  const given = found.map((each) => ({
    name: `${CHANGES[each.name]?.(each) ?? each.name}${linksSaid(each.name, links)}`,
    value: each.gain_us,
    text: each.gain_us
      ? `${time(each.gain_us)} less (${percent(each.gain_us / body.iteration_time_us)})`
      : "nothing",
    tone: each.gain_us < 0 ? "c2" : "c3",
  }));
  const unit = unitOf(Math.abs(found[0].gain_us) || 1);
  return bars(host, {
    title: "What would help",
    bars: given,
    axis: `less iteration time [${unit.name}]`,
    size: unit.size,
    columns: ["change", "gain_us"],
  });
}
