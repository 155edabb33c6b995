// Steps of a run, predicted and measured, with the plan in use and what was tried.

import { chart, colour } from "../charts/chart.js";
import { time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";

/** @import { RunOut } from "interlace-api" */

/**
 * Draw them; a line down where another plan was taken over, a dotted one after a trial.
 *
 * @param {HTMLElement} host
 * @param {RunOut} run
 */
export async function steps(host, run) {
  const { history } = run;
  const unit = unitOf(Math.max(...history.map((step) => step.measured_us)));
  const xs = history.map((step) => step.step);
  const line = (name, of, tone, more) => ({
    type: "scatter",
    mode: history.length > 200 ? "lines" : "lines+markers",
    name,
    x: xs,
    y: history.map((step) => of(step) / unit.size),
    text: history.map((step) => `step ${step.step}, ${name}: ${time(of(step))}`),
    hoverinfo: "text",
    line: { color: colour(tone), width: 1.5, ...more },
    marker: { color: colour(tone), size: 5 },
  });
  const down = (x, tone, dash) => ({
    type: "line",
    x0: x,
    x1: x,
    yref: "paper",
    y0: 0,
    y1: 1,
    line: { color: colour(tone), width: 1.5, dash },
  });
  await chart(host, {
    title: "Steps, predicted and measured",
    description: run.plans
      .map(
        (plan) =>
          `From step ${plan.from_step}: predicted ${time(plan.predicted_us)}, ` +
          `measured ${time(plan.measured_us)}`,
      )
      .join("; "),
    make: () => ({
      traces: [
        line("measured", (step) => step.measured_us, "c1", {}),
        line("predicted", (step) => step.predicted_us, "c2", { dash: "dash", shape: "hv" }),
      ],
      layout: {
        xaxis: { title: { text: "step" } },
        yaxis: { title: { text: `time of a step [${unit.name}]` }, rangemode: "tozero" },
        shapes: [
          ...run.plans.slice(1).map((plan) => down(plan.from_step, "text", "solid")),
          ...run.trials.map((trial) => down(trial.before_step, "c3", "dot")),
        ],
      },
    }),
    table: () => ({
      columns: ["step", "plan", "measured_us", "predicted_us", "ready_spread_us", "note"],
      rows: history.map((step) => [
        step.step,
        step.plan,
        step.measured_us,
        step.predicted_us,
        step.ready_spread_us,
        step.note,
      ]),
    }),
  });
}
