// What a reader does on a Gantt chart, by pointer, wheel and keys, and what a bar tells of itself.

import { el, fill } from "../elements/dom.js";

/** A bar is hit so many pixels beside it, too: many are narrower than one. */
const SLACK = 3;

/**
 * Listen on plotly's element of a chart; `act` is what gantt.js can do.
 *
 * @param {any} plot
 * @param {Record<string, (...given: any[]) => any>} act
 */
export function listen(plot, act) {
  const tip = el("div", { class: "tip", hidden: true });
  plot.style.position = "relative";
  plot.append(tip);
  plot.setAttribute("tabindex", "0");
  plot.setAttribute("role", "application");

  const axis = () => plot._fullLayout.xaxis;

  /** The time [us] and the row below a pointer; the row is null beside the rows. */
  function at(event) {
    const box = plot.getBoundingClientRect();
    const x = event.clientX - box.left - axis()._offset;
    const y = event.clientY - box.top - plot._fullLayout.yaxis._offset;
    const level = Math.floor(plot._fullLayout.yaxis.p2d(y));
    const isInside = x >= 0 && x <= axis()._length && y >= 0 && y <= plot._fullLayout.yaxis._length;
    const slot = isInside ? (act.places().slots.find((each) => each.y === level) ?? null) : null;
    return {
      time: axis().p2d(x) * act.unit().size,
      slot,
      x: event.clientX - box.left,
      y: event.clientY - box.top,
    };
  }

  const pixel = () => (act.view()[1] - act.view()[0]) / axis()._length;

  /** The bar below a pointer: { slot, i }, or null. */
  function below({ time, slot }) {
    const i = slot ? slot.row.spans.at(time, SLACK * pixel()) : -1;
    return i < 0 ? null : { slot, i };
  }

  function tell(found, x, y) {
    if (!found) {
      tip.hidden = true;
      return;
    }
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
    tip.hidden = false;
    const room = plot.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(0, Math.min(x + 14, room))}px`;
    const isLow = y + 18 + tip.offsetHeight > plot.clientHeight;
    tip.style.top = `${isLow ? Math.max(0, y - tip.offsetHeight - 12) : y + 18}px`;
  }

  /** Tell of the bar that keys have come to, beside it. */
  function tellCursor() {
    const cursor = act.cursor();
    if (!cursor) return tell(null);
    const bar = cursor.slot.row.bars[cursor.i];
    const middle = (Math.max(bar.start, act.view()[0]) + Math.min(bar.end, act.view()[1])) / 2;
    tell(
      cursor,
      axis()._offset + (middle - act.view()[0]) / pixel(),
      plot._fullLayout.yaxis._offset + plot._fullLayout.yaxis.d2p(cursor.slot.y + 0.9),
    );
  }

  let pressed = null;
  plot.addEventListener("pointermove", (event) => {
    if (pressed) return tell(null);
    const where = at(event);
    tell(below(where), where.x, where.y);
  });
  plot.addEventListener("pointerleave", () => tell(null));
  plot.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      pressed = { x: event.clientX, y: event.clientY };
      plot.focus({ preventScroll: true });
    },
    { capture: true },
  );
  addEventListener(
    "pointerup",
    (event) => {
      // anywhere: plotly covers the page while something is dragged
      if (!pressed) return;
      const isClick = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 4;
      pressed = null;
      if (!isClick) return;
      const where = at(event);
      const found = below(where);
      if (found) act.choose(found.slot, found.i);
      else if (where.slot) act.choose(null);
      tell(found, where.x, where.y);
    },
    { capture: true },
  );
  plot.addEventListener("dblclick", () => act.zoomAll());
  plot.on("plotly_relayout", (change) => {
    const from = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
    const to = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
    if (from !== undefined && to !== undefined) act.show(from * act.unit().size, to * act.unit().size);
  });
  plot.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== plot) return; // the page scrolls
      event.preventDefault();
      tell(null);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) act.pan(event.deltaX / axis()._length);
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

  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const isArrow = /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key);
    if (isArrow && event.shiftKey) {
      if (key === "ArrowLeft") act.pan(-0.2);
      else if (key === "ArrowRight") act.pan(0.2);
      else return;
    } else if (isArrow) act.point(step(key));
    else if (key === "+" || key === "=") act.zoom(0.5);
    else if (key === "-" || key === "_") act.zoom(2);
    else if (key === "0") act.zoomAll();
    else if ((key === "Enter" || key === " ") && act.cursor()) act.choose(act.cursor().slot, act.cursor().i);
    else if (key === "Escape") {
      act.point(null);
      act.choose(null);
    } else return;
    event.preventDefault();
    if (isArrow && !event.shiftKey) requestAnimationFrame(() => requestAnimationFrame(tellCursor));
    else tell(null);
  });
}
