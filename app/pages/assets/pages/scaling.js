// How an iteration scales with the workers: predicted for what the address says, and drawn.

import { chart } from "../charts/chart.js";
import { curves, heightOf, rowsOf } from "../charts/curves.js";
import { drawnOf, FIGURES, linesOf } from "../charts/scaling-lines.js";
import { boxes, choice, joined, parted } from "../elements/controls.js";
import { byId, el, fill, say } from "../elements/dom.js";
import { restsOn } from "../elements/evidence.js";
import { number, percent, time } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { bodiesOf, showForm, sourceOf } from "../forms/scaling.js";
import { complain, post } from "../service/api.js";

/** @import { PredictionAnswer } from "interlace-api" */

const PLAIN = {
  example: "",
  graph_id: "",
  plan: "",
  workers: "2, 4, 8, 16, 32, 64",
  bandwidths: "",
  startup: "",
  cost_model: "",
  extrapolate: "",
  y: "factor",
  off: "",
  at: "",
};
const state = read(PLAIN);
if (!Object.hasOwn(FIGURES, state.y)) state.y = PLAIN.y;

let answers = []; // [{ gbps, answer }], one a bandwidth
let drawing = null;
let left = new AbortController();

const keep = (changes) => {
  Object.assign(state, changes);
  write(
    Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [
        name,
        name === "workers" || value !== PLAIN[name] ? value : "",
      ]),
    ),
  );
};

const nameOf = ({ gbps }) => (gbps === null ? "the bandwidth of the cost model" : `${number(gbps)} Gbit/s`);
const current = () => answers.find(({ gbps }) => String(gbps) === state.at) ?? answers[0];

try {
  await showForm(byId("form"), state, (given) => {
    keep({ ...given, at: "" });
    run();
  });
  if (state.example || state.graph_id || state.plan) run();
} catch (error) {
  complain(error);
}

/** Predict what the state says, a bandwidth after the other. */
async function run() {
  left.abort();
  left = new AbortController();
  const { signal } = left;
  const work = byId("work");
  byId("problems").replaceChildren();
  try {
    const bar = el("progress", { "aria-label": "How far it is" });
    fill(
      work,
      el(
        "section",
        { class: "card job" },
        el("p", {}, "Simulates the policies and plans each count of workers …"),
        bar,
        el(
          "p",
          {},
          el(
            "button",
            {
              type: "button",
              onclick: () => {
                left.abort();
                fill(work);
              },
            },
            "Stop",
          ),
        ),
      ),
    );
    say("Predicting.");
    const bodies = bodiesOf(await sourceOf(state, signal), state);
    const found = [];
    for (const body of bodies) {
      bar.max = bodies.length;
      bar.value = found.length;
      /** @type {{ body: PredictionAnswer }} */
      const { body: answer } = await post("/v1/predictions/scaling", body, { signal });
      found.push({ gbps: answer.request.cluster.bandwidth_gbps, answer });
    }
    answers = found;
    fill(work);
    await show();
    say("The prediction is there.");
  } catch (error) {
    if (signal.aborted) return;
    fill(work);
    byId("content").hidden = true;
    complain(error);
  }
}

