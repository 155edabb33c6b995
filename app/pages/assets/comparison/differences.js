// What differs between two answers: their figures, and the buckets that are other or elsewhere.

import { bytes, number, percent, time } from "../elements/format.js";

/** @import { Iteration } from "../iteration/iteration.js" */

const whole = (value) => number(value, 12);

/** The figures of an answer: a term of the glossary, its words, the value, how it is shown. */
const FIGURES = [
  { name: "iteration time", of: (body) => body.iteration_time_us, show: time },
  { name: "lower bound", of: (body) => body.lower_bound_us ?? null, show: time },
  { name: "gap", of: (body) => body.gap ?? null, show: (value) => percent(value, 2) },
  { name: "compute alone", of: (body) => body.compute_time_us, show: time },
  { name: "exposed", of: (body) => body.exposed_us, show: time },
  { name: "hidden", of: (body) => body.overlap, show: percent },
  { name: "bucket", words: "buckets", of: (body) => body.buckets.length, show: whole },
  { name: "launch", words: "launches", of: (body) => body.schedule.parts.length, show: whole },
  { name: "peak memory", of: (body) => body.peak_bytes ?? null, show: bytes },
];

/** A difference, with its sign; null where one side is not known. */
function apart(a, b, show) {
  if (a === null || b === null) return null;
  if (Math.abs(b - a) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b))) return "the same";
  return `${b > a ? "+" : "−"}${show(Math.abs(b - a))}`;
}

/**
 * The figures side by side, without those that neither has.
 *
 * @param {Iteration} a
 * @param {Iteration} b
 */
export function figures(a, b) {
  return FIGURES.map(({ name, words = name, of, show }) => {
    const [first, second] = [of(a) ?? null, of(b) ?? null];
    return { name, words, a: show(first), b: show(second), apart: apart(first, second, show), first, second };
  }).filter(({ first, second }) => first !== null || second !== null);
}

/** When each bucket starts and ends, by its tensors. */
function byTensors(body) {
  const spans = new Map();
  for (const { bucket, start_us: start, end_us: end } of body.schedule.parts) {
    const known = spans.get(bucket) ?? { start, end };
    spans.set(bucket, { start: Math.min(known.start, start), end: Math.max(known.end, end) });
  }
  return new Map(
    body.buckets.map((bucket) => [
      [...bucket.tensors].sort().join("\n"),
      {
        tensors: bucket.tensors,
        bytes: bucket.bytes,
        ...(spans.get(bucket.id) ?? { start: null, end: null }),
      },
    ]),
  );
}

/**
 * The buckets that are of one answer alone, or start at another time, in the order of their starts.
 *
 * @param {Iteration} a
 * @param {Iteration} b
 */
export function changed(a, b) {
  const [first, second] = [byTensors(a), byTensors(b)];
  const near = 1e-6 * Math.max(a.iteration_time_us, b.iteration_time_us);
  const rows = [];
  for (const key of new Set([...first.keys(), ...second.keys()])) {
    const [one, other] = [first.get(key) ?? null, second.get(key) ?? null];
    const { tensors, bytes: size } = one ?? other;
    const how = !one ? "only B" : !other ? "only A" : "both";
    const later = one && other ? other.start - one.start : null;
    if (later !== null && Math.abs(later) <= near && Math.abs(other.end - one.end) <= near) continue;
    rows.push({ how, tensors, bytes: size, a: one?.start ?? null, b: other?.start ?? null, later });
  }
  return rows.sort((x, y) => (x.a ?? x.b) - (y.a ?? y.b));
}

/**
 * What differs most, in a sentence.
 *
 * @param {Iteration} a
 * @param {Iteration} b
 * @param {ReturnType<typeof changed>} rows
 */
export function sentence(a, b, rows) {
  const by = a.iteration_time_us - b.iteration_time_us;
  const isSame = Math.abs(by) <= 1e-9 * a.iteration_time_us;
  const share = percent(Math.abs(by) / a.iteration_time_us);
  const faster = isSame
    ? "Both take the same time"
    : `B takes ${time(Math.abs(by))} (${share}) ${by > 0 ? "less" : "more"} than A`;
  const bare = a.exposed_us - b.exposed_us;
  const why =
    isSame || Math.abs(bare) < 0.01 * Math.abs(by)
      ? ""
      : `; ${time(Math.abs(bare))} ${bare > 0 ? "less" : "more"} of communication is exposed`;
  const moved = rows.filter(({ how }) => how === "both").length;
  const other = rows.length - moved;
  return `${faster}${why}. Of the buckets ${other} are in one alone, and ${moved} are sent at another time.`;
}
