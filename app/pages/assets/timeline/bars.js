// What a timeline draws of its runs in a window: at most some bars a pixel, whatever there is.

import { memory, time } from "../elements/format.js";
import { fitting } from "./surface.js";
import { toneOf } from "./tones.js";

/** @import { Bar, Row, Run } from "./runs.js" */
/** @import { Surface } from "./surface.js" */

/** @typedef {{ run: Run, row: Row, top: number }} Slot */

/** @typedef {ReturnType<typeof arranged>} Places */

/** Pixels of the axis, of a run's heading, of a row, and of a track of memory. */
export const AXIS = 26;
const HEAD = 24;
const ROW = 26;
const MEMORY = 56;
/** Pixels of a row: where bars lie, and the line of the critical path below them. */
const [TOP, THICK, MARK, PATH] = [3, 18, 4, 23];

/**
 * The unit of an axis for iterations so long [us].
 *
 * @param {number} end
 */
export function unitOf(end) {
  if (end >= 1e7) return { name: "s", size: 1e6 };
  return end >= 2e3 ? { name: "ms", size: 1e3 } : { name: "us", size: 1 };
}

/**
 * Where the rows of runs lie [px], and what they have.
 *
 * @param {Run[]} runs
 * @param {number} width
 */
export function arranged(runs, width) {
  const [slots, heads, memories] = [[], [], []];
  let top = AXIS;
  for (const run of runs) {
    heads.push({ run, top });
    top += HEAD;
    for (const row of run.rows) {
      slots.push({ run, row, top });
      top += ROW;
    }
    if (run.memory.length) {
      memories.push({ run, top });
      top += MEMORY;
    }
    top += 4;
  }
  const tones = new Set(slots.flatMap(({ row }) => [...tonesOf(row)]));
  const most = Math.max(
    1,
    ...runs.map((run) => run.memory.reduce((high, point) => Math.max(high, point.bytes), run.limit ?? 0)),
  );
  return { slots, heads, memories, tones, most, width, gutter: width < 600 ? 76 : 140, height: top + 2 };
}

/** The tones of a row's bars; known once, since rows are drawn sixty times a second. */
function tonesOf(row) {
  row.tones ??= row.bars.map(toneOf);
  return new Set(row.tones);
}

/** Times at which an axis is marked: some hundred pixels apart, by 1, 2 or 5. */
export function ticks(from, to, width) {
  const rough = ((to - from) * 110) / Math.max(width, 1);
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * ten).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return { step, at: found };
}

/**
 * Draw what lies in a view.
 *
 * @param {Surface} on
 * @param {Places} places
 * @param {{ view: number[], colours: any, bound: number | null, chosen: { bar: Bar, top: number }[],
 *   threads: number[][], overlays: Set<string> }} drawn
 */
export function draw(on, places, { view: [from, to], colours, bound, chosen, threads, overlays }) {
  const room = places.width - places.gutter - 8;
  const scale = room / (to - from);
  const pixel = 1 / scale;
  const x = (at) => places.gutter + (Math.min(Math.max(at, from), to) - from) * scale;
  const bottom = places.height;
  axis(on, places, { from, to, room, x, colours });
  for (const { row, top } of places.slots) {
    on.rect(places.gutter, top + TOP, room, THICK, colours.line, 0.25);
    if (overlays.has("idle"))
      row.marks.idle.thinned(from, to, pixel, (start, end) =>
        on.rect(x(start), top + TOP, Math.max(1, x(end) - x(start)), THICK, colours.mark.idle, 0.22),
      );
    tonesOf(row);
    row.spans.thinned(from, to, pixel, (start, end, first, after) => {
      const { fill, ink } = colours.tone(row.tones[first]);
      const [left, right] = [x(start), x(end)];
      const wide = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
      on.rect(left, top + TOP, wide, THICK, fill);
      if (wide < 34 || after !== first + 1) return;
      const said = labelIn(row.bars[first].name, wide - 8);
      if (said) on.text(left + 4, top + TOP + THICK / 2 + 0.5, said, ink);
    });
    for (const [name, y] of [
      ["exposed", top + TOP],
      ["critical", top + PATH],
    ]) {
      if (!overlays.has(name)) continue;
      row.marks[name].thinned(from, to, pixel, (start, end) =>
        on.rect(
          x(start),
          y,
          Math.max(1, x(end) - x(start)),
          name === "exposed" ? MARK : 2.5,
          colours.mark[name],
        ),
      );
    }
  }
  for (const { run, top } of places.memories)
    drawMemory(on, run, { top, from, to, pixel, x, places, colours });
  for (const { run, top } of places.heads) {
    const end = places.heads.find((other) => other.top > top)?.top ?? bottom;
    if (run.end >= from && run.end <= to)
      on.line([x(run.end), top + 4, x(run.end), end - 4], colours.text, 1.5);
    if (bound !== null && !run.isOther && bound >= from && bound <= to)
      on.line([x(bound), top + 4, x(bound), end - 4], colours.bound, 1.5, [5, 4]);
  }
  for (const [at, y, other, below] of threads) {
    if (Math.max(at, other) >= from && Math.min(at, other) <= to)
      on.line([x(at), y, x(other), below], colours.chosen, 1.5, [3, 3]);
  }
  for (const { bar, top } of chosen) {
    if (bar.end >= from && bar.start <= to)
      on.frame(
        x(bar.start),
        top + TOP - 1,
        Math.max(2, x(bar.end) - x(bar.start)),
        THICK + 2,
        colours.chosen,
      );
  }
}

