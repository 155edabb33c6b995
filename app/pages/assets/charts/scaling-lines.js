// Scaling factors as lines: policies of today, OSF's figures, the plan, and the bound.

import { bytes, number, percent, time } from "../elements/format.js";

/** @import { PredictionAnswer } from "interlace-api" */

/** What may be drawn of a row: a factor, and what follows from it. */
export const FIGURES = {
  factor: {
    name: "scaling factor",
    axis: "scaling factor",
    column: "scaling_factor",
    of: (row, factor) => factor,
    show: percent,
    ideal: () => 1,
  },
  speed: {
    name: "speed, in workers that never wait",
    axis: "speed [workers]",
    column: "speed",
    of: (row, factor) => row.workers * factor,
    show: (value) => `${number(value)} workers`,
    ideal: (row) => row.workers,
  },
  time: {
    name: "iteration time",
    axis: "iteration time [us]",
    column: "iteration_time_us",
    of: (row, factor) => (factor ? row.t_comp_us / factor : null),
    show: time,
    ideal: (row) => row.t_comp_us,
  },
};

/**
 * The lines of an answer, each with its factors, null where unknown: [{ name, factors }].
 *
 * @param {PredictionAnswer} answer
 */
export function linesOf({ rows }) {
  const fused = rows[0]?.osf_fusion ?? [];
  const line = (name, of) => ({ name, factors: rows.map(of) });
  return [
    line("plan", (row) => row.plan),
    line("ddp", (row) => row.ddp),
    line("horovod", (row) => row.horovod),
    line("mg_wfbp", (row) => row.mg_wfbp),
    line("ada_fusion", (row) => row.ada_fusion.factor),
    line("OSF, each layer alone", (row) => row.osf),
    ...fused.map(({ buffer_bytes }, i) =>
      line(
        `OSF, ${buffer_bytes ? `buffer of ${bytes(buffer_bytes)}` : "no fusion"}`,
        (row) => row.osf_fusion[i].factor,
      ),
    ),
    line("all in one after the compute", (row) => row.csf),
  ].filter(({ factors }) => factors.some((factor) => factor !== null));
}

/**
 * The same as a chart takes it; off: names that are not drawn.
 *
 * @param {PredictionAnswer} answer
 * @param {string} figure
 * @param {Set<string>} off
 */
export function drawnOf(answer, figure, off) {
  const { of, ideal } = FIGURES[figure];
  const known = (factors) =>
    factors.map((factor, i) => (factor === null ? null : of(answer.rows[i], factor)));
  const order = answer.rows
    .map((row, i) => i)
    .sort((a, b) => answer.rows[a].workers - answer.rows[b].workers);
  const sorted = (values) => order.map((i) => values[i]);
  return {
    xs: sorted(answer.rows.map((row) => row.workers)),
    lines: linesOf(answer)
      .map(({ name, factors }, style) => ({ name, style, ys: sorted(known(factors)) }))
      .filter(({ name }) => !off.has(name)),
    limits: [
      { name: "bound", ys: sorted(known(answer.rows.map((row) => row.bound))), dash: "dash" },
      { name: "ideal", ys: sorted(answer.rows.map(ideal)), dash: "dot" },
    ],
  };
}
