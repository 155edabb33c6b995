// Ranked shapes by time and memory, with the front that none of them passes.

import { chart, colour, plain } from "../charts/chart.js";
import { LEGEND } from "../charts/curves.js";
import { bytes, time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";
import { timeOf } from "./rows.js";

/** @import { ShapeAnswer, ShapeRow } from "interlace-api" */

/**
 * Draw them; chosen() names the marked shape, onchoose(name) is called when another is pointed out.
 *
 * @param {HTMLElement} host
 * @param {ShapeAnswer} answer
 * @param {() => string} chosen
 * @param {(name: string) => void} onchoose
 */
export async function drawFront(host, answer, chosen, onchoose) {
  const front = [...answer.front].sort((a, b) => timeOf(a) - timeOf(b));
  const behind = answer.best.filter((row) => !front.some((one) => one.name === row.name));
  const all = [...front, ...behind];
  const unit = unitOf(Math.max(...all.map(timeOf)));
  const points = (rows, name, tone, more) => ({
    type: "scatter",
    name,
    x: rows.map((row) => timeOf(row) / unit.size),
    y: rows.map((row) => row.memory_bytes / 1e9),
    customdata: rows.map((row) => row.name),
    hovertext: rows.map(
      (row) => `${plain(row.name)}<br>${time(timeOf(row))}, ${bytes(row.memory_bytes)} on the fullest rank`,
    ),
    hoverinfo: "text",
    marker: {
      color: colour(tone),
      size: rows.map((row) => (row.name === chosen() ? 15 : 9)),
      symbol: rows.map((row) => (row.name === chosen() ? "diamond" : "circle")),
    },
    ...more,
  });
  const drawn = await chart(host, {
    title: "Time and memory",
    description:
      "The front, from the fastest: " +
      front.map((row) => `${row.name} ${time(timeOf(row))}, ${bytes(row.memory_bytes)}`).join("; "),
    height: 340,
    make: () => ({
      traces: [
        points(front, "front: none is faster and smaller", "c1", {
          mode: "lines+markers",
          line: { color: colour("c1"), width: 1.5, shape: "hv" },
        }),
        ...(behind.length ? [points(behind, "other ranked shapes", "c7", { mode: "markers" })] : []),
      ],
      layout: {
        xaxis: { title: { text: `step [${unit.name}]` }, exponentformat: "none" },
        yaxis: { title: { text: "memory [GB]" } },
        hovermode: "closest",
        legend: LEGEND,
        margin: { l: 8, r: 8, t: 12, b: 8 },
      },
    }),
    table: () => ({
      columns: ["shape", "time_us", "memory_bytes", "is_on_front"],
      rows: all.map((row) => [row.name, timeOf(row), row.memory_bytes, front.includes(row)]),
    }),
  });
  drawn.plot.on("plotly_click", (event) => onchoose(event.points[0].customdata));
  return drawn;
}
