// The page that puts two answers side by side: figures, buckets, and timelines on one axis; of sweeps a map.

import { byId, el, fill } from "../elements/dom.js";
import { labelled } from "../elements/form.js";
import { bytes, count, memory, number, percent, time } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { term } from "../elements/term.js";
import { complain, get, Problem } from "../service/api.js";
import { label, stateOf } from "../service/names.js";
import { pageButton } from "../service/one-file.js";
import { saved } from "../service/saved.js";
import { drawDifference, listDifferences } from "../sweep/difference.js";
import { gantt } from "../timeline/gantt.js";
import { markCritical, runsOf } from "../timeline/runs.js";
import { toneOf, wordsOf } from "../timeline/tones.js";

const KINDS = ["plans", "simulations", "sweeps"];
const SIDES = ["a", "b"];

/** @import { AnswerComparison, SweepComparison } from "interlace-api" */

/** How figures of a unit are shown. */
const SHOWN = {
  ms: (value) => time(value * 1e3),
  "%": (value) => percent(value / 100, 2),
  GiB: (value) => memory(value * 2 ** 30),
  "": (value) => number(value, 12),
};

/** The terms of figures that are no term themselves. */
const TERMS = { buckets: "bucket", launches: "launch" };

/** What a figure of the second answer is more, with its sign; nothing where one is not known. */
function apart({ first, second, unit }) {
  if (first === null || second === null) return "";
  if (Math.abs(second - first) <= 1e-9 * Math.max(Math.abs(first), Math.abs(second))) return "the same";
  return `${second > first ? "+" : "−"}${SHOWN[unit](Math.abs(second - first))}`;
}

/** The path of an answer that a reader named: a page's address, kind and id, or an id alone. */
async function placeOf(text) {
  const found = text.trim().match(/(plans|simulations|sweeps)\/([\w-]+)/);
  if (found) return `${found[1]}/${found[2]}`;
  const id = text.trim();
  if (!/^[\w-]+$/.test(id))
    throw new Problem(404, { detail: `"${text}" names no plan, no simulation and no sweep.` });
  for (const kind of ["plans", "sweeps"]) {
    try {
      await get(`/v1/${kind}/${id}`);
      return `${kind}/${id}`;
    } catch {
      // of another kind
    }
  }
  return `simulations/${id}`;
}

const isSweep = (place) => place.startsWith("sweeps/");

/** An answer with its run, ready to be drawn. */
async function answerAt(place) {
  const body = await get(`/v1/${place}`);
  if (body.iteration_time_us === null)
    throw new Problem(409, { detail: `${place} has no answer: its job is ${stateOf(body.state)}.` });
  const trace = await get(`/v1/${place}/timeline.json`);
  const [run] = runsOf(trace);
  markCritical(run, body.critical_path);
  const what = place.startsWith("plans")
    ? "plan"
    : body.policy
      ? label(body.policy.policy)
      : "plan, simulated";
  return { place, body, trace, run, name: `${what} of ${trace.otherData.graph || body.id}` };
}

/** What was answered lately, to choose from. */
async function lately() {
  const found = await Promise.all(
    KINDS.map(async (kind) =>
      (await get(`/v1/${kind}?limit=20`))[kind]
        .filter((each) => each.iteration_time_us !== null && (kind !== "sweeps" || each.cells))
        .map((each) => [
          `${kind}/${each.id}`,
          (kind === "sweeps"
            ? [each.name, "sweep", count(each.cells, "cell")]
            : [each.name, each.policy ? label(each.policy) : "plan", time(each.iteration_time_us)]
          ).join(", "),
        ]),
    ),
  );
  return found.flat();
}

/**
 * @param {Element} host
 * @param {AnswerComparison} comparison
 */
function showFigures(host, a, b, comparison) {
  const head = (side, { place, name }) =>
    el(
      "th",
      { scope: "col", class: "number" },
      `${side}: `,
      saved === undefined ? el("a", { href: `/${place}` }, name) : name,
    );
  fill(
    host,
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures" },
      el(
        "table",
        {},
        el("caption", {}, "Figures"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td", {}),
            head("A", a),
            head("B", b),
            el("th", { scope: "col", class: "number" }, "B less A"),
          ),
        ),
        el(
          "tbody",
          {},
          comparison.figures.map((row) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, term(TERMS[row.name] ?? row.name, row.name)),
              [row.first, row.second]
                .map((value) => (value === null ? "" : SHOWN[row.unit](value)))
                .concat(apart(row))
                .map((cell) => el("td", { class: "number" }, cell)),
            ),
          ),
        ),
      ),
    ),
  );
}

function showBuckets(host, rows) {
  const holder = { first: "only A", second: "only B", both: "both" };
  const later = (row) => (row.held_by === "both" ? row.second_start_us - row.first_start_us : null);
  const moment = (name, of) => ({ name, of, show: (row) => time(of(row)) });
  const words = (tensors) =>
    tensors.length > 2
      ? `${tensors.slice(0, 2).join(", ")} and ${tensors.length - 2} more`
      : tensors.join(", ");
  table(
    host,
    [
      { name: "in", of: (row) => holder[row.held_by], show: (row) => holder[row.held_by], isText: true },
      {
        name: "tensors",
        of: (row) => row.tensors.join(" "),
        show: (row) => words(row.tensors),
        isText: true,
      },
      { name: "bytes", of: (row) => row.bytes, show: (row) => bytes(row.bytes) },
      moment("start in A", (row) => row.first_start_us),
      moment("start in B", (row) => row.second_start_us),
      ...(rows.some((row) => row.held_by === "both")
        ? [
            {
              name: "in B",
              of: later,
              show: (row) => {
                const by = later(row);
                return by === null ? "" : `${time(Math.abs(by))} ${by > 0 ? "later" : "earlier"}`;
              },
            },
          ]
        : []),
    ],
    rows,
    {
      caption: "Buckets that changed",
      filter: (row) => `${holder[row.held_by]} ${row.tensors.join(" ")}`,
      empty: "All buckets are the same, and sent at the same times.",
    },
  );
}

