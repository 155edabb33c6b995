// Horizontal bars: one figure of each of several things.

import { chart, colour, plain } from "./chart.js";

/** @typedef {{ name: string, value: number | null, text: string, tone: string }} BarOfChart */

/**
 * @typedef {object} BarsOptions
 * @property {string} title
 * @property {BarOfChart[]} bars
 * @property {string} axis
 * @property {number} [size]
 * @property {string[]} columns
 * @property {string} [description]
 */

/**
 * Draw bars, the first on top.
 *
 * bars: [{ name, value, text, tone }] where text stands at the bar; unit: { name, size } of the axis;
 * description says the same in words, of which a list of the bars is made when it is left out.
 * columns: of the CSV, the names of what `name` and `value` are.
 *
 * @param {HTMLElement} host
 * @param {BarsOptions} options
 */
export function bars(host, { title, bars: given, axis, size = 1, columns, description }) {
  const room = Math.max(60, Math.min(260, host.clientWidth * 0.36));
  const short = (name) => plain(name.length > room / 7 ? `${name.slice(0, room / 7 - 1)}…` : name);
  const make = () => ({
    traces: [
      {
        type: "bar",
        orientation: "h",
        y: given.map((_, i) => i),
        x: given.map((bar) => (bar.value === null ? null : bar.value / size)),
        text: given.map((bar) => plain(bar.text)),
        textposition: "auto",
        insidetextanchor: "end",
        cliponaxis: false,
        insidetextfont: { color: colour("card") },
        outsidetextfont: { color: colour("text") },
        marker: { color: given.map((bar) => colour(bar.tone)) },
        hovertext: given.map((bar) => `${plain(bar.name)}: ${plain(bar.text)}`),
        hoverinfo: "text",
      },
    ],
    layout: {
      xaxis: { title: { text: plain(axis) }, rangemode: "tozero", fixedrange: true, exponentformat: "none" },
      yaxis: {
        autorange: "reversed",
        tickmode: "array",
        tickvals: given.map((_, i) => i),
        ticktext: given.map((bar) => short(bar.name)),
        fixedrange: true,
        showgrid: false,
        zeroline: false,
      },
      showlegend: false,
      bargap: 0.25,
      dragmode: false,
    },
  });
  return chart(host, {
    make,
    title,
    height: 70 + 30 * given.length,
    description: description ?? given.map((bar) => `${bar.name}: ${bar.text}`).join("; "),
    table: () => ({ columns, rows: given.map((bar) => [bar.name, bar.value]) }),
  });
}
