// Iterations as rows of bars, from a Chrome trace of the service: what ran where, and what did not.

/** @import { PathStep } from "interlace-api" */

/** @typedef {{ start: number, end: number }} Span */

/**
 * What ran on a row, in us; `exposed` is known of channels.
 * @typedef {object} Bar
 * @property {string} name
 * @property {string} kind
 * @property {number} start
 * @property {number} end
 * @property {string[]} ops
 * @property {number | null} bytes
 * @property {number | null} offset
 * @property {number | null} exposed
 */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {boolean} isChannel
 * @property {Bar[]} bars
 * @property {Spans} spans
 * @property {Record<"idle" | "exposed" | "critical", Spans>} marks
 * @property {string[]} [tones]
 * @property {Map<string, Bar>} [homes]
 */

/**
 * @typedef {object} Run
 * @property {string} name
 * @property {number} end
 * @property {number} idle
 * @property {Row[]} rows
 * @property {{ at: number, bytes: number }[]} memory
 * @property {number | null} limit
 * @property {string} [label]
 * @property {boolean} [isExplained]
 * @property {boolean} [isOther]
 * @property {number | null} [peak]
 */

/** Kinds of bars on a stream that are not compute; a wait is no work at all. */
const COPIES = new Set(["pack", "unpack"]);
const WAIT = "wait";

/** Spans in the order of their starts, none beside another in a row. */
export class Spans {
  constructor(spans) {
    this.starts = Float64Array.from(spans, (span) => span.start);
    this.ends = Float64Array.from(spans, (span) => span.end);
  }

  get length() {
    return this.starts.length;
  }

  /** The first span that ends after a time; as many as there are when none does. */
  from(time) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The span at a time or the nearest one that is no further away than `slack`; -1 if none is. */
  at(time, slack) {
    const here = this.from(time);
    let [found, least] = [-1, slack];
    for (const i of [here, here - 1]) {
      if (i < 0 || i >= this.length) continue;
      const away = Math.max(0, this.starts[i] - time, time - this.ends[i]);
      if (away < least || (away === least && found < 0)) [found, least] = [i, away];
    }
    return found;
  }

  /**
   * Spans in a window for a chart whose pixel is so long: those narrower than a pixel that touch are
   * one. put(start, end, first, after) is called for each: of no more than two a pixel.
   */
  thinned(from, to, pixel, put) {
    let i = this.from(from);
    while (i < this.length && this.starts[i] < to) {
      const first = i;
      let end = this.ends[i];
      if (end - this.starts[i] < pixel) {
        while (
          i + 1 < this.length &&
          this.ends[i + 1] - this.starts[i + 1] < pixel &&
          this.starts[i + 1] - end < pixel
        ) {
          i += 1;
          end = Math.max(end, this.ends[i]);
        }
      }
      i += 1;
      put(this.starts[first], end, first, i);
    }
  }
}

/** Spans as one cover, sorted, none touching another. */
function cover(spans) {
  const found = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = found.at(-1);
    if (last && span.start <= last.end) last.end = Math.max(last.end, span.end);
    else if (span.end > span.start) found.push({ start: span.start, end: span.end });
  }
  return found;
}

/** What a cover leaves of [0, end], but for what rounding leaves. */
function gaps(covered, end) {
  const found = [];
  let at = 0;
  for (const span of [...covered, { start: end, end }]) {
    if (span.start - at > 1e-9 * end) found.push({ start: at, end: span.start });
    at = Math.max(at, span.end);
  }
  return found;
}

/** Where bars run in gaps; each bar is told how long it does. */
function exposed(bars, bare) {
  const found = [];
  let i = 0;
  for (const bar of bars) {
    bar.exposed = 0;
    while (i < bare.length && bare[i].end <= bar.start) i += 1;
    for (let k = i; k < bare.length && bare[k].start < bar.end; k += 1) {
      const piece = { start: Math.max(bar.start, bare[k].start), end: Math.min(bar.end, bare[k].end) };
      bar.exposed += piece.end - piece.start;
      found.push(piece);
    }
  }
  return found;
}

function row(name, bars, isChannel) {
  bars.sort((a, b) => a.start - b.start || a.end - b.end);
  return {
    name,
    isChannel,
    bars,
    spans: new Spans(bars),
    marks: { idle: new Spans([]), exposed: new Spans([]), critical: new Spans([]) },
  };
}

