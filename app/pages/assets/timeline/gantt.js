// Runs above each other on one time axis: zoom and pan in step, by pointer, wheel, keys and buttons.

import { chart } from "../charts/chart.js";
import { el, say } from "../elements/dom.js";
import { complain } from "../service/api.js";
import { arranged, layoutOf, memoryTraces, traces, unitOf } from "./bars.js";
import { listen } from "./input.js";

/** @import { Bar, Row, Run } from "./runs.js" */
/** @import { Slot } from "./bars.js" */

/**
 * @typedef {object} GanttOptions
 * @property {string} title
 * @property {Run[]} runs
 * @property {number | null} [bound]
 * @property {number[] | null} [view]
 * @property {(bar: Bar, row: Row, run: Run) => string[][]} describe
 * @property {(bar: Bar | null, run: Run | null) => void} [onselect]
 * @property {(from: number | null, to: number | null) => void} [onview]
 */

/** What is seen is no shorter than this share of the whole. */
const CLOSEST = 1e-7;

const HINT =
  "Drag to pan; zoom by the buttons, or by the wheel once the chart is clicked, or with Ctrl. " +
  "Keys: arrows go from bar to bar and row to row, plus, minus and 0 zoom, Shift and arrows pan, " +
  "Enter selects.";

/**
 * Draw runs (see runs.js) as a Gantt chart.
 *
 * title; bound: proven lower bound [us] or null; view: [from, to] in us or null for all;
 * describe(bar, row, run): what is told of a bar, pairs of name and text; onselect(bar or null, run);
 * onview(from, to or null): after the view has changed.
 * Returns { setRuns(runs), select(test), zoomTo(bar), zoomAll(), find(words), plot }, where test says of
 * a bar whether it is selected, and find gives the bars of the first run that have the words.
 *
 * @param {HTMLElement} host
 * @param {GanttOptions} options
 */
