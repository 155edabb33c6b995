// The page of one iteration, planned or simulated: first its job until it has ended, then its parts.

import { complain } from "./api.js";
import { plotly } from "./chart.js";
import { byId, el, fill } from "./dom.js";
import { files } from "./iteration-files.js";
import { comparison, helps, summary } from "./iteration-summary.js";
import { tables } from "./iteration-tables.js";
import { timelineOf } from "./iteration-timeline.js";
import { follow, outcome } from "./progress.js";
import { idOfPage } from "./state.js";

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
    helps: card("helps", "What would help"),
    buckets: card("buckets", "Buckets"),
    tensors: card("tensors", "Tensors"),
    files: card("files", "Take it along"),
  };
  fill(content, outcome(body, true), hosts.summary, hosts.timeline, el("div", { class: "grid" }, hosts.times, hosts.helps), hosts.buckets, hosts.tensors, hosts.files);
  summary(hosts.summary, body);
  let timeline = null;
  const shown = tables(hosts, body, (ops) => timeline?.select(ops));
  fill(hosts.timeline, el("h2", {}, "Timeline"), el("p", { class: "faint" }, "It is being drawn."));
  const traceOf = async (rival) => {
    const trace = await fetchTrace(body, rival);
    entitle(trace.otherData.graph ? `${title} of ${trace.otherData.graph}` : title);
    return trace;
  };
  const drawn = timelineOf(hosts.timeline, body, { name: word, rivals, fetchTrace: traceOf, onselect: (ops) => shown.select(ops) });
  files(hosts.files, { place, formats, beside: () => (path === "/v1/plans" ? timeline?.beside() ?? null : null) });
  try {
    timeline = await drawn;
  } catch (error) {
    complain(error);
  }
  await comparison(hosts.times, body);
  await helps(hosts.helps, body);
}

/**
 * Show the page. kind: { path, word, title, fetchTrace(body, rival), rivals(body, names), formats(body, names) }
 * where names are those that the template has of the service.
 */
export async function page(kind) {
  const content = byId("content");
  const names = Object.fromEntries(Object.entries(content.dataset).map(([name, text]) => [name, text.split(" ")]));
  plotly().catch(complain); // it is large: it comes while the job is asked for
  fill(content, el("p", { class: "faint" }, "It is being fetched."));
  try {
    const body = await follow(kind.path, idOfPage(), content);
    if (body.iteration_time_us === null) fill(content, outcome(body) ?? el("p", {}, "It has no answer."));
    else await parts(content, body, { ...kind, rivals: kind.rivals(body, names), formats: kind.formats(body, names) });
  } catch (error) {
    fill(content);
    complain(error);
  }
}
