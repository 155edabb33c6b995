// The page of one iteration, planned or simulated: first its job until it has ended, then its parts.

import { byId, el, fill } from "../elements/dom.js";
import { idOfPage, read, write } from "../elements/state.js";
import { complain } from "../service/api.js";
import { pageButton } from "../service/one-file.js";
import { follow, outcome } from "../service/progress.js";
import { saved } from "../service/saved.js";
import { answer } from "./answer.js";
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

/** What stands below the first screen, each with an anchor. */
const BELOW = {
  timeline: "Timeline",
  "what-if": "What if",
  times: "Iteration times",
  helps: "What would help",
  doubts: "If the calibration is off",
  summary: "Figures",
  front: "Time against memory",
  reasons: "Why each launch starts no earlier",
  buckets: "Buckets",
  tensors: "Tensors",
  files: "Take it along",
};

/** A card that is folded until it is asked for. */
function folded(id) {
  const host = el("div");
  const whole = el("details", { class: "card", id }, el("summary", {}, BELOW[id]), host);
  return { whole, host };
}

/** Links to what there is, and the way to what an address names. */
function contents(host, content) {
  const there = Object.keys(BELOW).filter((id) => content.querySelector(`#${id}`)?.hidden === false);
  fill(
    host,
    there.map((id) => el("a", { href: `#${id}` }, BELOW[id])),
  );
  const reach = () => {
    const target = location.hash && content.querySelector(`#${CSS.escape(location.hash.slice(1))}`);
    if (!target) return;
    if (target instanceof HTMLDetailsElement) target.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reach);
  reach();
}

const card = (id, label) => el("section", { class: "card", id, "aria-label": label });

function entitle(text) {
  byId("title").textContent = text;
  document.title = `${text} – Interlace`;
}

/** Show the parts of an answer; what fails is said in its place and does not take the others along. */
async function parts(content, body, { path, word, title, fetchTrace, rivals, formats }) {
  const place = `${path}/${body.id}`;
  const tables_ = { reasons: folded("reasons"), buckets: folded("buckets"), tensors: folded("tensors") };
  const hosts = {
    answer: card("answer", "The answer"),
    summary: card("summary", "Figures"),
    times: card("times", "Iteration times"),
    timeline: card("timeline", "Timeline"),
    what: card("what-if", "What if"),
    helps: card("helps", "What would help"),
    doubts: card("doubts", "If the calibration is off"),
    front: card("front", "Time against memory"),
    reasons: tables_.reasons.host,
    buckets: tables_.buckets.host,
    tensors: tables_.tensors.host,
    files: card("files", "Take it along"),
  };
  const jumps = el("nav", { class: "jumps", "aria-label": "On this page" });
  fill(
    content,
    outcome(body, true),
    hosts.answer,
    hosts.timeline,
    jumps,
    hosts.what,
    el("div", { class: "grid" }, hosts.times, hosts.helps),
    hosts.doubts,
    hosts.summary,
    hosts.front,
    Object.values(tables_).map(({ whole }) => whole),
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
  answer(hosts.answer, body);
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
  tables_.reasons.whole.hidden = hosts.reasons.hidden;
  files(hosts.files, {
    place,
    formats,
    beside: () => (path === "/v1/plans" ? (timeline?.beside() ?? null) : null),
    page: pageButton(title.toLowerCase(), body.id, async () => ({
      [place]: body,
      [`${place}/timeline.json`]: await fetchTrace(body, timeline?.beside() ?? null),
    })),
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
  hosts.front.hidden = !body.front;
  hosts.what.hidden = saved !== undefined; // it needs a service
  contents(jumps, content);
  await comparison(hosts.times, body);
  await helps(hosts.helps, body);
  await front(hosts.front, body);
  if (saved === undefined) await whatIf(hosts.what, body, { path, times: hosts.times, timeline });
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