function showTimelines(host, a, b) {
  const both = [a, b].map(({ run, name }, i) => Object.assign(run, { label: `${"AB"[i]}: ${name}` }));
  const { t } = read({ t: "" });
  const [from, to] = t.split("~").map(Number);
  const drawn = el("div");
  fill(host, el("h2", {}, "Timelines on one axis"), drawn);
  gantt(drawn, {
    title: "Timelines on one axis",
    runs: both,
    view: from < to ? [from, to] : null,
    describe: (bar) => [
      ["op", bar.ops.slice(0, 3).join(", ") + (bar.ops.length > 3 ? ` and ${bar.ops.length - 3} more` : "")],
      ["kind", wordsOf(toneOf(bar))],
      ["start", time(bar.start)],
      ["takes", time(bar.end - bar.start)],
    ],
    onview: (low, high) =>
      write({ t: low === null ? null : `${+low.toPrecision(7)}~${+high.toPrecision(7)}` }),
  });
}

/** Put two sweeps side by side: what changed in words, as a map, and cell by cell. */
async function compareSweeps(host, first, second) {
  write({ a: first, b: second });
  const ids = [first, second].map((place) => place.split("/")[1]);
  const path = `/v1/comparisons/sweeps?first=${ids[0]}&second=${ids[1]}`;
  const comparison = /** @type {SweepComparison} */ (await get(path));
  const [shown, drawn, listed] = ["figures", "map", "cells"].map((id) =>
    el("section", { class: "card", id, "aria-label": id }),
  );
  document.title = "Two sweeps – Interlace";
  const link = (side, place) =>
    saved === undefined ? el("a", { href: `/${place}` }, `${side}: ${place}`) : `${side}: ${place}`;
  fill(host, shown, drawn, listed);
  fill(
    shown,
    el("p", { class: "lead summary" }, comparison.sentence),
    comparison.notes.map((note) => el("p", {}, note)),
    el("p", { class: "row faint" }, link("A", first), link("B", second)),
    pageButton("compare", "", () => ({ "/v1/comparisons/sweeps": comparison })),
  );
  listDifferences(listed, comparison);
  await drawDifference(drawn, comparison);
}

async function main() {
  const content = byId("content");
  const given = read({ a: "", b: "" });
  const known = el("datalist", { id: "answers" });
  const inputs = SIDES.map((side) =>
    el("input", { name: side, list: "answers", value: given[side], required: true, autocomplete: "off" }),
  );
  const form = el(
    "form",
    { class: "card", "aria-label": "What is compared" },
    el(
      "div",
      { class: "fields pair" },
      SIDES.map(
        (side, i) => labelled(`${side.toUpperCase()}: a plan, a simulation or a sweep`, inputs[i]).field,
      ),
    ),
    known,
    el("p", { class: "faint" }, "Choose one of the latest, or paste an id or the address of a page."),
    el(
      "p",
      { class: "row" },
      el("button", { type: "submit", class: "main" }, "Compare"),
      el("button", { type: "button", onclick: swap }, "Swap"),
    ),
  );
  const results = el("div", { id: "results" });
  fill(content, form, results);

  function swap() {
    [inputs[0].value, inputs[1].value] = [inputs[1].value, inputs[0].value];
    compare();
  }

  async function compare() {
    if (!form.reportValidity()) return;
    write({ a: inputs[0].value, b: inputs[1].value });
    fill(results, el("p", { class: "faint" }, "Both are being fetched."));
    try {
      const places = await Promise.all(inputs.map((input) => placeOf(input.value)));
      if (places.every(isSweep)) return await compareSweeps(results, places[0], places[1]);
      if (places.some(isSweep))
        throw new Problem(422, { detail: "A sweep is compared with a sweep, a plan with a plan." });
      const [a, b] = await Promise.all(places.map(answerAt));
      const comparison = await get(`/v1/comparisons?first=${a.place}&second=${b.place}`);
      const [shown, drawn, differing] = ["figures", "timeline", "buckets"].map((id) =>
        el("section", { class: "card", id, "aria-label": id }),
      );
      document.title = `${a.name} beside ${b.name} – Interlace`;
      const said = el("p", { class: "lead summary" }, comparison.sentence);
      const all = el("div");
      fill(results, shown, drawn, differing);
      showFigures(all, a, b, comparison);
      fill(
        shown,
        said,
        comparison.notes.map((note) => el("p", {}, note)),
        all,
        pageButton("compare", "", () => ({
          "/v1/comparisons": comparison,
          ...Object.fromEntries([a, b].map(({ place, body }) => [`/v1/${place}`, body])),
          ...Object.fromEntries([a, b].map(({ place, trace }) => [`/v1/${place}/timeline.json`, trace])),
        })),
      );
      showTimelines(drawn, a, b);
      showBuckets(differing, comparison.changed);
    } catch (error) {
      fill(results);
      complain(error);
    }
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    compare();
  });
  form.hidden = saved !== undefined; // it needs a service
  if (given.a && given.b) await compare();
  if (form.hidden) return;
  const found = await lately();
  fill(
    known,
    found.map(([value, text]) => el("option", { value }, text)),
  );
  found.slice(0, 2).forEach(([value], i) => {
    if (!given.a && !given.b) inputs[i].value = value;
  });
}

main().catch(complain);
