// What a reader does on a timeline, by pointer, wheel and keys, and what a bar tells of itself.

import { el, fill } from "../elements/dom.js";
import { time } from "../elements/format.js";

/** A bar is hit so many pixels beside it, too: many are narrower than one. */
const SLACK = 3;
/** Pixels of a row. */
const ROW = 26;

/**
 * Listen on a timeline's element; `act` is what gantt.js can do.
 *
 * @param {HTMLElement} plot
 * @param {Record<string, (...given: any[]) => any>} act
 */
export function listen(plot, act) {
  const tip = el("div", { class: "tip", hidden: true });
  const hair = el("div", { class: "hair", hidden: true }, el("span", {}));
  plot.append(hair, tip);

  const room = () => act.places().width - act.places().gutter - 8;
  const pixel = () => (act.view()[1] - act.view()[0]) / room();

  /** The time [us] and the row below a pointer; the row is null beside the rows. */
  function at(event) {
    const box = plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const isInside = x >= act.places().gutter && x <= act.places().width - 8;
    const slot = isInside ? (act.places().slots.find(({ top }) => y >= top && y < top + ROW) ?? null) : null;
    return { time: act.view()[0] + (x - act.places().gutter) * pixel(), slot, isInside, x, y };
  }

  /** The bar below a pointer: { slot, i }, or null. */
  function below({ time, slot }) {
    const i = slot ? slot.row.spans.at(time, SLACK * pixel()) : -1;
    return i < 0 ? null : { slot, i };
  }

  function tell(found, x, y) {
    tip.hidden = !found;
    if (!found) return;
    fill(
      tip,
      act
        .words(found.slot, found.i)
        .map(([name, text], k) =>
          el(
            "div",
            {},
            k ? el("span", { class: "faint" }, `${name} `) : null,
            k ? text : el("strong", {}, text),
          ),
        ),
    );
    const most = plot.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(0, Math.min(x + 14, most))}px`;
    tip.style.top = `${y + 20}px`;
  }

  /** Draw the shared cursor through all tracks, with its time; null: none. */
  function follow(where) {
    hair.hidden = !where?.isInside;
    if (hair.hidden) return;
    hair.style.left = `${where.x}px`;
    hair.firstElementChild.textContent = time(where.time);
  }

  /** Tell of the bar that keys have come to, beside it. */
  function tellCursor() {
    const cursor = act.cursor();
    if (!cursor) return tell(null);
    const bar = cursor.slot.row.bars[cursor.i];
    const middle = (Math.max(bar.start, act.view()[0]) + Math.min(bar.end, act.view()[1])) / 2;
    tell(cursor, act.places().gutter + (middle - act.view()[0]) / pixel(), cursor.slot.top + 8);
  }

  let pressed = null;
  let around; // the time that keys zoom around: where the pointer is
  plot.addEventListener("pointermove", (event) => {
    const where = at(event);
    around = where.isInside ? where.time : undefined;
    if (pressed) {
      tell(null);
      const by = (pressed.x - event.clientX) * pixel();
      act.show(pressed.view[0] + by, pressed.view[1] + by);
      return;
    }
    follow(where);
    tell(below(where), where.x, where.y);
  });
  plot.addEventListener("pointerleave", () => {
    around = undefined;
    follow(null);
    tell(null);
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || /** @type {Element} */ (event.target).closest(".track-name, .track-head"))
      return;
    pressed = { x: event.clientX, y: event.clientY, view: [...act.view()] };
    plot.setPointerCapture(event.pointerId);
    plot.focus({ preventScroll: true });
  });
  plot.addEventListener("pointerup", (event) => {
    if (!pressed) return;
    const isClick = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 4;
    pressed = null;
    if (!isClick) return;
    const where = at(event);
    const found = below(where);
    if (found) act.choose(found.slot, found.i);
    else if (where.slot) act.choose(null);
    tell(found, where.x, where.y);
  });
  plot.addEventListener("pointercancel", () => {
    pressed = null;
  });
  plot.addEventListener("dblclick", () => act.zoomAll());
  plot.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== plot) return; // the page scrolls
      event.preventDefault();
      tell(null);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) act.pan(event.deltaX / room());
      else act.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 250))), at(event).time);
    },
    { passive: false },
  );

  /** The bar of a row that is nearest to a time. */
  const nearest = (slot, time) => ({ slot, i: slot.row.spans.at(time, Infinity) });

  function step(key) {
    const { slots } = act.places();
    const cursor = act.cursor();
    if (!cursor) return nearest(slots[0], act.view()[0]);
    const { slot, i } = cursor;
    const { bars } = slot.row;
    if (key === "ArrowRight") return { slot, i: Math.min(i + 1, bars.length - 1) };
    if (key === "ArrowLeft") return { slot, i: Math.max(i - 1, 0) };
    if (key === "Home") return { slot, i: 0 };
    if (key === "End") return { slot, i: bars.length - 1 };
    const next = slots[slots.indexOf(slot) + (key === "ArrowDown" ? 1 : -1)];
    return next ? nearest(next, (bars[i].start + bars[i].end) / 2) : cursor;
  }

  /** What a key does that moves the view; undefined for all others. */
  const moves = {
    w: () => act.zoom(1 / 1.5, around),
    s: () => act.zoom(1.5, around),
    a: () => act.pan(-0.15),
    d: () => act.pan(0.15),
    "+": () => act.zoom(0.5),
    "=": () => act.zoom(0.5),
    "-": () => act.zoom(2),
    _: () => act.zoom(2),
    0: () => act.zoomAll(),
  };

  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const isArrow = /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key);
    if (isArrow && event.shiftKey) {
      if (key === "ArrowLeft") act.pan(-0.2);
      else if (key === "ArrowRight") act.pan(0.2);
      else return;
    } else if (isArrow) act.point(step(key));
    else if (moves[key.toLowerCase()]) moves[key.toLowerCase()]();
    else if ((key === "Enter" || key === " ") && act.cursor()) act.choose(act.cursor().slot, act.cursor().i);
    else if (key === "Escape") {
      act.point(null);
      act.choose(null);
    } else return;
    event.preventDefault();
    if (isArrow && !event.shiftKey) requestAnimationFrame(tellCursor);
    else tell(null);
  });
}