/** Show the answers, in the place of earlier ones. */
async function show() {
  const off = new Set(parted(state.off));
  const redraw = () => drawing?.then((drawn) => drawn.redraw()).catch(complain);
  byId("content").hidden = false;
  tell();
  fill(
    byId("controls"),
    el(
      "div",
      { class: "fields" },
      choice(
        "Draw",
        Object.entries(FIGURES).map(([key, { name }]) => [key, name]),
        state.y,
        (y) => {
          keep({ y });
          redraw();
        },
      ).field,
      answers.length > 1
        ? choice(
            "Bandwidth",
            answers.map((one) => [String(one.gbps), nameOf(one)]),
            String(current().gbps),
            (at) => {
              keep({ at });
              tell();
              redraw();
            },
          ).field
        : null,
    ),
    boxes(
      "Lines",
      linesOf(current().answer).map(({ name }) => name),
      off,
      (names) => {
        keep({ off: joined(names) });
        redraw();
      },
    ),
    el("p", { class: "row" }, el("button", { type: "button", onclick: copy }, "Copy the link to this")),
  );
  const data = () => drawnOf(current().answer, state.y, new Set(parted(state.off)));
  drawing ??= chart(byId("curves"), {
    title: "Scaling by workers",
    description:
      "A line for each policy, the bound dashed, the ideal dotted; the table below has the same figures.",
    height: heightOf(byId("curves"), 460, linesOf(current().answer).length + 2),
    make: () =>
      curves({
        ...data(),
        x: "workers",
        y: FIGURES[state.y].axis,
        show: FIGURES[state.y].show,
        title: nameOf(current()),
        isLogY: state.y === "factor" ? false : null,
      }),
    table: () => ({ columns: ["workers", "line", FIGURES[state.y].column], rows: rowsOf(data()) }),
  });
  list();
  await (await drawing).redraw();
}

/** What is to be known beside the curves. */
function tell() {
  const { answer } = current();
  const last = answer.rows.reduce((a, b) => (b.workers > a.workers ? b : a));
  const rivals = [
    ["ddp", last.ddp],
    ["horovod", last.horovod],
    ["mg_wfbp", last.mg_wfbp],
  ].filter(([, factor]) => factor !== null);
  const best = rivals.length ? rivals.reduce((a, b) => (b[1] > a[1] ? b : a)) : null;
  fill(
    byId("notes"),
    last.plan === null
      ? null
      : el(
          "p",
          { class: "lead" },
          `With ${last.workers} ${last.workers === 1 ? "worker" : "workers"} and ${nameOf(current())} `,
          `the plan spends ${percent(last.plan)} of an iteration on compute`,
          best ? `, ${best[0]} ${percent(best[1])}` : null,
          `; no plan more than ${percent(last.bound)}.`,
        ),
    restsOn(answer.evidence),
    answer.why_no_osf ? el("p", { class: "note" }, answer.why_no_osf) : null,
    answer.notes.map((note) => el("p", { class: "faint" }, note)),
    answer.warnings.map((warning) => el("p", { class: "note" }, warning.detail)),
  );
}

function list() {
  const rows = answers.flatMap(({ gbps, answer }) =>
    answer.rows.map((row, i) => ({
      ...row,
      gbps,
      factors: Object.fromEntries(linesOf(answer).map(({ name, factors }) => [name, factors[i]])),
    })),
  );
  const names = [...new Set(answers.flatMap(({ answer }) => linesOf(answer).map(({ name }) => name)))];
  const share = (name, of) => ({ name, of, show: (row) => percent(of(row)) });
  const span = (name, of) => ({ name, of, show: (row) => time(of(row)) });
  const isOsf = rows.some((row) => row.iteration_time_us !== null);
  table(
    byId("figures"),
    [
      { name: "bandwidth", unit: "Gbit/s", of: (row) => row.gbps, show: (row) => number(row.gbps) },
      { name: "workers", of: (row) => row.workers, show: (row) => String(row.workers) },
      share("bound", (row) => row.bound),
      ...names.map((name) => share(name, (row) => row.factors[name] ?? null)),
      {
        name: "ada_fusion launches",
        of: (row) => row.ada_fusion.buckets,
        show: (row) => String(row.ada_fusion.buckets),
      },
      span("compute", (row) => row.t_comp_us),
      ...(isOsf
        ? [
            span("OSF: iteration time", (row) => row.iteration_time_us),
            span("OSF: update", (row) => row.t_update_us),
            span("OSF: overlap", (row) => row.t_overlap_us),
          ]
        : []),
    ],
    rows,
    { caption: "Scaling factors: compute time / iteration time", sort: { column: 1, down: false } },
  );
}

async function copy(event) {
  const button = event.target;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
    say("The link is copied.");
  } catch {
    button.textContent = "The address of this page is the link";
  }
}
