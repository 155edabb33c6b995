// What a plan takes where the costs are off: with each doubt, and over draws of them.

import { el, fill } from "../elements/dom.js";
import { less } from "../elements/evidence.js";
import { percent, time } from "../elements/format.js";
import { table } from "../elements/table.js";

/** @import { Iteration } from "./iteration.js" */

const word = (name, of) => ({ name, of, show: of, isText: true });
const figure = (name, of, show = time) => ({ name, of, show: (row) => show(of(row)) });

/**
 * The plan beside what you run, with the costs changed as each doubt says.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
function offCalibration(host, body) {
  const gains = body.headline?.gains ?? [];
  const over = gains.find(
    ({ over: first, plan_us }) => first === gains[0].over && plan_us === body.iteration_time_us,
  ); // of this very plan: the first gains may be of one under a barrier
  table(
    host,
    [
      word("costs", (row) => row.name),
      figure("what you run", (row) => row.today_us),
      figure("plan", (row) => row.plan_us),
      figure("saves", (row) => row.gain, percent),
    ],
    body.off_calibration,
    { caption: over ? `Beside what you run: ${less(over)} as stated` : "Beside what you run" },
  );
}

/**
 * A robust plan beside the plan without draws and the policies, under the same draws.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
function draws(host, body) {
  const { measure, draws: count, plan_us, without_us, rivals, nominal_cost: cost } = body.robust;
  const rows = [
    { name: "this plan", value: plan_us },
    { name: "plan without the draws", value: without_us },
    ...rivals.map((rival) => ({ name: rival.policy, value: rival.value_us })),
  ];
  const shown = el("div");
  table(shown, [word("plan", (row) => row.name), figure(measure, (row) => row.value)], rows, {
    caption: `The ${measure} over ${count} draws of the costs`,
  });
  const said = `At the stated costs this plan takes ${percent(cost, 2)} longer than the one without draws.`;
  fill(host, shown, cost === null ? null : el("p", { class: "note" }, said));
}

/**
 * The card of both; hidden where an answer has neither.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
export function doubts(host, body) {
  host.hidden = !body.off_calibration?.length && !body.robust;
  if (host.hidden) return;
  const [off, drawn] = [el("div"), el("div")];
  if (body.off_calibration?.length) offCalibration(off, body);
  if (body.robust) draws(drawn, body);
  fill(host, el("h2", {}, "If the calibration is off"), off, drawn);
}
