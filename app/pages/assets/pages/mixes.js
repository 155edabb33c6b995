// Jobs that share links: how they slow one another down, where, and what a joint plan makes of it.

import { choice } from "../elements/controls.js";
import { byId, el, fill } from "../elements/dom.js";
import { figure } from "../elements/figures.js";
import { count, percent, time, times } from "../elements/format.js";
import { ask } from "../elements/request.js";
import { read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { term } from "../elements/term.js";
import { drawTimeline } from "../mix/timeline.js";
import { drawUse } from "../mix/use.js";
import { complain } from "../service/api.js";
import { sweepOf } from "../sweep/request.js";

/** @import { MixAnswer } from "interlace-api" */

/** Rules as people call them. */
const RULES = {
  fair: "as they are: fair sharing",
  cassini: "CASSINI's shifts",
  crux: "Crux's priorities",
  joint: "planned together",
};
const called = (rule) => RULES[rule] ?? rule;
const text = (name, of) => ({ name, of, show: of, isText: true });

/** The pair of jobs of which one costs the other most, in a sentence. */
function worstBlame({ blames }) {
  const [most] = [...blames].sort((a, b) => b.delay_us - a.delay_us);
  if (!most || most.delay_us <= 0) return "As they are, no job delays another.";
  return (
    `As they are, ${most.by} delays ${most.job} by ${time(most.delay_us)} an iteration on ` +
    `${most.link}; no delay is longer.`
  );
}

function tell(host, answer, now) {
  const { joint } = answer;
  fill(
    host,
    el(
      "div",
      { class: "figures" },
      figure(
        "today",
        ["mean ", term("slow-down"), " as they are"],
        times(now.mean),
        `worst ${times(now.worst)}`,
      ),
      figure(
        "plan",
        "planned together",
        times(joint.mean),
        answer.best === "joint"
          ? `worst ${times(joint.worst)}`
          : `worst ${times(joint.worst)}; no better than ${called(answer.best)}`,
      ),
      figure("bound", "no plan is below", times(answer.mean_bound), `worst ${times(answer.worst_bound)}`),
    ),
    el("p", { class: "lead summary" }, worstBlame(now)),
    el(
      "ul",
      {},
      answer.advice.map((each) => el("li", {}, each)),
    ),
    answer.notes.map((note) => el("p", { class: "note" }, note)),
  );
}

function listJobs(host, a, b) {
  const rows = a.jobs.map((job, i) => ({ ...job, planned: b.jobs[i], terms: b.terms[i] }));
  table(
    host,
    [
      text("job", (row) => row.job),
      { name: "alone", of: (row) => row.alone_us, show: (row) => time(row.alone_us) },
      { name: "first rule", of: (row) => row.mean_us, show: (row) => time(row.mean_us) },
      { name: "slow-down", of: (row) => row.slowdown, show: (row) => times(row.slowdown) },
      { name: "second rule", of: (row) => row.planned.mean_us, show: (row) => time(row.planned.mean_us) },
      { name: "then", of: (row) => row.planned.slowdown, show: (row) => times(row.planned.slowdown) },
      { name: "begins", of: (row) => row.terms.offset_us, show: (row) => time(row.terms.offset_us) },
      { name: "class", of: (row) => row.terms.priority, show: (row) => String(row.terms.priority) },
    ],
    rows,
    { caption: "Jobs, the slowest first", sort: { column: 3, down: true }, filter: (row) => row.job },
  );
}

function listBlames(host, run) {
  table(
    host,
    [
      text("job", (row) => row.job),
      text("is slowed by", (row) => row.by),
      text("on link", (row) => row.link),
      { name: "an iteration", of: (row) => row.delay_us, show: (row) => time(row.delay_us) },
    ],
    run.blames,
    {
      caption: "Who slows whom, under the first rule",
      sort: { column: 3, down: true },
      filter: (row) => `${row.job} ${row.by} ${row.link}`,
      empty: "No job slows another.",
    },
  );
}

function listRules(host, runs) {
  table(
    host,
    [
      text("rule", (row) => called(row.rule)),
      { name: "mean slow-down", of: (row) => row.mean, show: (row) => times(row.mean) },
      { name: "worst", of: (row) => row.worst, show: (row) => times(row.worst) },
      { name: "repeats after", of: (row) => row.pattern_us, show: (row) => time(row.pattern_us) },
      text("note", (row) => (row.is_cut ? "ended early: a lower class was never served" : "")),
    ],
    runs,
    { caption: "All rules" },
  );
}

/** Figures of a mix that may be swept: capacities, and what each job of phases does. */
function knobsOf(request) {
  const values = [0.5, 0.75, 1, 1.5, 2];
  const phases = request.jobs.filter((job) => job.phases);
  const of = (job, figure, said) => ({
    name: `${said} of ${job.name} [times]`,
    values,
    set: (changed, value) => {
      for (const phase of changed.jobs.find(({ name }) => name === job.name).phases)
        phase[figure] = Math.round((phase[figure] ?? 0) * value);
    },
  });
  return [
    {
      name: "all capacities [times]",
      values,
      set: (changed, value) => {
        for (const link of Object.values(changed.links)) link.capacity_gbps *= value;
      },
    },
    ...phases.map((job) => of(job, "compute_us", "compute")),
    ...phases.map((job) => of(job, "bytes", "bytes")),
  ];
}

/**
 * @param {MixAnswer} answer
 * @param {any} request
 */
async function show(answer, request) {
  const runs = [...answer.rules, answer.joint];
  const state = read({ from: "fair", to: "joint", link: "" });
  const runOf = (rule, plain) =>
    runs.find((run) => run.rule === rule) ?? runs.find((run) => run.rule === plain);
  const links = Object.keys(answer.loads).sort((a, b) => answer.loads[b] - answer.loads[a]);
  if (!links.includes(state.link)) state.link = links[0];
  byId("title").textContent = `${count(answer.joint.jobs.length, "job")} on ${count(links.length, "link")}`;
  tell(byId("answer"), answer, runOf("fair", "fair"));
  const draw = () => {
    const [a, b] = [runOf(state.from, "fair"), runOf(state.to, "joint")];
    listJobs(byId("jobs"), a, b);
    listBlames(byId("blames"), a);
    const beside = [a, b].map((run) => ({ name: called(run.rule), run }));
    drawTimeline(byId("time"), beside);
    drawUse(byId("use"), state.link, beside).catch(complain);
  };
  const pick = (name, key, options) =>
    choice(name, options, state[key], (value) => {
      state[key] = value;
      write({ [key]: value });
      draw();
    }).field;
  const rules = runs.map(({ rule }) => [rule, called(rule)]);
  fill(
    byId("rules"),
    el(
      "div",
      { class: "fields wide" },
      pick("First rule", "from", rules),
      pick("Second rule", "to", rules),
      pick(
        "Link, the fullest first",
        "link",
        links.map((link) => [link, `${link}: all need ${percent(answer.loads[link], 0)} of its time`]),
      ),
    ),
  );
  listRules(byId("all"), runs);
  draw();
  const isWorst = request.objective === "worst";
  const ofRule = (name) => (each) => {
    const run = each.rules.find(({ rule }) => rule === name);
    return run ? (isWorst ? run.worst : run.mean) : null;
  };
  sweepOf(byId("sweep"), {
    path: "/v1/mixes",
    request,
    knobs: knobsOf(request),
    axis: `${isWorst ? "worst" : "mean"} slow-down`,
    show: times,
    lines: [
      ...answer.rules.map(({ rule }) => ({ name: called(rule), of: ofRule(rule) })),
      { name: RULES.joint, of: ({ joint }) => (isWorst ? joint.worst : joint.mean) },
      {
        name: "bound",
        of: (each) => (isWorst ? each.worst_bound : each.mean_bound),
        isLimit: true,
      },
    ],
    more: [{ name: "what to do", of: (each) => each.advice.join(" ") }],
  });
}

ask(byId("form"), byId("work"), byId("content"), {
  path: "/v1/mixes",
  verb: "Plan them together",
  empty:
    "The request has an example: two jobs on one uplink. Change it, paste or drop your own, " +
    "and plan the jobs together.",
  busy: "The jobs run beside one another under each rule, and a joint plan is sought …",
  fields: [
    { name: "Objective", of: "objective" },
    { name: "Runs to seek a plan with", of: "effort", isNumber: true },
    { name: "Iterations of each job", of: "iterations", isNumber: true },
  ],
  show,
}).catch(complain);
