// All jobs of a mix over time, under two rules: when each iteration begins, and when it sends.

import { drawn, el, fill, svg } from "../elements/dom.js";
import { count, percent, time } from "../elements/format.js";
import { unitOf } from "../timeline/bars.js";
import { fitting } from "../timeline/surface.js";

/** @import { RuledMixOut } from "interlace-api" */

/** Pixels of a job, of a rule's heading, of the axis. */
const [ROW, HEAD, AXIS] = [24, 28, 22];
/** Below this share of its speed alone a job is slowed down. */
const SLOWED = 1 - 1e-6;

/** Round times for marks of the axis, about so many. */
function marks(end, most) {
  const rough = end / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/** How long a job sends, and for how much of that beside others. */
function said({ job, begins_us, sends }) {
  const length = (spans) => spans.reduce((sum, { begin_us, end_us }) => sum + end_us - begin_us, 0);
  const all = length(sends);
  const slow = length(sends.filter(({ speed }) => speed < SLOWED));
  const begun = `${count(begins_us.length, "iteration")} begun`;
  return `${job}: ${begun}, sends for ${time(all)}, slowed down for ${time(slow)} of it`;
}

function drawing(beside, width) {
  const gutter = width < 600 ? 76 : 140;
  const end = Math.max(...beside.map(({ run }) => run.told_us));
  const x = (at) => gutter + (at / end) * (width - gutter - 8);
  const parts = [];
  const unit = unitOf(end);
  let y = AXIS;
  for (const { name, run } of beside) {
    parts.push(svg("text", { class: "head", x: 2, y: y + HEAD / 2 }, fitting(name, width - 4, 13)));
    y += HEAD;
    const top = y;
    for (const { job, begins_us, sends } of run.timeline) {
      parts.push(svg("text", { class: "name", x: 2, y: y + ROW / 2 }, fitting(job, gutter - 8, 12)));
      parts.push(
        svg("rect", {
          class: "ground",
          x: gutter,
          y: y + 4,
          width: x(run.told_us) - gutter,
          height: ROW - 8,
        }),
      );
      for (const { begin_us, end_us, speed } of sends) {
        const isSlow = speed < SLOWED;
        const wide = Math.max(1, x(end_us) - x(begin_us));
        const word = fitting(isSlow ? percent(speed, 0) : "sends", wide - 6);
        parts.push(
          svg(
            "g",
            {},
            svg(
              "title",
              {},
              `${job} sends from ${time(begin_us)} to ${time(end_us)} ` +
                `at ${percent(speed, 0)} of its speed alone`,
            ),
            svg("rect", {
              class: isSlow ? "slowed" : "sends",
              x: x(begin_us),
              y: y + 4,
              width: wide,
              height: ROW - 8,
            }),
            word
              ? svg(
                  "text",
                  { class: isSlow ? "on slowed" : "on sends", x: x(begin_us) + 4, y: y + ROW / 2 },
                  word,
                )
              : null,
          ),
        );
      }
      for (const at of begins_us)
        parts.push(svg("line", { class: "begins", x1: x(at), x2: x(at), y1: y + 1, y2: y + ROW - 1 }));
      y += ROW;
    }
    parts.push(svg("line", { class: "end", x1: x(run.told_us), x2: x(run.told_us), y1: top, y2: y }));
    y += 6;
  }
  const axis = marks(end, width < 600 ? 4 : 8).map((at) => [
    svg("line", { class: "grid", x1: x(at), x2: x(at), y1: AXIS - 4, y2: y }),
    x(at) + 46 < width || at === 0
      ? svg(
          "text",
          { class: "mark", x: x(at) + 3, y: AXIS / 2 },
          `${+(at / unit.size).toPrecision(6)} ${unit.name}`,
        )
      : null,
  ]);
  return svg(
    "svg",
    {
      class: "mix-timeline",
      width,
      height: y + 4,
      viewBox: `0 0 ${width} ${y + 4}`,
      role: "img",
      "aria-label": beside.map(({ name, run }) => `${name}. ${run.timeline.map(said).join("; ")}`).join(". "),
    },
    axis,
    parts,
  );
}

/**
 * Draw it.
 *
 * @param {HTMLElement} host
 * @param {{ name: string, run: RuledMixOut }[]} beside
 */
export function drawTimeline(host, beside) {
  const place = el("div", { class: "drawn" });
  const patch = (kind, words) => el("li", {}, el("span", { class: `patch ${kind}` }), words);
  fill(
    host,
    el("h2", {}, "All jobs over time"),
    el("p", {}, "From the start of a pattern; at most six iterations of the longest job."),
    place,
    el(
      "ul",
      { class: "legend" },
      patch("sends", "sends as fast as alone"),
      patch("slowed", "sends slowed down, with its share of the speed alone"),
      patch("begins", "an iteration begins"),
      patch("ground", "computes, or waits for its turn"),
    ),
    el(
      "details",
      {},
      el("summary", {}, "The jobs in words"),
      beside.map(({ name, run }) => [
        el("h3", {}, name),
        el(
          "ul",
          {},
          run.timeline.map((own) => el("li", {}, said(own))),
        ),
      ]),
    ),
  );
  drawn(place, (width) => drawing(beside, width));
}
