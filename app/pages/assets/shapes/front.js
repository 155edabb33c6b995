// Ranked shapes by simulated time and memory, with the front that none of them passes.

import { chart, colour, plain } from "../charts/chart.js";
import { LEGEND } from "../charts/curves.js";
import { GIB, memory, time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";

/** @import { ShapeAnswer, ShapeRow } from "interlace-api" */

/** A shape with its figures, in a line. */
function told(row) {
  const predicted = row.predicted_us === null ? "" : `, ${time(row.predicted_us)} predicted`;
  return `${time(row.time_us)} simulated${predicted}, ${memory(row.memory_bytes)}`;
}

/**
 * Draw them; chosen() names the marked shape, onchoose(name) is called when another is pointed out.
 *
 * @param {HTMLElement} host
 * @param {ShapeAnswer} answer
 * @param {() => string} chosen
 * @param {(name: string) => void} onchoose
 */
export async function drawFront(host, answer, chosen, onchoose) {
  const front = [...answer.front].sort((a, b) => a.time_us - b.time_us);
  const behind = answer.best.filter((row) => !front.some((one) => one.name === row.name));
  const all = [...front, ...behind];
  const unit = unitOf(Math.max(...all.map((row) => row.time_us)));
  const points = (rows, name, tone, more) => ({
    type: "scatter",
    name,
    x: rows.map((row) => row.time_us / unit.size),
    y: rows.map((row) => row.memory_bytes / GIB),
    customdata: rows.map((row) => row.name),
    hovertext: rows.map((row) => `${plain(row.name)}<br>${told(row)} on the fullest rank`),
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
    description: `The front, from the fastest: ${front.map((row) => `${row.name} ${told(row)}`).join("; ")}`,
    height: 340,
    make: () => ({
      traces: [
        points(front, "front: none simulated is faster and smaller", "c1", {
          mode: "lines+markers",
          line: { color: colour("c1"), width: 1.5, shape: "hv" },
        }),
        ...(behind.length ? [points(behind, "other ranked shapes", "c7", { mode: "markers" })] : []),
      ],
      layout: {
        xaxis: { title: { text: `simulated step [${unit.name}]` }, exponentformat: "none" },
        yaxis: { title: { text: "memory [GiB]" } },
        hovermode: "closest",
        legend: LEGEND,
        margin: { l: 8, r: 8, t: 12, b: 8 },
      },
    }),
    table: () => ({
      columns: ["shape", "time_us", "predicted_us", "memory_bytes", "is_on_front"],
      rows: all.map((row) => [
        row.name,
        row.time_us,
        row.predicted_us,
        row.memory_bytes,
        front.includes(row),
      ]),
    }),
  });
  drawn.plot.on("plotly_click", (event) => onchoose(event.points[0].customdata));
  return drawn;
}
