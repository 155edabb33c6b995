// The use of a link over time, under two rules on one axis.

import { chart, colour, plain } from "../charts/chart.js";
import { LEGEND } from "../charts/curves.js";
import { percent, time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";

/** @import { RuledMixOut } from "interlace-api" */

/**
 * When each bin of a link begins, and the end of the last [us], from the start of the window.
 *
 * @param {RuledMixOut} run
 * @param {number} bins
 */
function edgesOf({ window_us: [from, to] }, bins) {
  return Array.from({ length: bins + 1 }, (_, i) => ((to - from) * i) / bins);
}

/**
 * Draw it; a link that a rule does not tell of is left out there.
 *
 * @param {HTMLElement} host
 * @param {string} link
 * @param {{ name: string, run: RuledMixOut }[]} beside
 */
export function drawUse(host, link, beside) {
  const known = beside
    .map(({ name, run }, i) => {
      const use = run.links.find((each) => each.link === link)?.use ?? [];
      return { name, use, edges: edgesOf(run, use.length), tone: ["c2", "c1"][i], dash: ["dot", "solid"][i] };
    })
    .filter(({ use }) => use.length);
  const unit = unitOf(Math.max(...known.map(({ edges }) => edges.at(-1)), 1));
  return chart(host, {
    title: `Use of ${link} over time`,
    description: known
      .map(
        ({ name, use }) =>
          `${name}: ${percent(use.reduce((sum, one) => sum + one, 0) / use.length)} in the mean`,
      )
      .join("; "),
    height: 300,
    make: () => ({
      traces: known.map(({ name, use, edges, tone, dash }) => ({
        type: "scatter",
        mode: "lines",
        name: plain(name),
        x: edges.map((at) => at / unit.size),
        y: [...use, use.at(-1)],
        text: [...use, use.at(-1)].map((one, i) => `${plain(name)}, ${time(edges[i])}: ${percent(one)}`),
        hoverinfo: "text",
        line: { color: colour(tone), width: 2, shape: "hv", dash },
      })),
      layout: {
        xaxis: { title: { text: `from the start of the window [${unit.name}]` }, exponentformat: "none" },
        yaxis: { title: { text: "share of capacity" }, tickformat: ".0%", range: [0, 1.05] },
        legend: LEGEND,
        margin: { l: 8, r: 8, t: 12, b: 8 },
      },
    }),
    table: () => ({
      columns: ["rule", "from_us", "to_us", "use"],
      rows: known.flatMap(({ name, use, edges }) => use.map((one, i) => [name, edges[i], edges[i + 1], one])),
    }),
  });
}
