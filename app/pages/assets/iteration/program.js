// What only a program has: time against memory, and why each launch starts no earlier.

import { chart } from "../charts/chart.js";
import { curves } from "../charts/curves.js";
import { el, fill } from "../elements/dom.js";
import { GIB, memory, time } from "../elements/format.js";
import { table } from "../elements/table.js";

/** @import { Iteration } from "./iteration.js" */

/**
 * Draw the plans for several limits of memory; hides its host where there is one limit or none.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 */
export async function front(host, body) {
  host.hidden = !body.front;
  if (!body.front) return;
  const points = [...body.front].sort((a, b) => a.memory_limit_bytes - b.memory_limit_bytes);
  const ms = (us) => (us === null ? null : us / 1e3);
  const timeAt = (point) => (point.iteration_time_us === null ? "no plan" : time(point.iteration_time_us));
  const figure = el("div");
  fill(
    host,
    figure,
    points
      .filter((point) => point.why_not)
      .map((point) => el("p", { class: "note" }, `${memory(point.memory_limit_bytes)}: ${point.why_not}`)),
  );
  await chart(figure, {
    title: "Time against memory",
    description: points.map((point) => `${memory(point.memory_limit_bytes)}: ${timeAt(point)}`).join("; "),
    make: () =>
      curves({
        xs: points.map((point) => point.memory_limit_bytes / GIB),
        lines: [{ name: "plan", style: 0, ys: points.map((point) => ms(point.iteration_time_us)) }],
        limits: [{ name: "lower bound", ys: points.map((point) => ms(point.lower_bound_us)) }],
        x: "limit of memory [GiB]",
        y: "iteration time [ms]",
        show: (value, i) => `${time(value * 1e3)}, peak ${memory(points[i].peak_bytes)}`,
      }),
    table: () => ({
      columns: ["memory_limit_bytes", "iteration_time_us", "peak_bytes", "lower_bound_us", "status"],
      rows: points.map((point) => [
        point.memory_limit_bytes,
        point.iteration_time_us,
        point.peak_bytes,
        point.lower_bound_us,
        point.status,
      ]),
    }),
  });
}

/**
 * Why each launch starts no earlier; onselect(ops or null) is told which tensors a chosen row is about.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 * @param {(ops: string[] | null) => void} onselect
 */
export function reasons(host, body, onselect) {
  host.hidden = !body.launch_reasons?.length;
  if (host.hidden) return;
  const tensors = new Map(body.buckets.map((bucket) => [bucket.id, bucket.tensors]));
  table(
    host,
    [
      { name: "bucket", of: (row) => row.bucket, show: (row) => row.bucket, isText: true },
      { name: "start", of: (row) => row.start_us, show: (row) => time(row.start_us) },
      { name: "could start", of: (row) => row.could_start_us, show: (row) => time(row.could_start_us) },
      { name: "held by", of: (row) => row.by, show: (row) => row.by ?? "", isText: true },
      { name: "why no earlier", of: (row) => row.text, show: (row) => row.text, isText: true },
    ],
    body.launch_reasons,
    {
      caption: "Why each launch starts no earlier",
      key: (row) => row.bucket,
      filter: (row) => `${row.bucket} ${row.by ?? ""} ${row.text}`,
      onselect: (row) => onselect(row ? (tensors.get(row.bucket) ?? null) : null),
    },
  );
}