function runOf(name, rows, memory) {
  const streams = rows.filter((each) => !each.isChannel);
  const channels = rows.filter((each) => each.isChannel);
  const end = Math.max(0, ...rows.map((each) => each.bars.reduce((most, bar) => Math.max(most, bar.end), 0)));
  const computing = cover(streams.flatMap((each) => each.bars.filter((bar) => bar.kind === "compute")));
  const bare = gaps(computing, end);
  for (const each of channels) each.marks.exposed = new Spans(exposed(each.bars, bare));
  // ops of no stream lie in as many rows as run at once: idle is when none of them runs
  const own = (bars) => bars.filter((bar) => bar.kind !== WAIT);
  const unnamed = streams.filter((each) => each.name === "compute");
  for (const each of streams) {
    if (!unnamed.includes(each)) each.marks.idle = new Spans(gaps(cover(own(each.bars)), end));
  }
  if (unnamed.length)
    unnamed[0].marks.idle = new Spans(gaps(cover(unnamed.flatMap((each) => own(each.bars))), end));
  const sum = (spans) => spans.reduce((total, span) => total + span.end - span.start, 0);
  return { name, end, rows: [...streams, ...channels], memory, idle: sum(bare) };
}

/**
 * The runs of a Chrome trace: { name, end, idle, rows: streams then channels, memory, limit }.
 *
 * @param {{ traceEvents: any[] }} trace
 * @returns {Run[]}
 */
export function runsOf(trace) {
  const runs = new Map();
  for (const event of trace.traceEvents) {
    if (event.ph === "M" && event.name === "process_name")
      runs.set(event.pid, { name: event.args.name, threads: new Map(), memory: [], limit: null });
    const run = runs.get(event.pid);
    if (event.ph === "M" && event.name === "thread_name")
      run.threads.set(event.tid, { name: event.args.name, bars: [] });
    if (event.ph === "C") {
      if (event.name === "memory") run.memory.push({ at: event.ts, bytes: event.args.bytes });
      else run.limit = event.args.bytes;
    }
    if (event.ph !== "X") continue;
    const { tensors, bytes = null, offset_bytes: offset = null } = event.args;
    run.threads.get(event.tid).bars.push({
      name: event.name,
      kind: event.cat,
      start: event.ts,
      end: event.ts + event.dur,
      ops: tensors ?? [event.name],
      bytes,
      offset,
      exposed: null,
    });
  }
  return [...runs.values()].map(({ name, threads, memory, limit }) => {
    const onStream = (bar) => bar.kind === "compute" || bar.kind === WAIT || COPIES.has(bar.kind);
    const rows = [...threads.values()]
      .filter((each) => each.bars.length)
      .map((each) => row(each.name, each.bars, !onStream(each.bars[0])));
    return { ...runOf(name, rows, memory), limit };
  });
}

/**
 * Mark the critical path in a run, whose steps have the ops and times of its bars.
 *
 * @param {Run} run
 * @param {PathStep[] | null} steps
 */
export function markCritical(run, steps) {
  const close = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, run.end);
  const found = new Map(run.rows.map((each) => [each, []]));
  const homes = new Map();
  for (const each of run.rows)
    if (!each.isChannel)
      for (const bar of each.bars) homes.set(`${bar.kind} ${bar.ops[0]} ${bar.name}`, each);
  for (const step of steps ?? []) {
    const span = { start: step.start_us, end: step.end_us };
    let home =
      step.channel === null
        ? undefined
        : run.rows.find((each) => each.isChannel && each.name === step.channel);
    home ??= homes.get(`${step.kind} ${step.ops[0]} ${step.ops[0]}`);
    home ??= run.rows.find(
      (each) =>
        !each.isChannel && each.bars.some((bar) => close(bar.start, span.start) && close(bar.end, span.end)),
    );
    if (home) found.get(home).push(span);
  }
  for (const [each, spans] of found) each.marks.critical = new Spans(spans);
}

/**
 * A step of which only its length is known, as a run of one slice.
 *
 * @param {string} name
 * @param {number} us
 * @returns {Run}
 */
export function measuredRun(name, us) {
  const whole = {
    name: "measured as a whole",
    kind: "measured",
    start: 0,
    end: us,
    ops: [name],
    bytes: null,
  };
  const bars = [{ ...whole, offset: null, exposed: null }];
  return { name, end: us, idle: 0, rows: [row("step", bars, false)], memory: [], limit: null, isOther: true };
}
