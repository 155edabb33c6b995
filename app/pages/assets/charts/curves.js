// Lines over workers, bandwidths or sizes: what is compared, its bound dashed, its knees ringed.

import { number } from "../elements/format.js";
import { colour, colours, plain } from "./chart.js";

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {number} style
 * @property {(number | null)[]} ys
 * @property {(number | null)[]} [low]
 * @property {(number | null)[]} [high]
 * @property {string} [dash]
 * @property {boolean} [isThin]
 * @property {number} [more]
 */

/**
 * @typedef {object} Drawn
 * @property {number[]} xs
 * @property {Line[]} lines
 * @property {{ name: string, ys: (number | null)[], dash?: string }[]} [limits]
 * @property {{ x: number, y: number, text: string }[]} [rings]
 */

/**
 * @typedef {object} Titles
 * @property {string} x
 * @property {string} y
 * @property {(y: number, i: number) => string} show
 * @property {string} [title]
 * @property {boolean | null} [isLogY]
 */

const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];

/** Values that span more than this are drawn on a logarithmic axis, as the service's plots are. */
const WIDE = 8;

/**
 * Colour and marker of the i-th of what is compared: 49 pairs.
 *
 * @param {number} i
 */
export function styleOf(i) {
  const known = colours();
  return {
    colour: known[i % known.length],
    symbol: SYMBOLS[Math.floor(i / known.length + i) % SYMBOLS.length],
  };
}

/**
 * A colour between two of the page's, "#rrggbb" both: share 0 is the first.
 *
 * @param {string} first
 * @param {string} second
 * @param {number} share
 */
export function between(first, second, share) {
  const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [a, b] = [parts(first), parts(second)];
  return `#${a
    .map((value, i) =>
      Math.round(value + share * (b[i] - value))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/**
 * Black or white, whichever is read better on a colour (WCAG's luminance).
 *
 * @param {string} ground
 */
export function inkOn(ground) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(ground.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

/**
 * Whether values want a logarithmic axis.
 *
 * @param {(number | null | undefined)[]} values
 */
export function isWide(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const least = Math.min(...known);
  return known.length > 1 && least > 0 && Math.max(...known) / least > WIDE;
}

/**
 * At most ten ticks at values that were asked for.
 *
 * @param {number[]} values
 */
export function ticksAt(values) {
  const step = Math.ceil(values.length / 10);
  const shown = values.filter((_, i) => i % step === 0);
  return { tickmode: "array", tickvals: shown, ticktext: shown.map(String) };
}

/** Ticks at 1, 2 and 5 times powers of ten, for a logarithmic axis over positive values. */
function roundTicks(values) {
  const known = values.filter((value) => value > 0);
  const found = [];
  for (
    let power = Math.floor(Math.log10(Math.min(...known)));
    power <= Math.ceil(Math.log10(Math.max(...known)));
    power += 1
  ) {
    found.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  }
  const shown = found.length > 16 ? found.filter((_, i) => i % 3 === 0) : found;
  return { tickmode: "array", tickvals: shown, ticktext: shown.map((value) => number(value)) };
}

/** Where legends of charts stand: below, whatever height they need; boxes above choose instead. */
export const LEGEND = {
  orientation: "h",
  yref: "container",
  y: 0,
  yanchor: "bottom",
  itemclick: false,
  itemdoubleclick: false,
};

/**
 * A height for a chart [px]: where its legend has a line for each name, as much more.
 *
 * @param {HTMLElement} host
 * @param {number} height
 * @param {number} names
 */
export function heightOf(host, height, names) {
  return host.clientWidth < 560 ? Math.max(height, 280 + 20 * names) : height;
}

/**
 * Traces and layout of lines.
 *
 * xs: the values along; lines: [{ name, style: index, ys, low?, high?, dash?, isThin?, more? }], null where
 * unknown, more: thicker by so much [px], to be seen behind others;
 * limits: [{ name, ys, dash }] in the colour of text: bounds, the ideal; rings: [{ x, y, text }];
 * x, y: titles of the axes; title: what holds for all of it; show: y => text for who points at it.
 *
 * @param {Drawn & Titles} drawn
 */
export function curves({ xs, lines, limits = [], rings = [], x, y, show, title = "", isLogY = null }) {
  const hover = (name, ys) =>
    xs.map((at, i) =>
      ys[i] === null || ys[i] === undefined
        ? ""
        : `${plain(name)}<br>${plain(x)}: ${at}<br>${plain(show(ys[i], i))}`,
    );
  /** @type {object[]} */
  const traces = lines.map(({ name, style, ys, low, high, dash = "solid", isThin = false, more = 0 }) => {
    const { colour: own, symbol } = styleOf(style);
    const error =
      low && high
        ? {
            error_y: {
              type: "data",
              symmetric: false,
              color: own,
              thickness: 1.5,
              array: ys.map((value, i) => (high[i] ?? value) - value),
              arrayminus: ys.map((value, i) => value - (low[i] ?? value)),
            },
          }
        : {};
    return {
      type: "scatter",
      mode: isThin ? "lines" : "lines+markers",
      name: plain(name),
      x: xs,
      y: ys,
      line: { color: own, width: isThin ? 1.3 : 2 + more, dash },
      marker: { color: own, symbol, size: 8 + more },
      text: hover(name, ys),
      hoverinfo: "text",
      ...error,
    };
  });
  for (const { name, ys, dash = "dash" } of limits) {
    traces.push({
      type: "scatter",
      mode: "lines",
      name,
      x: xs,
      y: ys,
      line: { color: colour("text"), width: 1.5, dash },
      text: hover(name, ys),
      hoverinfo: "text",
    });
  }
  if (rings.length) {
    traces.push({
      type: "scatter",
      mode: "markers",
      name: "knee",
      x: rings.map((ring) => ring.x),
      y: rings.map((ring) => ring.y),
      text: rings.map((ring) => plain(ring.text)),
      hoverinfo: "text",
      marker: { symbol: "circle-open", size: 17, color: colour("text"), line: { width: 2 } },
    });
  }
  const all = [...lines, ...limits].flatMap((line) => line.ys);
  const isLog = isLogY ?? isWide(all);
  return {
    traces,
    layout: {
      xaxis: { title: { text: plain(x) }, type: isWide(xs) ? "log" : "linear", ...ticksAt(xs) },
      yaxis: {
        title: { text: plain(y) },
        type: isLog ? "log" : "linear",
        ...(isLog ? roundTicks(all) : { rangemode: "tozero" }),
      },
      ...(title
        ? {
            title: { text: plain(title), font: { size: 13 }, x: 0, xref: "paper" },
            margin: { l: 8, r: 8, t: 34, b: 8 },
          }
        : {}),
      legend: LEGEND,
      hovermode: "closest",
    },
  };
}

/**
 * The rows of such a chart, for its CSV.
 *
 * @param {Drawn} drawn
 */
export function rowsOf({ xs, lines, limits = [] }) {
  return xs.flatMap((x, i) => [...lines, ...limits].map((line) => [x, line.name, line.ys[i] ?? null]));
}
