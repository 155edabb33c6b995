// Node sets of a job: ranked, and what each makes of the jobs that run before it is taken.

import { bars } from "../charts/bars.js";
import { drawCluster } from "../cluster/map.js";
import { byId, el, facts, fill } from "../elements/dom.js";
import { figure } from "../elements/figures.js";
import { count, number, time, times } from "../elements/format.js";
import { ask } from "../elements/request.js";
import { read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { term } from "../elements/term.js";
import { complain } from "../service/api.js";
import { sweepOf } from "../sweep/request.js";

/** @import { AllocationAnswer, AllocationRow } from "interlace-api" */

const text = (name, of) => ({ name, of, show: of, isText: true });
const called = (job) => job.name || "the new job";
/** A step beside the others, with its 95th percentile where that is longer. */
const stepSaid = ({ time_us, p95_us }) =>
  p95_us === null || p95_us <= time_us * 1.001 ? time(time_us) : `${time(time_us)}, p95 ${time(p95_us)}`;

/** Few nodes by name, many by their number. */
function nodesSaid(nodes) {
  return nodes.length > 6 ? `${nodes.slice(0, 4).join(", ")} and ${nodes.length - 4} more` : nodes.join(", ");
}

function tell(host, answer) {
  const [best] = answer.best;
  const slowest = best.jobs.slice(1).reduce((a, b) => (a === null || b.slowdown > a.slowdown ? b : a), null);
  fill(
    host,
    el(
      "div",
      { class: "figures" },
      figure("plan", ["best ", term("allocation")], nodesSaid(best.nodes), best.evidence),
      figure("today", "its step takes", time(best.time_us), `${time(best.alone_us)} if alone there`),
      figure("bound", "alone, no mapping is below", time(answer.lower_bound_us), "on the free nodes"),
      slowest
        ? figure("today", ["it slows most ", slowest.name], times(slowest.slowdown), "over its time alone")
        : figure("today", "jobs beside it", "none"),
    ),
    el("p", { class: "lead summary" }, best.why),
    answer.left_out.length
      ? el(
          "p",
          { class: "note" },
          `${count(answer.left_out.length, "candidate")} left out: nodes are not joined.`,
        )
      : null,
  );
}

/**
 * What a node set makes of all jobs.
 *
 * @param {HTMLElement} host
 * @param {AllocationRow} row
 * @param {number} place
 */
function showChosen(host, row, place) {
  const drawn = el("div");
  fill(
    host,
    el("h2", {}, `Number ${place + 1}: what it makes of each job`),
    el("p", {}, row.why),
    drawn,
    facts([
      ["Nodes by rank", row.nodes.join(", ")],
      [
        "Shared links",
        row.shared.length
          ? row.shared.map(({ link, jobs }) => `${link} with ${jobs.join(", ")}`).join("; ")
          : "none",
      ],
      ["Rules that take these", row.rules.join(", ") || "none"],
      ["Known by", row.evidence],
    ]),
  );
  bars(drawn, {
    title: "Slow-down of each job",
    axis: "slow-down",
    columns: ["job", "slowdown"],
    bars: row.jobs.map((job) => ({
      name: called(job),
      value: job.slowdown,
      text:
        job.before === null
          ? `${times(job.slowdown)}, ${stepSaid(job)}`
          : `${times(job.before)} → ${times(job.slowdown)}, ${stepSaid(job)}`,
      tone: job.name ? "c7" : "c1",
    })),
  }).catch(complain);
}

function rank(host, rows, onchoose) {
  const worst = (row) => Math.max(...row.jobs.map((job) => job.slowdown));
  return table(
    host,
    [
      { name: "place", of: (row) => row.place, show: (row) => String(row.place + 1) },
      { ...text("nodes", (row) => row.nodes.join(" ")), show: (row) => nodesSaid(row.nodes) },
      { name: "objective", of: (row) => row.objective, show: (row) => number(row.objective) },
      { name: "step", of: (row) => row.time_us, show: (row) => time(row.time_us) },
      { name: "alone", of: (row) => row.alone_us, show: (row) => time(row.alone_us) },
      { name: "worst slow-down", of: worst, show: (row) => times(worst(row)) },
      text("known by", (row) => row.evidence),
    ],
    rows,
    {
      caption: "Ranked node sets",
      key: (row) => String(row.place),
      filter: (row) => `${row.nodes.join(" ")} ${row.rules.join(" ")}`,
      onselect: (row) => onchoose(row?.place ?? 0),
    },
  );
}

/** Figures of the request that may be swept: what it says in numbers of the job and of the topology. */
function knobsOf({ job, topology, candidates }) {
  const times = [0.5, 0.75, 1, 1.5, 2];
  const scaled = (part, name, said) => ({
    name: `${said} [times]`,
    values: times,
    set: (changed, value) => {
      const at = changed[part];
      at[name] = Number.isInteger(at[name]) ? Math.round(at[name] * value) : at[name] * value;
    },
  });
  const found = [];
  if (job.nodes && !candidates?.length)
    found.push({
      name: "nodes",
      values: [...new Set([0.5, 1, 2].map((share) => Math.max(1, Math.round(job.nodes * share))))],
      set: (changed, value) => {
        changed.job.nodes = value;
      },
    });
  if (job.gradient_bytes) found.push(scaled("job", "gradient_bytes", "bytes of the gradient"));
  if (job.compute_us) found.push(scaled("job", "compute_us", "compute of the job"));
  for (const part of ["level_gbps", "oversubscription"])
    for (const level of Object.keys(topology[part] ?? {}))
      found.push({
        name: `${part === "level_gbps" ? "capacity up from" : "oversubscription of"} ${level} [times]`,
        values: times,
        set: (changed, value) => {
          changed.topology[part][level] *= value;
        },
      });
  return found;
}

/**
 * @param {AllocationAnswer} answer
 * @param {any} request
 */
async function show(answer, request) {
  const rows = answer.best.map((row, place) => ({ ...row, place }));
  const { set } = read({ set: "" });
  byId("title").textContent = `Where to put the job: ${count(answer.sets, "node set")} ranked`;
  tell(byId("answer"), answer);
  const choose = (place) => {
    write({ set: place === 0 ? "" : place + 1 });
    showChosen(byId("chosen"), rows[place], place);
    drawCluster(byId("cluster"), answer.cluster, rows[place]);
    ranked.select(String(place));
  };
  const ranked = rank(byId("ranked"), rows, choose);
  choose(rows[Number(set) - 1] ? Number(set) - 1 : 0);
  table(
    byId("rules"),
    [
      text("rule of today", (row) => row.name),
      { ...text("nodes", (row) => row.nodes.join(" ")), show: (row) => nodesSaid(row.nodes) },
      { name: "step alone", of: (row) => row.alone_us, show: (row) => time(row.alone_us) },
    ],
    answer.rules,
    { caption: "What rules of today take, alone" },
  );
  const others = ([, ...beside]) => Math.max(1, ...beside.map((job) => job.slowdown));
  sweepOf(byId("sweep"), {
    path: "/v1/allocations",
    request,
    knobs: knobsOf(request),
    axis: "step [ms]",
    show: (ms) => time(1e3 * ms),
    lines: [
      { name: "best, beside the jobs that run", of: ({ best }) => best[0].time_us / 1e3 },
      { name: "best, alone", of: ({ best }) => best[0].alone_us / 1e3 },
      { name: "no mapping alone is below", of: (each) => each.lower_bound_us / 1e3, isLimit: true },
    ],
    more: [
      { name: "worst slow-down of others", of: ({ best }) => times(others(best[0].jobs)) },
      { name: "best nodes", of: ({ best }) => nodesSaid(best[0].nodes) },
    ],
  });
  fill(
    byId("doubts"),
    el("h2", {}, "What it rests on"),
    el(
      "p",
      {},
      "The new job's slow-down is over its fastest allocation alone, of others over their time alone.",
    ),
    answer.notes.map((note) => el("p", { class: "note" }, note)),
  );
}

ask(byId("form"), byId("work"), byId("content"), {
  path: "/v1/allocations",
  verb: "Rank node sets",
  empty:
    "The request has an example: a job of 4 nodes beside one that runs. Change it, paste or drop your own.",
  busy: "Node sets are searched, and the best simulated beside the jobs that run …",
  fields: [
    { name: "Objective", of: "objective" },
    { name: "How many to return", of: "count", isNumber: true },
    { name: "How many to simulate", of: "simulated", isNumber: true },
  ],
  asked: (request) => ({ ...request, has_cluster: true }),
  show,
}).catch(complain);
