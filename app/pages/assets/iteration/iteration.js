// The page of one iteration, planned or simulated: first its job until it has ended, then its parts.

import { plotly } from "../charts/chart.js";
import { byId, el, fill } from "../elements/dom.js";
import { idOfPage, read, write } from "../elements/state.js";
import { complain } from "../service/api.js";
import { follow, outcome } from "../service/progress.js";
import { timelineOf } from "./chosen-timeline.js";
import { doubts } from "./doubts.js";
import { files } from "./exports.js";
import { front, reasons } from "./program.js";
import { comparison, helps, summary } from "./summary.js";
import { tables } from "./tables.js";
import { whatIf } from "./what-if.js";

/** @import { PlanOut, SimulationOut } from "interlace-api" */

/** @typedef {Partial<Pick<SimulationOut, "policy">>} Simulated */

/**
 * What the page shows: a plan or a simulation, which has less.
 * @typedef {Omit<PlanOut, "request"> & Simulated & Pick<PlanOut | SimulationOut, "request">} Iteration
 */

/**
 * @typedef {object} Kind
 * @property {string} path
 * @property {(body: Iteration) => string} word
 * @property {string} title
 * @property {(body: Iteration, rival: string | null) => Promise<any>} fetchTrace
 * @property {(body: Iteration) => string[]} rivals
 * @property {(body: Iteration) => string[]} formats
 */

const card = (id, label) => el("section", { class: "card", id, "aria-label": label });

function entitle(text) {
  byId("title").textContent = text;
  document.title = `${text} – Interlace`;
}

/** Show the parts of an answer; what fails is said in its place and does not take the others along. */
async function parts(content, body, { path, word, title, fetchTrace, rivals, formats }) {
  const place = `${path}/${body.id}`;
  const hosts = {
    summary: card("summary", "Summary"),
    times: card("times", "Iteration times"),
    timeline: card("timeline", "Timeline"),
    what: card("what-if", "What if"),
    helps: card("helps", "What would help"),
    doubts: card("doubts", "If the calibration is off"),
    front: card("front", "Time against memory"),
    reasons: card("reasons", "Why each launch starts no earlier"),
    buckets: card("buckets", "Buckets"),
    tensors: card("tensors", "Tensors"),
    files: card("files", "Take it along"),
  };
  fill(
    content,
    outcome(body, true),
    hosts.summary,
    hosts.timeline,
    hosts.what,
    el("div", { class: "grid" }, hosts.times, hosts.helps),
    hosts.doubts,
    hosts.front,
    hosts.reasons,
    hosts.buckets,
    hosts.tensors,
    hosts.files,
  );
  let timeline = null;
  fill(hosts.timeline, el("h2", {}, "Timeline"), el("p", { class: "faint" }, "It is being drawn."));
  const traceOf = async (rival) => {
    const trace = await fetchTrace(body, rival);
    entitle(trace.otherData.graph ? `${title} of ${trace.otherData.graph}` : title);
    return trace;
  };
  const drawn = timelineOf(hosts.timeline, body, {
    name: word(body),
    rivals,
    fetchTrace: traceOf,
    onselect: (ops) => {
      note(ops);
      shown.select(ops);
    },
  });
  summary(hosts.summary, body);
  doubts(hosts.doubts, body);
  const note = (ops) => write({ sel: ops?.[0] ?? null });
  const shown = tables(hosts, body, (ops) => {
    note(ops);
    timeline?.select(ops);
  });
  reasons(hosts.reasons, body, (ops) => {
    note(ops);
    timeline?.select(ops);
  });
  files(hosts.files, {
    place,
    formats,
    beside: () => (path === "/v1/plans" ? (timeline?.beside() ?? null) : null),
  });
  try {
    timeline = await drawn;
  } catch (error) {
    complain(error);
  }
  const { sel, t } = read({ sel: "", t: "" });
  if (sel) {
    shown.select([sel]);
    timeline?.select([sel], t === "");
  }
  await comparison(hosts.times, body);
  await helps(hosts.helps, body);
  await front(hosts.front, body);
  await whatIf(hosts.what, body, { path, times: hosts.times, timeline });
}

/**
 * Show the page.
 *
 * kind: { path, word(body), title, fetchTrace(body, rival), rivals(body), formats(body) }
 *
 * @param {Kind} kind
 */
export async function page(kind) {
  const content = byId("content");
  plotly().catch(complain); // it is large: it comes while the job is asked for
  fill(content, el("p", { class: "faint" }, "It is being fetched."));
  try {
    /** @type {Iteration} */
    const body = await follow(kind.path, idOfPage(), content);
    if (body.iteration_time_us === null) fill(content, outcome(body) ?? el("p", {}, "It has no answer."));
    else await parts(content, body, { ...kind, rivals: kind.rivals(body), formats: kind.formats(body) });
  } catch (error) {
    fill(content);
    complain(error);
  }
}
