// What a Gantt chart draws of its runs in a window: at most some bars a pixel, a path a colour.

import { colour, plain } from "../charts/chart.js";
import { bytes, SIZES, time } from "../elements/format.js";

/** @import { Bar, Row, Run } from "./runs.js" */

/** @typedef {{ run: Run, row: Row, y: number }} Slot */

/** @typedef {{ from: number, to: number, pixel: number, size: number }} Window */

/** @typedef {ReturnType<typeof arranged>} Places */

/** @typedef {ReturnType<typeof unitOf>} Unit */

/** What bars and marks are called and coloured; marks lie over the bars of their row. */
const TONES = {
  compute: ["compute", "c7"],
  pack: ["packing", "c5"],
  unpack: ["unpacking", "c5"],
  wait: ["waits", "line"],
  all_reduce: ["all-reduce", "c1"],
  all_gather: ["all-gather", "c6"],
  reduce_scatter: ["reduce-scatter", "c3"],
  broadcast: ["broadcast", "c4"],
  all_to_all: ["all-to-all", "c2"],
  send_recv: ["send", "c6"],
};
const MARKS = {
  idle: { name: "compute idle", tone: "c5", opacity: 0.3, top: 0.12, bottom: 0.82 },
  exposed: { name: "exposed", tone: "bad", opacity: 1, top: 0.12, bottom: 0.3 },
  critical: { name: "critical path", tone: "text", opacity: 1, top: 0.86, bottom: 0.98 },
};
const [TOP, BOTTOM] = [0.12, 0.82];

/** Pixels of a row, of what is drawn of memory, and of the axis with its title. */
const ROW = 26;
const MEMORY = 150;
const AXIS = 60;

/**
 * The unit of the axis for iterations so long [us].
 *
 * @param {number} end
 */
export function unitOf(end) {
  if (end >= 1e7) return { name: "s", size: 1e6 };
  return end >= 2e3 ? { name: "ms", size: 1e3 } : { name: "us", size: 1 };
}

/**
 * Where the rows of runs lie, and what they have: slots: [{ run, row, y }], heads: [{ run, y }].
 *
 * @param {Run[]} runs
 * @param {number} width
 */
export function arranged(runs, width) {
  const [slots, heads] = [[], []];
  let y = 0;
  for (const run of runs) {
    heads.push({ run, y });
    y += 1;
    for (const row of run.rows) slots.push({ run, row, y: y++ });
  }
  const hasMemory = runs.some((run) => run.memory.length);
  const most = Math.max(
    0,
    ...runs.map((run) => run.memory.reduce((high, point) => Math.max(high, point.bytes), run.limit ?? 0)),
  );
  const { unit: name, size } = SIZES.find((each) => most >= each.size) ?? { unit: "B", size: 1 };
  // the legend names what there is anywhere, whatever is in view
  const found = new Set(slots.flatMap(({ row }) => row.bars.map((bar) => bar.kind)));
  const known = Object.keys(TONES);
  const kinds = [...found].sort((a, b) => known.indexOf(a) - known.indexOf(b));
  const marks = Object.keys(MARKS).filter((name) => slots.some(({ row }) => row.marks[name].length));
  const named = kinds.length + marks.length + 1 + (hasMemory ? runs.length + 1 : 0);
  const room = Math.max(1, Math.floor((width - 20) / (hasMemory ? 165 : 130)));
  const below = AXIS + Math.ceil(named / room) * 20; // the axis and the legend
  return {
    slots,
    heads,
    kinds,
    marks,
    total: y,
    hasMemory,
    memory: { name, size },
    below,
    height: y * ROW + (hasMemory ? MEMORY : 0) + below,
  };
}

/** Rectangles as one path: corners, and a gap between one and the next. */
class Path {
  constructor() {
    this.x = [];
    this.y = [];
  }

  add(from, to, top, bottom) {
    this.x.push(from, to, to, from, from, null);
    this.y.push(top, top, bottom, bottom, top, null);
  }
}

const filled = (path, name, tone, opacity = 1) => ({
  type: "scatter",
  mode: "none",
  fill: "toself",
  fillcolor: tone,
  opacity,
  line: { simplify: false },
  hoverinfo: "skip",
  name,
  x: path.x.length ? path.x : [null],
  y: path.y.length ? path.y : [null],
});

/**
 * The traces of what lies in [from, to] where a pixel is so long [us]; size is the axis' unit.
 *
 * @param {Places} places
 * @param {Window} window
 * @param {{ bar: Bar, y: number }[]} selected
 * @param {number | null} bound
 */
export function traces(places, { from, to, pixel, size }, selected, bound) {
  const bars = new Map(places.kinds.map((kind) => [kind, new Path()]));
  const marks = new Map(places.marks.map((name) => [name, new Path()]));
  for (const { row, y } of places.slots) {
    row.spans.thinned(from, to, pixel, (start, end, first) => {
      const { kind } = row.bars[first];
      const wide = end - start;
      // a line between neighbours
      const until = wide < pixel ? start + pixel : wide > 4 * pixel ? end - pixel : end;
      bars.get(kind).add(start / size, until / size, y + TOP, y + BOTTOM);
    });
    for (const [name, path] of marks) {
      const { top, bottom } = MARKS[name];
      row.marks[name].thinned(from, to, pixel, (start, end) =>
        path.add(start / size, Math.max(end, start + pixel) / size, y + top, y + bottom),
      );
    }
  }
  const outline = new Path();
  for (const { bar, y } of selected) {
    if (bar.end >= from && bar.start <= to)
      outline.add(bar.start / size, Math.max(bar.end, bar.start + pixel) / size, y + 0.06, y + BOTTOM + 0.04);
  }
  const mark = (name) =>
    marks.has(name)
      ? [filled(marks.get(name), MARKS[name].name, colour(MARKS[name].tone), MARKS[name].opacity)]
      : [];
  return [
    ...mark("idle"),
    ...places.kinds.map((kind) =>
      filled(
        bars.get(kind),
        ...(TONES[kind] ? [TONES[kind][0], colour(TONES[kind][1])] : [plain(kind), colour("c2")]),
      ),
    ),
    ...mark("exposed"),
    ...mark("critical"),
    ...(bound === null
      ? []
      : [
          {
            type: "scatter",
            mode: "lines",
            line: { color: colour("c3"), width: 1.5, dash: "dash" },
            hoverinfo: "skip",
            name: "lower bound",
            x: [null],
            y: [null],
          },
        ]),
    ...(outline.x.length
      ? [
          {
            type: "scatter",
            mode: "lines",
            line: { color: colour("c2"), width: 3, simplify: false },
            hoverinfo: "skip",
            name: "selected",
            showlegend: false,
            x: outline.x,
            y: outline.y,
          },
        ]
      : []),
  ];
}

