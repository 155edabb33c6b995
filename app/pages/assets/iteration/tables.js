// Buckets and tensors of an iteration as tables, each with its CSV.

import { el, fill } from "../elements/dom.js";
import { bytes, number, time } from "../elements/format.js";
import { csv, fileName, save } from "../elements/save.js";
import { table } from "../elements/table.js";

/** @import { Iteration } from "./iteration.js" */

const words = (ops, most = 2) =>
  ops.length > most ? `${ops.slice(0, most).join(", ")} and ${ops.length - most} more` : ops.join(", ");
const text = (name, of) => ({ name, of, show: of, isText: true });
const word = (name, of) => ({
  name,
  of,
  show: (row) => el("span", { class: "word" }, of(row) ?? ""),
  isText: true,
});
const figure = (name, of, show) => ({ name, of, show: (row) => show(of(row)) });

/**
 * The buckets with what became of them, of the answer's buckets, launches and tensors.
 *
 * @param {Iteration} body
 */
export function bucketsOf(body) {
  const parts = new Map();
  for (const part of body.schedule.parts) {
    if (!parts.has(part.bucket)) parts.set(part.bucket, []);
    parts.get(part.bucket).push(part);
  }
  const tensors = new Map((body.tensors ?? []).map((tensor) => [tensor.id, tensor]));
  return body.buckets.map((bucket) => {
    const launches = parts.get(bucket.id) ?? [];
    const start = launches.length ? Math.min(...launches.map((part) => part.start_us)) : null;
    const end = launches.length ? Math.max(...launches.map((part) => part.end_us)) : null;
    const busy = launches.reduce((sum, part) => sum + part.end_us - part.start_us, 0);
    const exposed = bucket.tensors.every((id) => tensors.has(id))
      ? bucket.tensors.reduce((sum, id) => sum + tensors.get(id).exposed_us, 0)
      : null;
    const wait =
      end === null || bucket.release_us === null ? null : Math.max(0, end - bucket.release_us - busy);
    return { ...bucket, launches: launches.length, start, end, wait, exposed };
  });
}

function filed(host, title, columns, rows) {
  const file = () =>
    save(
      fileName(title, "csv"),
      csv(
        columns.map((column) => column.name),
        rows.map((row) => columns.map((column) => column.of(row))),
      ),
      "text/csv",
    );
  host
    .querySelector(".row")
    .append(
      el("button", { type: "button", class: "quiet", "aria-label": `${title} as CSV`, onclick: file }, "CSV"),
    );
}

/**
 * Show both tables; onselect(ops or null) is told which tensors a chosen row is about.
 *
 * @param {Record<"buckets" | "tensors", HTMLElement>} hosts
 * @param {Iteration} body
 * @param {(ops: string[] | null) => void} onselect
 */
export function tables(hosts, body, onselect) {
  const buckets = bucketsOf(body);
  const homes = new Map(buckets.flatMap((bucket) => bucket.tensors.map((id) => [id, bucket.id])));
  const own = [
    word("bucket", (row) => row.id),
    { name: "tensors", of: (row) => row.tensors.join(" "), show: (row) => words(row.tensors), isText: true },
    figure(
      "count",
      (row) => row.tensors.length,
      (value) => number(value, 12),
    ),
    word("kind", (row) => row.kind),
    text("channel", (row) => row.channel),
    figure("bytes", (row) => row.bytes, bytes),
    figure(
      "launches",
      (row) => row.launches,
      (value) => number(value, 12),
    ),
    figure("release", (row) => row.release_us, time),
    figure("start", (row) => row.start, time),
    figure("end", (row) => row.end, time),
    figure("waited", (row) => row.wait, time),
    figure("exposed", (row) => row.exposed, time),
  ];
  const each = [
    text("tensor", (row) => row.id),
    word("bucket", (row) => homes.get(row.id) ?? null),
    word("kind", (row) => row.kind),
    text("channel", (row) => row.channel),
    figure("bytes", (row) => row.bytes, bytes),
    figure("release", (row) => row.release_us, time),
    figure("start", (row) => row.start_us, time),
    figure("end", (row) => row.end_us, time),
    figure("waited", (row) => row.wait_us, time),
    figure("exposed", (row) => row.exposed_us, time),
  ];
  const shown = {};
  shown.buckets = table(hosts.buckets, own, buckets, {
    caption: "Buckets",
    key: (row) => row.id,
    filter: (row) => `${row.id} ${row.tensors.join(" ")} ${row.channel}`,
    onselect: (row) => {
      shown.tensors?.select(null);
      onselect(row ? row.tensors : null);
    },
  });
  filed(hosts.buckets, "Buckets", own, buckets);
  if (body.tensors) {
    shown.tensors = table(hosts.tensors, each, body.tensors, {
      caption: "Tensors",
      key: (row) => row.id,
      filter: (row) => `${row.id} ${row.channel} ${row.kind}`,
      onselect: (row) => {
        shown.buckets.select(row ? (homes.get(row.id) ?? null) : null);
        onselect(row ? [row.id] : null);
      },
    });
    filed(hosts.tensors, "Tensors", each, body.tensors);
  } else
    fill(hosts.tensors, el("h2", {}, "Tensors"), el("p", { class: "faint" }, "They were not explained."));
  return {
    /** Mark what is about some tensors. */
    select(ops) {
      const first = ops?.find((op) => homes.has(op)) ?? null;
      shown.buckets.select(first === null ? null : homes.get(first));
      shown.tensors?.select(ops?.length === 1 ? first : null);
    },
  };
}
