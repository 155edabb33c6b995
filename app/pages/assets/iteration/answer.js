// The first screen of an answer: three figures, what limits it, and what to do next.

import { el, fill } from "../elements/dom.js";
import { less } from "../elements/evidence.js";
import { percent, time } from "../elements/format.js";
import { term } from "../elements/term.js";
import { label, names } from "../service/names.js";
import { CHANGES } from "./summary.js";

/** @import { Iteration } from "./iteration.js" */

/** One of the three figures: its name, its time, and what is to be doubted of it. */
const figure = (kind, name, value, ...notes) =>
  el(
    "div",
    { class: `figure ${kind}` },
    el("div", { class: "name" }, name),
    el("div", { class: "value" }, value),
    notes.filter(Boolean).map((each) => el("div", { class: "doubt" }, each)),
  );

/** The most that one change would save, in words; null where nothing was tried or helps. */
function mostHelp(body) {
  const [most] = [...(body.sensitivities ?? [])].sort((a, b) => b.gain_us - a.gain_us);
  if (!most || most.gain_us <= 0) return null;
  const what = CHANGES[most.name]?.(most) ?? most.name;
  return `${what} would save ${time(most.gain_us)} (${percent(most.gain_us / body.iteration_time_us)})`;
}

/** Of a plan: what you run, the plan, and the bound, under the same rules: the gain of its brief. */
function ofPlan(body) {
  const gain = body.brief ?? null;
  const assumed = body.evidence?.assumed ?? [];
  const unsound = body.evidence?.unsound ?? [];
  const plan = gain?.plan_us ?? body.iteration_time_us;
  const bound = gain?.lower_bound_us ?? body.lower_bound_us;
  const span =
    gain?.gain_low === null || gain?.gain_low === undefined
      ? null
      : [
          `${percent(gain.gain_low)} to ${percent(gain.gain_high)} less `,
          term("interval", "where costs are off"),
        ];
  const rule =
    gain?.barrier === true
      ? ["with PyTorch's ", term("barrier")]
      : gain?.barrier === false
        ? ["without a ", term("barrier")]
        : null;
  const differs = gain && Math.abs(plan - body.iteration_time_us) > 1e-6 * plan;
  return [
    gain
      ? figure(
          "today",
          [term("what you run"), `: ${gain.over}`],
          time(gain.today_us),
          rule,
          [...unsound, ...assumed].length
            ? el(
                "details",
                {},
                el("summary", {}, unsound.length ? "the recording is in doubt" : "what is assumed"),
                [...unsound, ...assumed].map((each) => el("p", {}, each)),
              )
            : null,
        )
      : null,
    figure(
      `plan ${gain?.verdict ?? ""}`,
      term("plan", "the plan"),
      [
        time(plan),
        gain?.verdict
          ? [" ", el("span", { class: `badge ${gain.verdict}` }, names.verdicts[gain.verdict])]
          : null,
      ],
      gain ? less(gain) : null,
      span,
      differs
        ? `the picture shows it ${gain.barrier ? "without a" : "under PyTorch's"} barrier: ` +
            time(body.iteration_time_us)
        : null,
    ),
    figure(
      "bound",
      [term("lower bound", "nothing is faster than")],
      time(bound),
      bound ? [term("gap"), ` of the plan ${percent(plan / bound - 1, 2)}`] : null,
    ),
  ];
}

/** Of a simulation: the iteration, compute alone, and what is exposed. */
function ofSimulation(body) {
  return [
    figure(
      "plan",
      body.policy ? label(body.policy.policy) : "the plan",
      time(body.iteration_time_us),
      term("iteration time"),
    ),
    figure(
      "today",
      term("compute alone"),
      time(body.compute_time_us),
      body.scaling_factor === null ? null : `${percent(body.scaling_factor)} of the iteration`,
    ),
    figure(
      "bound",
      term("exposed", "exposed communication"),
      time(body.exposed_us),
      body.overlap === null ? null : [`${percent(body.overlap)} of communication is `, term("hidden")],
    ),
  ];
}

/**
 * Show it.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
export function answer(host, body) {
  const isPlan = body.lower_bound_us !== undefined;
  const help = isPlan ? null : mostHelp(body);
  const todo = isPlan
    ? [body.brief?.tuned, body.summary ? null : body.brief?.limit, body.brief?.next]
    : [help && `Of all that was tried, ${help}.`];
  fill(
    host,
    el("div", { class: "figures" }, isPlan ? ofPlan(body) : ofSimulation(body)),
    el(
      "p",
      { class: "lead summary" },
      body.summary ??
        (body.iteration_time_us === null
          ? null
          : `One iteration takes ${time(body.iteration_time_us)}; it was not explained.`),
    ),
    todo.some(Boolean) ? el("p", { class: "todo" }, todo.filter(Boolean).join(" ")) : null,
  );
}