export async function gantt(
  host,
  { title, runs: first, bound = null, view: asked = null, describe, onselect = () => {}, onview = () => {} },
) {
  let runs = first;
  let places = arranged(runs, host.clientWidth);
  let selected = [];
  let cursor = null;
  let isPending = false;
  let telling = null;
  let drawing = null;

  const end = () => Math.max(...runs.map((run) => run.end), bound ?? 0, 1e-6);
  const whole = () => [-0.01 * end(), 1.02 * end()];
  /** @type {(range: number[]) => number[]} */
  const clamp = ([from, to]) => {
    const [low, high] = whole();
    const span = Math.min(Math.max(to - from, CLOSEST * end()), high - low);
    const start = Math.min(Math.max((from + to - span) / 2, low), high - span);
    return [start, start + span];
  };
  let view = asked ? clamp(asked) : whole();
  const width = () => drawing?.plot._fullLayout?.xaxis?._length || Math.max(200, host.clientWidth - 150);

  function make() {
    const unit = unitOf(end());
    const span = view[1] - view[0];
    // a window to each side, so that a drag shows what comes before it ends
    const window = { from: view[0] - span, to: view[1] + span, pixel: span / width(), size: unit.size };
    const outlined = cursor
      ? [...selected, { bar: cursor.slot.row.bars[cursor.i], y: cursor.slot.y }]
      : selected;
    return {
      traces: [...traces(places, window, outlined, bound), ...memoryTraces(runs, places.memory, window)],
      layout: layoutOf(places, { view, unit, bound, width: host.clientWidth }),
      config: { scrollZoom: false, doubleClick: false },
    };
  }

  function refresh() {
    if (isPending || drawing === null) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      drawing.redraw().catch(complain);
    });
  }

  function show(from, to) {
    view = clamp([from, to]);
    refresh();
    clearTimeout(telling);
    const [low, high] = whole();
    const isAll = view[1] - view[0] > (1 - 1e-6) * (high - low);
    telling = setTimeout(() => (isAll ? onview(null, null) : onview(view[0], view[1])), 250);
  }

  /** The time around which is zoomed: of the cursor, else the middle. */
  function middle() {
    const bar = cursor?.slot.row.bars[cursor.i];
    const at = bar ? (bar.start + bar.end) / 2 : (view[0] + view[1]) / 2;
    return Math.min(Math.max(at, view[0]), view[1]);
  }

  /** Zoom by a factor around a time. */
  function zoom(factor, around = middle()) {
    show(around - (around - view[0]) * factor, around + (view[1] - around) * factor);
  }

  function pan(share) {
    const by = share * (view[1] - view[0]);
    show(view[0] + by, view[1] + by);
  }

  const zoomAll = () => show(...whole());

  /** Make a bar as long as a tenth of what is seen. */
  function zoomTo(bar) {
    const span = Math.max(10 * (bar.end - bar.start), end() / 2000);
    const middle = (bar.start + bar.end) / 2;
    show(middle - span / 2, middle + span / 2);
  }

  /** Bring a bar into view, as close as it is. */
  function reach(bar) {
    const span = view[1] - view[0];
    const middle = (bar.start + bar.end) / 2;
    if (
      bar.end < view[0] ||
      bar.start > view[1] ||
      (bar.end - bar.start < span && (bar.start < view[0] || bar.end > view[1]))
    )
      show(middle - span / 2, middle + span / 2);
    else refresh();
  }

  const words = (slot, i) => describe(slot.row.bars[i], slot.row, slot.run);

  /** Put the cursor on a bar, or on none, and say what it is. */
  function point(found) {
    cursor = found;
    if (!found) return refresh();
    reach(found.slot.row.bars[found.i]);
    say(
      `${found.slot.run.label ?? found.slot.run.name}, ${found.slot.row.name}: ${words(found.slot, found.i)
        .map(([name, text]) => `${name} ${text}`)
        .join(", ")}`,
    );
  }

  function choose(slot, i) {
    onselect(slot ? slot.row.bars[i] : null, slot?.run ?? null);
  }

  const button = (text, label, work) =>
    el("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: work }, text);
  drawing = await chart(host, {
    make,
    title,
    height: places.height,
    description: HINT,
    table: () => ({
      columns: ["run", "row", "op", "kind", "bytes", "start_us", "end_us", "exposed_us"],
      rows: places.slots.flatMap(({ run, row }) =>
        row.bars.map((bar) => [
          run.name,
          row.name,
          bar.ops.join(" "),
          bar.kind,
          bar.bytes,
          bar.start,
          bar.end,
          bar.exposed,
        ]),
      ),
    }),
  });
  const { plot, tools } = drawing;
  tools.prepend(
    button("−", "Zoom out", () => zoom(2)),
    button("+", "Zoom in", () => zoom(0.5)),
    button("All", "Zoom to all", zoomAll),
  );
  listen(plot, {
    places: () => places,
    view: () => view,
    unit: () => unitOf(end()),
    cursor: () => cursor,
    words,
    show,
    zoom,
    zoomAll,
    pan,
    point,
    choose,
  });
  plot.setAttribute("aria-label", `${title}. ${HINT}`);
  let broad = host.clientWidth;
  new ResizeObserver(() => {
    if (host.clientWidth === broad) return;
    broad = host.clientWidth;
    places = arranged(runs, broad);
    plot.style.height = `${places.height}px`;
    refresh();
  }).observe(host);

  return {
    plot,
    zoomTo,
    zoomAll,
    setRuns(others) {
      const before = end();
      runs = others;
      places = arranged(runs, host.clientWidth);
      [selected, cursor] = [[], null];
      if (before !== end()) view = clamp(view[1] >= before ? [view[0], whole()[1]] : view);
      plot.style.height = `${places.height}px`;
      refresh();
    },
    select(test) {
      cursor = null;
      selected = test
        ? places.slots.flatMap(({ row, y }) => row.bars.filter(test).map((bar) => ({ bar, y })))
        : [];
      refresh();
    },
    find(text) {
      const wanted = text.toLowerCase();
      const found = [];
      for (const slot of places.slots) {
        if (slot.run !== runs[0]) continue;
        slot.row.bars.forEach((bar, i) => {
          if (bar.ops.some((op) => op.toLowerCase().includes(wanted))) found.push({ slot, i, bar });
        });
      }
      return found.sort((a, b) => a.bar.start - b.bar.start);
    },
    point,
  };
}