/** A name that fits in a bar, without what most names begin with where it does not: "grad:fc6" is "fc6". */
function labelIn(name, width) {
  const whole = fitting(name, width);
  return whole === name ? name : fitting(name.replace(/^\w+:/, ""), width);
}

/** The axis at the top, and a line down from each of its marks. */
function axis(on, places, { from, to, room, x, colours }) {
  const { step, at } = ticks(from, to, room);
  const { name, size } = unitOf(Math.max(Math.abs(from), to));
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  for (const each of at) {
    on.line([x(each), AXIS - 4, x(each), places.height], colours.line, 1);
    const said = `${(each / size).toFixed(Math.min(digits, 9))} ${name}`;
    if (x(each) + said.length * 6 < places.width) on.text(x(each) + 3, AXIS / 2, said, colours.faint);
  }
  on.line([places.gutter, AXIS - 2, places.width - 8, AXIS - 2], colours.line, 1);
}

/** Memory over time, the most of what lies in a pixel, and its limit. */
function drawMemory(on, run, { top, from, to, pixel, x, places, colours }) {
  const high = (value) => (MEMORY - 8) * (value / places.most);
  const base = top + MEMORY - 4;
  let [at, most] = [null, 0];
  const put = (until) => {
    if (at !== null && until > from && at < to)
      on.rect(x(at), base - high(most), Math.max(1, x(until) - x(at)), high(most), colours.tone("wait").fill);
  };
  for (const point of run.memory) {
    if (at !== null && point.at - at < pixel) {
      most = Math.max(most, point.bytes);
      continue;
    }
    put(point.at);
    [at, most] = [point.at, point.bytes];
    if (at > to) break;
  }
  put(run.end);
  if (run.limit !== null) {
    const y = base - high(run.limit);
    on.line([places.gutter, y, places.width - 8, y], colours.mark.exposed, 1.5, [6, 4]);
  }
}

/** What stands above a run's rows: its name, its time and, where known, its peak of memory. */
export function headingOf(run) {
  const peak = run.peak === undefined || run.peak === null ? "" : `, ${memory(run.peak)} at most`;
  return [run.label ?? run.name, `${time(run.end)}${peak}`];
}

/**
 * The names of runs and rows, drawn where the page has them as text: for files.
 *
 * @param {Surface} on
 * @param {Places} places
 */
export function drawNames(on, places, colours) {
  for (const { run, top } of places.heads) {
    const [name, said] = headingOf(run);
    on.text(4, top + HEAD / 2, fitting(`${name}  ${said}`, places.width - 8, 13), colours.text, 13, 600);
  }
  for (const { row, top } of places.slots)
    on.text(4, top + ROW / 2, fitting(row.name, places.gutter - 10, 12), colours.faint, 12);
  for (const { top } of places.memories) on.text(4, top + MEMORY / 2, "memory", colours.faint, 12);
}
