// Steps of a run, predicted and measured, with the plan in use and what was tried; and their drift.

import { chart, colour, plain } from "../charts/chart.js";
import { percent, time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";

/** @import { RunOut } from "interlace-api" */

/** Of more plans and trials than this, their lines have no words of their own. */
const SAID = 8;

/** So many steps together tell a lasting difference from one that passes. */
const LASTING = 21;

/** Lines down, their words, and what each means for the legend. */
function marks(run) {
  const plans = run.plans
    .slice(1)
    .map((plan) => ({ x: plan.from_step, said: `plan ${plan.index}: ${plan.why}`, tone: "text" }));
  const trials = run.trials.map((trial) => ({
    x: trial.before_step,
    said: `trial: ${trial.arms[trial.kept].name} kept`,
    tone: "c3",
    dash: "dot",
  }));
  const every = [...plans, ...trials].sort((a, b) => a.x - b.x);
  const legend = (name, tone, dash) => ({
    type: "scatter",
    mode: "lines",
    name,
    x: [null],
    y: [null],
    hoverinfo: "skip",
    line: { color: colour(tone), width: 1.5, dash },
  });
  return {
    traces: [
      ...(plans.length ? [legend("another plan", "text", "solid")] : []),
      ...(trials.length ? [legend("after a trial", "c3", "dot")] : []),
    ],
    shapes: every.map(({ x, tone, dash = "solid" }) => ({
      type: "line",
      x0: x,
      x1: x,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: { color: colour(tone), width: 1.5, dash },
    })),
    annotations:
      every.length > SAID
        ? []
        : every.map(({ x, said }, i) => ({
            x,
            yref: "paper",
            y: 0.02 + 0.1 * (i % 4),
            text: plain(said),
            showarrow: false,
            xanchor: "auto",
            yanchor: "bottom",
            bgcolor: colour("card"),
            font: { size: 12, color: colour("text") },
          })),
  };
}

/** The median of the steps around each, as many before as behind. */
function lasting(values) {
  const half = Math.floor(LASTING / 2);
  return values.map((_, i) => {
    const near = values.slice(Math.max(0, i - half), i + half + 1).sort((a, b) => a - b);
    return near[Math.floor(near.length / 2)];
  });
}

/**
 * Draw how far steps are off what was predicted, and what of it lasts.
 *
 * @param {HTMLElement} host
 * @param {RunOut} run
 */
export async function drift(host, run) {
  const { history } = run;
  const xs = history.map((step) => step.step);
  const off = history.map((step) => step.measured_us / step.predicted_us - 1);
  // what one plan predicts says nothing of another
  const lasts = run.plans.flatMap(({ index }) => lasting(off.filter((_, i) => history[i].plan === index)));
  await chart(host, {
    title: "Drift: measured over predicted",
    description: run.plans
      .map((plan) =>
        plan.measured_us === null
          ? `Under plan ${plan.index} no step was reported`
          : `Under plan ${plan.index} a step takes ${percent(plan.measured_us / plan.predicted_us - 1)} ` +
            "more than predicted, in the median",
      )
      .join("; "),
    make: () => {
      const { traces, shapes } = marks(run); // words stand in the other chart
      return {
        traces: [
          {
            type: "scatter",
            mode: "markers",
            name: "a step",
            x: xs,
            y: off.map((share) => 100 * share),
            text: history.map((step, i) => `step ${step.step}: ${percent(off[i], 2)}`),
            hoverinfo: "text",
            marker: { color: colour("c1"), size: 4, opacity: 0.5 },
          },
          {
            type: "scatter",
            mode: "lines",
            name: `median of ${LASTING} steps`,
            x: xs,
            y: lasts.map((share) => 100 * share),
            hoverinfo: "skip",
            line: { color: colour("c2"), width: 2 },
          },
          ...traces,
        ],
        layout: {
          xaxis: { title: { text: "step" } },
          yaxis: {
            title: { text: "off by [%]" },
            zeroline: true,
            zerolinecolor: colour("text"),
          },
          shapes,
        },
      };
    },
    table: () => ({
      columns: ["step", "plan", "off", "lasting"],
      rows: history.map((step, i) => [step.step, step.plan, off[i], lasts[i]]),
    }),
  });
}

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
  await chart(host, {
    title: "Steps, predicted and measured",
    description: run.plans
      .map(
        (plan) =>
          `From step ${plan.from_step}: predicted ${time(plan.predicted_us)}, ` +
          `measured ${time(plan.measured_us)}`,
      )
      .join("; "),
    make: () => {
      const { traces, ...layout } = marks(run);
      return {
        traces: [
          line("measured", (step) => step.measured_us, "c1", {}),
          line("predicted", (step) => step.predicted_us, "c2", { dash: "dash", shape: "hv" }),
          ...traces,
        ],
        layout: {
          xaxis: { title: { text: "step" } },
          yaxis: { title: { text: `time of a step [${unit.name}]` }, rangemode: "tozero" },
          ...layout,
        },
      };
    },
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
