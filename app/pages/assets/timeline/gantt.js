// Runs above each other on one time axis, drawn on a canvas: zoom and pan by pointer, wheel, keys.

import { el, fill, say } from "../elements/dom.js";
import { time } from "../elements/format.js";
import { csv, fileName, save } from "../elements/save.js";
import { arranged, draw, drawNames } from "./bars.js";
import { frameOf, namesOf, tableOf } from "./frame.js";
import { listen } from "./input.js";
import { onCanvas, onPaper } from "./surface.js";
import { palette } from "./tones.js";

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

/**
 * Draw runs (see runs.js) as tracks.
 *
 * title; bound: proven lower bound [us] or null; view: [from, to] in us or null for all;
 * describe(bar, row, run): what is told of a bar, pairs of name and text; onselect(bar or null, run);
 * onview(from, to or null): after the view has changed.
 * Returns { plot, setRuns(runs), select(test), zoomTo(bar), zoomAll(), find(words), point(found) }, where
 * test says of a bar whether it is selected, and find gives the bars of the first run that have the words.
 *
 * @param {HTMLElement} host
 * @param {GanttOptions} options
 */
export function gantt(
  host,
  { title, runs: first, bound = null, view: asked = null, describe, onselect = () => {}, onview = () => {} },
) {
  let runs = first;
  let places = arranged(runs, host.clientWidth);
  let colours = palette();
  let selected = [];
  let cursor = null;
  let isPending = false;
  let telling = null;
  const overlays = new Set(["idle", "exposed", "critical"]);

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

  const shown = frameOf({
    title,
    hasBound: bound !== null,
    overlays,
    refresh,
    zoom: (factor) => zoom(factor),
    zoomAll: () => zoomAll(),
    files: { PNG: picture, SVG: paper, CSV: rows },
  });
  const { plot, canvas } = shown;
  fill(host, shown.figure);

  /** The same ops in the other runs: what a difference is seen by. */
  function others({ slot, i }) {
    const bar = slot.row.bars[i];
    return places.slots
      .filter((each) => each.run !== slot.run && each.row.isChannel === slot.row.isChannel)
      .map((each) => {
        each.row.homes ??= new Map(each.row.bars.flatMap((one) => one.ops.map((op) => [op, one])));
        return { slot: each, bar: each.row.homes.get(bar.ops[0]) };
      })
      .filter((each) => each.bar);
  }

  function scene() {
    const outlined = cursor
      ? [...selected, { bar: cursor.slot.row.bars[cursor.i], top: cursor.slot.top }]
      : selected;
    const threads = cursor
      ? others(cursor).map(({ slot, bar }) => [
          cursor.slot.row.bars[cursor.i].start,
          cursor.slot.top + 12,
          bar.start,
          slot.top + 12,
        ])
      : [];
    return { view, colours, bound, chosen: outlined, threads, overlays };
  }

  function paint() {
    const sharp = globalThis.devicePixelRatio || 1;
    const [wide, high] = [Math.round(places.width * sharp), Math.round(places.height * sharp)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const context = canvas.getContext("2d", { alpha: true });
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, places.width, places.height);
    draw(onCanvas(context), places, scene());
    plot.dataset.view = view.map((at) => at.toPrecision(9)).join("~");
  }

  function refresh() {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      paint();
    });
  }

  /** Lay everything out anew: other runs, or another width. */
  function arrange() {
    places = arranged(runs, host.clientWidth);
    canvas.style.height = plot.style.height = `${places.height}px`;
    namesOf(shown, places);
    shown.legend(places, bound !== null);
    refresh();
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
    const centre = (bar.start + bar.end) / 2;
    show(centre - span / 2, centre + span / 2);
  }

  /** Bring a bar into view, as close as it is. */
  function reach(bar) {
    const span = view[1] - view[0];
    const centre = (bar.start + bar.end) / 2;
    const isCut = bar.end - bar.start < span && (bar.start < view[0] || bar.end > view[1]);
    if (bar.end < view[0] || bar.start > view[1] || isCut) show(centre - span / 2, centre + span / 2);
    else refresh();
  }

  /** What is told of a bar, and how much earlier or later it begins in the other runs. */
  function words(slot, i) {
    const bar = slot.row.bars[i];
    const apart = others({ slot, i }).map(({ slot: { run }, bar: other }) => {
      const by = other.start - bar.start;
      const how = Math.abs(by) < 1e-6 * end() ? "at the same time" : "";
      return [`in ${run.label ?? run.name}`, how || `${time(Math.abs(by))} ${by > 0 ? "later" : "earlier"}`];
    });
    return [...describe(bar, slot.row, slot.run), ...apart];
  }

  /** Put the cursor on a bar, or on none, and say what it is. */
  function point(found) {
    cursor = found;
    if (!found) return refresh();
    reach(found.slot.row.bars[found.i]);
    const told = words(found.slot, found.i).map(([name, text]) => `${name} ${text}`);
    say(`${found.slot.run.label ?? found.slot.run.name}, ${found.slot.row.name}: ${told.join(", ")}`);
  }

  function choose(slot, i) {
    onselect(slot ? slot.row.bars[i] : null, slot?.run ?? null);
    cursor = slot ? { slot, i } : null;
    refresh();
  }

  /** A PNG as sharp as two pixels each. */
  function picture() {
    const made = el("canvas", { width: 2 * places.width, height: 2 * places.height });
    const context = made.getContext("2d");
    context.scale(2, 2);
    const on = onCanvas(context);
    on.rect(0, 0, places.width, places.height, colours.card);
    draw(on, places, scene());
    drawNames(on, places, colours);
    made.toBlob((blob) => save(fileName(title, "png"), blob));
  }

  function paper() {
    const on = onPaper(places.width, places.height);
    on.rect(0, 0, places.width, places.height, colours.card);
    draw(on, places, scene());
    drawNames(on, places, colours);
    save(fileName(title, "svg"), on.svg(), "image/svg+xml");
  }

  function rows() {
    const { columns, rows } = tableOf(places);
    save(fileName(title, "csv"), csv(columns, rows), "text/csv");
  }

  listen(plot, {
    places: () => places,
    view: () => view,
    cursor: () => cursor,
    words,
    show,
    zoom,
    zoomAll,
    pan,
    point,
    choose,
  });
  addEventListener("themechange", () => {
    colours = palette();
    shown.legend(places, bound !== null);
    refresh();
  });
  let broad = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === broad) return;
    broad = host.clientWidth;
    arrange();
  }).observe(host);
  arrange();
  paint();

  return {
    plot,
    zoomTo,
    zoomAll,
    setRuns(next) {
      const before = end();
      runs = next;
      [selected, cursor] = [[], null];
      if (before !== end()) view = clamp(view[1] >= before ? [view[0], whole()[1]] : view);
      arrange();
    },
    select(test) {
      cursor = null;
      selected = test
        ? places.slots.flatMap(({ row, top }) => row.bars.filter(test).map((bar) => ({ bar, top })))
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
