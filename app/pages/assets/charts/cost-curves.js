// Curves of a cost model on logarithmic axes, with what was measured; and what each is off.

import { bytes, percent, time } from "../elements/format.js";
import { colour, plain } from "./chart.js";
import { LEGEND, styleOf } from "./curves.js";

/** @import { FitOut, KindCurves } from "interlace-api" */

/** @typedef {KindCurves["curves"][number] & { style: number }} StyledCurve */

/** @typedef {Omit<KindCurves, "curves"> & { curves: StyledCurve[] }} StyledKind */

/** Ticks of sizes, a power of ten each, or of a thousand where there are many. */
function sizeTicks(least, most) {
  const step = Math.log10(most / least) > 7 ? 3 : 1;
  const powers = [];
  for (let power = Math.ceil(Math.log10(least)); power <= Math.log10(most); power += 1) {
    if (power % step === 0) powers.push(10 ** power);
  }
  return { tickmode: "array", tickvals: powers, ticktext: powers.map(bytes) };
}

/** The axis of sizes, and what of it was not measured, shaded. */
function along(kind) {
  const points = kind.curves[0]?.points ?? kind.measured;
  const [least, most] = [points[0]?.bytes ?? 1, points.at(-1)?.bytes ?? 10];
  const range = [Math.log10(least), Math.log10(most)];
  const known = kind.measured_bytes;
  const shade = (x0, x1) => ({
    type: "rect",
    xref: "x",
    yref: "paper",
    x0,
    x1,
    y0: 0,
    y1: 1,
    layer: "below",
    line: { width: 0 },
    fillcolor: colour("line"),
    opacity: 0.45,
  });
  const word = (x) => ({
    xref: "x",
    yref: "paper",
    x,
    y: 1,
    yanchor: "top",
    text: "not<br>measured",
    showarrow: false,
    font: { size: 11 },
  });
  const middle = (a, b) => (Math.log10(a) + Math.log10(b)) / 2;
  const outside = known
    ? [
        [least, known[0]],
        [known[1], most],
      ].filter(([a, b]) => a < b)
    : [];
  return {
    xaxis: { type: "log", title: { text: "bytes of the tensor" }, range, ...sizeTicks(least, most) },
    shapes: outside.map(([a, b]) => shade(a, b)),
    annotations: outside.map(([a, b]) => word(middle(a, b))),
  };
}

const nameOf = (curve) => (curve.is_model ? `${curve.algorithm} (used)` : curve.algorithm);

/**
 * Traces and layout of measured points and fits: { kind, measured_bytes, measured, curves with style }.
 *
 * @param {StyledKind} kind
 */
export function costCurves(kind) {
  /** @type {object[]} */
  const traces = kind.curves.map((curve) => ({
    type: "scatter",
    mode: "lines",
    name: plain(nameOf(curve)),
    x: curve.points.map((point) => point.bytes),
    y: curve.points.map((point) => point.us),
    text: curve.points.map(
      (point) => `${plain(curve.algorithm)}<br>${bytes(point.bytes)}: ${time(point.us)}`,
    ),
    hoverinfo: "text",
    line: {
      color: styleOf(curve.style).colour,
      width: curve.is_model ? 3 : 1.8,
      dash: curve.is_model ? "solid" : ["dash", "dot", "dashdot"][curve.style % 3],
    },
  }));
  if (kind.measured.length) {
    traces.push({
      type: "scatter",
      mode: "markers",
      name: "measured",
      x: kind.measured.map((size) => size.bytes),
      y: kind.measured.map((size) => size.mean_us),
      error_y: {
        type: "data",
        symmetric: false,
        array: kind.measured.map((size) => size.most_us - size.mean_us),
        arrayminus: kind.measured.map((size) => size.mean_us - size.least_us),
        color: colour("text"),
        thickness: 1,
      },
      text: kind.measured.map(
        (size) =>
          `measured ${size.samples} times<br>${bytes(size.bytes)}: ${time(size.mean_us)}` +
          `<br>${time(size.least_us)} to ${time(size.most_us)}`,
      ),
      hoverinfo: "text",
      marker: { color: colour("text"), size: 7, symbol: "circle-open", line: { width: 1.5 } },
    });
  }
  return {
    traces,
    layout: {
      ...along(kind),
      yaxis: {
        type: "log",
        title: { text: "time of a launch [us]" },
        dtick: 1,
        exponentformat: "none",
        separatethousands: true,
      },
      legend: LEGEND,
      hovermode: "closest",
    },
  };
}

/**
 * Traces and layout of relative errors by size.
 *
 * @param {StyledKind} kind
 */
export function residuals(kind) {
  const traces = kind.curves.map((curve) => ({
    type: "scatter",
    mode: "lines+markers",
    name: plain(nameOf(curve)),
    x: kind.measured.map((size) => size.bytes),
    y: curve.residuals,
    text: curve.residuals.map(
      (share, i) =>
        `${plain(curve.algorithm)}<br>${bytes(kind.measured[i].bytes)}: ` +
        `${share > 0 ? "+" : ""}${percent(share, 2)}`,
    ),
    hoverinfo: "text",
    line: { color: styleOf(curve.style).colour, width: 1.5 },
    marker: { color: styleOf(curve.style).colour, symbol: styleOf(curve.style).symbol, size: 7 },
  }));
  return {
    traces,
    layout: {
      ...along(kind),
      yaxis: {
        title: { text: "fit / measured - 1" },
        tickformat: "+.1%",
        zeroline: true,
        zerolinecolor: colour("faint"),
        zerolinewidth: 1.5,
      },
      legend: LEGEND,
      hovermode: "closest",
    },
  };
}

/**
 * The figures of the first chart: points of the fits, and what was measured.
 *
 * @param {StyledKind} kind
 */
export function rowsOfCurves(kind) {
  const measured = kind.measured.map((size) => [
    kind.kind,
    size.bytes,
    "measured",
    size.mean_us,
    size.least_us,
    size.most_us,
    size.samples,
  ]);
  const fitted = kind.curves.flatMap((curve) =>
    curve.points.map((point) => [kind.kind, point.bytes, curve.algorithm, point.us, null, null, null]),
  );
  return {
    columns: ["kind", "bytes", "what", "time_us", "least_us", "most_us", "samples"],
    rows: [...measured, ...fitted],
  };
}

/**
 * The figures of the second.
 *
 * @param {StyledKind} kind
 */
export function rowsOfResiduals(kind) {
  return {
    columns: ["kind", "bytes", "fit", "relative_error"],
    rows: kind.curves.flatMap((curve) =>
      curve.residuals.map((share, i) => [kind.kind, kind.measured[i].bytes, curve.algorithm, share]),
    ),
  };
}