/**
 * Memory over time of each run in a window, the most of what lies in a pixel.
 *
 * @param {Run[]} runs
 * @param {Places["memory"]} memory
 * @param {Window} window
 */
export function memoryTraces(runs, memory, { from, to, pixel, size }) {
  const made = [];
  const scaled = (value) => value / memory.size;
  runs.forEach((run, k) => {
    if (!run.memory.length) return;
    /** @type {number[][]} */
    const [x, y] = [[], []];
    let at = -Infinity;
    for (const point of run.memory) {
      if (point.at > to) break;
      if (point.at < from) [x[0], y[0]] = [from / size, scaled(point.bytes)];
      else if (point.at - at < pixel && x.length) y[y.length - 1] = Math.max(y.at(-1), scaled(point.bytes));
      else {
        x.push(point.at / size);
        y.push(scaled(point.bytes));
        at = point.at;
      }
    }
    const line = (name, tone, dash, points) => ({
      type: "scatter",
      mode: "lines",
      line: { shape: "hv", color: colour(tone), dash },
      hoverinfo: "skip",
      yaxis: "y2",
      name,
      ...points,
    });
    made.push(line(`memory, ${plain(run.name)}`, k ? "c5" : "c2", k ? "dot" : "solid", { x, y }));
    if (run.limit !== null && k === 0)
      made.push(
        line("memory limit", "bad", "dash", {
          x: [from / size, to / size],
          y: [scaled(run.limit), scaled(run.limit)],
        }),
      );
  });
  return made;
}

/** A name that fits beside the chart. */
function short(name, most) {
  return plain(name.length > most ? `${name.slice(0, most - 1)}…` : name);
}

/** What stands above a run's rows: its name, its time and, where known, its peak of memory. */
function headingOf(run, most) {
  const peak = run.peak === undefined || run.peak === null ? "" : `, ${bytes(run.peak)} at most`;
  return `<b>${short(run.label ?? run.name, most)}</b> ${time(run.end)}${peak}`;
}

/**
 * The layout around the traces, for a chart so wide [px].
 *
 * @param {Places} places
 * @param {{ view: number[], unit: Unit, bound: number | null, width: number }} chart
 */
export function layoutOf(
  { slots, heads, total, hasMemory, below, height, memory },
  { view, unit, bound, width },
) {
  const isNarrow = width < 600;
  // of another problem: the bound is none of its
  const other = heads.find(({ run }) => run.isOther)?.y ?? total;
  const share = hasMemory ? MEMORY / (height - below) : 0;
  const line = (x, y0, y1, tone, dash) => ({
    type: "line",
    x0: x / unit.size,
    x1: x / unit.size,
    y0,
    y1,
    line: { color: colour(tone), width: 1.5, dash },
  });
  const ends = heads.map((head, k) => line(head.run.end, head.y, heads[k + 1]?.y ?? total, "faint", "solid"));
  return {
    dragmode: "pan",
    hovermode: false,
    showlegend: true,
    xaxis: {
      range: view.map((at) => at / unit.size),
      title: { text: `time [${unit.name}]` },
      exponentformat: "none",
      anchor: hasMemory ? "y2" : "y",
      zeroline: false,
    },
    yaxis: {
      range: [total, 0],
      fixedrange: true,
      domain: [share ? share + 0.02 : 0, 1],
      tickmode: "array",
      tickvals: slots.map((slot) => slot.y + 0.47),
      ticktext: slots.map((slot) => short(slot.row.name, isNarrow ? 9 : 24)),
      showgrid: false,
      zeroline: false,
    },
    ...(hasMemory
      ? {
          yaxis2: {
            domain: [0, share - 0.03],
            fixedrange: true,
            title: { text: memory.name },
            exponentformat: "none",
            rangemode: "tozero",
            anchor: "x",
          },
        }
      : {}),
    shapes: [...ends, ...(bound === null ? [] : [line(bound, 0, other, "c3", "dash")])],
    annotations: heads.map(({ run, y }) => ({
      xref: "paper",
      x: 0,
      xanchor: "left",
      yref: "y",
      y: y + 0.55,
      yanchor: "middle",
      showarrow: false,
      align: "left",
      font: { size: 13 },
      text: headingOf(run, isNarrow ? 22 : 60),
    })),
    legend: {
      orientation: "h",
      itemclick: false,
      itemdoubleclick: false,
      xref: "container",
      x: 0,
      yref: "container",
      y: 0,
      yanchor: "bottom",
      font: { size: 12 },
    },
    margin: { l: 8, r: 12, t: 4, b: below },
  };
}
