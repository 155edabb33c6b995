// What stands around a timeline's canvas as text: names of tracks, legend, overlays, the tracks in words.

import { el, fill } from "../elements/dom.js";
import { count, percent, time } from "../elements/format.js";
import { complain } from "../service/api.js";
import { headingOf } from "./bars.js";
import { MARKS, TONES, wordsOf } from "./tones.js";

/** @import { Places } from "./bars.js" */

const HINT =
  "Keys: w and s zoom, a and d pan, arrows go from bar to bar and row to row, 0 shows all, Enter selects. " +
  "Drag to pan; the wheel zooms once the chart is clicked, or with Ctrl.";

/**
 * The elements of a timeline.
 *
 * @param {{ title: string, hasBound: boolean, overlays: Set<string>, refresh: () => void,
 *   zoom: (factor: number) => void, zoomAll: () => void, files: Record<string, () => void> }} options
 */
export function frameOf({ title, overlays, refresh, zoom, zoomAll, files }) {
  const button = (text, label, work) =>
    el("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: work }, text);
  const overlay = (name) =>
    el(
      "label",
      { class: "overlay" },
      el("input", {
        type: "checkbox",
        checked: overlays.has(name),
        onchange: (event) => {
          if (event.target.checked) overlays.add(name);
          else overlays.delete(name);
          refresh();
        },
      }),
      el("span", { class: "swatch", style: `--tone: var(--${MARKS[name][1]})` }),
      MARKS[name][0],
    );
  const canvas = el("canvas", { "aria-hidden": "true" });
  const names = el("div", { class: "track-names" });
  const plot = el(
    "div",
    { class: "plot timeline-plot", tabindex: 0, role: "application", "aria-label": `${title}. ${HINT}` },
    canvas,
    names,
  );
  const key = el("ul", { class: "legend" });
  const words = el("div");
  const figure = el(
    "figure",
    { class: "chart", role: "group", "aria-label": title },
    el(
      "figcaption",
      {},
      el("span", { class: "row overlays" }, Object.keys(MARKS).map(overlay)),
      el(
        "div",
        { class: "row tools" },
        button("−", "Zoom out", () => zoom(2)),
        button("+", "Zoom in", () => zoom(0.5)),
        button("All", "Zoom to all", zoomAll),
        Object.entries(files).map(([name, work]) =>
          button(name, `${title} as ${name}`, () => Promise.resolve(work()).catch(complain)),
        ),
      ),
    ),
    plot,
    key,
    el("p", { class: "faint hint" }, HINT),
    el("details", { class: "in-words" }, el("summary", {}, "The tracks in words"), words),
  );

  /** Say what the colours mean that there are. */
  function legend(places, hasBound) {
    const known = Object.keys(TONES);
    const there = [...places.tones].sort((a, b) => known.indexOf(a) - known.indexOf(b));
    const item = (text, tone, kind = "") =>
      el("li", {}, el("span", { class: `swatch ${kind}`, style: `--tone: var(--${tone})` }), text);
    fill(
      key,
      there.map((tone) => item(wordsOf(tone), TONES[tone]?.[1] ?? "c2")),
      hasBound ? item("lower bound", "c3", "line") : null,
      item("end of the iteration", "text", "line"),
    );
    fill(words, inWords(places));
  }

  return { figure, plot, canvas, names, legend };
}

/** Put the names of runs and tracks beside what is drawn, as text that can be copied. */
export function namesOf({ names }, places) {
  const at = (top, name, more = "") => ({ style: `top:${top}px;${more}`, class: name });
  fill(
    names,
    places.heads.map(({ run, top }) => {
      const [name, said] = headingOf(run);
      return el("div", at(top, "track-head"), el("strong", {}, name), " ", said);
    }),
    places.slots.map(({ row, top }) =>
      el("div", { ...at(top, "track-name", `width:${places.gutter - 8}px`), title: row.name }, row.name),
    ),
    places.memories.map(({ top }) => el("div", at(top, "track-name"), "memory")),
  );
}

/** The tracks as a table, for who does not see them. */
function inWords(places) {
  const sum = (bars) => bars.reduce((total, bar) => total + bar.end - bar.start, 0);
  const bare = (bars) => bars.reduce((total, bar) => total + (bar.exposed ?? 0), 0);
  const row = ({ run, row: { name, bars, isChannel } }) =>
    el(
      "tr",
      {},
      [
        run.label ?? run.name,
        name,
        count(bars.length, "slice"),
        `${time(sum(bars))} (${percent(run.end ? sum(bars) / run.end : 0)})`,
        isChannel ? time(bare(bars)) : "",
        bars.length ? `${bars[0].name} at ${time(bars[0].start)}` : "",
        bars.length ? `${bars.at(-1).name} to ${time(bars.at(-1).end)}` : "",
      ].map((cell) => el("td", {}, cell)),
    );
  const head = ["run", "track", "slices", "busy", "exposed", "first", "last"];
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Tracks in words" },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el("tbody", {}, places.slots.map(row)),
    ),
  );
}

/**
 * All bars as rows of a CSV.
 *
 * @param {Places} places
 */
export function tableOf(places) {
  return {
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
  };
}
