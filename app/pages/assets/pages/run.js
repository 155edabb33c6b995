// The page of a run: what was predicted and measured, plans in use, trials and their verdicts.

import { byId, el, facts, fill } from "../elements/dom.js";
import { figure } from "../elements/figures.js";
import { count, date, number, percent, time, times } from "../elements/format.js";
import { idOfPage } from "../elements/state.js";
import { table } from "../elements/table.js";
import { term } from "../elements/term.js";
import { drift, steps } from "../run/steps.js";
import { complain, get } from "../service/api.js";
import { pageButton } from "../service/one-file.js";
import { saved } from "../service/saved.js";

/** @import { RunOut } from "interlace-api" */

const card = (id, label) => el("section", { class: "card", id, "aria-label": label });
const text = (name, of) => ({ name, of, show: of, isText: true });

/** What a trial came to: its reason, else what was kept. */
const trialSaid = ({ why, arms, kept }) => why || `${arms[kept].name} is kept.`;

/** What is in use now, whether it goes as predicted, and what was tried. */
function answer(host, run) {
  const plan = run.plans.at(-1);
  const trial = run.trials.at(-1);
  const off = plan.measured_us === null ? null : plan.measured_us / plan.predicted_us - 1;
  fill(
    host,
    el(
      "div",
      { class: "figures" },
      figure(
        "today",
        "a step takes, measured",
        time(plan.measured_us),
        `median of ${count(plan.steps, "step")}`,
      ),
      figure(
        "plan",
        [term("plan", "the plan"), " predicts"],
        time(plan.predicted_us),
        `since step ${plan.from_step}`,
      ),
      figure(
        "bound",
        "predictions are off by",
        percent(plan.error?.median),
        plan.error ? `${percent(plan.error.p95)} at 95 % of the steps` : null,
      ),
    ),
    el(
      "p",
      { class: "lead summary" },
      off === null
        ? "No step was reported under the plan in use."
        : Math.abs(off) < 0.0005
          ? "A step takes as long as the plan in use predicts."
          : `A step takes ${percent(Math.abs(off))} ${off > 0 ? "more" : "less"} ` +
            "than the plan in use predicts.",
      trial ? ` Last trial, before step ${trial.before_step}: ${trialSaid(trial)}` : null,
    ),
    facts([
      ["State", run.ended_at ? `ended: ${run.ended_why}, ${date(run.ended_at)}` : "running"],
      ["Last heard of", date(run.reported_at)],
      ["Steps", number(run.steps, 12)],
      [term("worker", "Workers"), number(run.workers, 12)],
      [term("barrier", "Barrier"), run.barrier ? "yes" : "no"],
      ["Runtime", run.runtime || null],
    ]),
    pageButton("run", run.id, () => ({ [`/v1/runs/${encodeURIComponent(run.id)}`]: run })),
  );
}

/** The id of a plan as a link to it, which a saved page has not. */
const answerOf = (id) => (id && saved === undefined ? el("a", { href: `/plans/${id}` }, id) : (id ?? ""));

function plans(host, run) {
  table(
    host,
    [
      text("plan", (row) => String(row.index)),
      { name: "from step", of: (row) => row.from_step, show: (row) => number(row.from_step, 12) },
      { name: "steps", of: (row) => row.steps, show: (row) => number(row.steps, 12) },
      { name: "predicted", of: (row) => row.predicted_us, show: (row) => time(row.predicted_us) },
      { name: "measured", of: (row) => row.measured_us, show: (row) => time(row.measured_us) },
      {
        name: "off by",
        of: (row) => row.error?.median ?? null,
        show: (row) => percent(row.error?.median),
      },
      { name: "buckets", of: (row) => row.buckets, show: (row) => number(row.buckets, 12) },
      text("why", (row) => row.why),
      {
        name: "answer",
        of: (row) => row.plan_id,
        show: (row) => answerOf(row.plan_id),
        isText: true,
      },
    ],
    run.plans,
    { caption: "Plans in use" },
  );
}

function trials(host, run) {
  table(
    host,
    [
      { name: "before step", of: (row) => row.before_step, show: (row) => number(row.before_step, 12) },
      text("tried", (row) => row.arms.map((arm) => `${arm.name} ${time(arm.median_us)}`).join(", ")),
      { name: "promised", of: (row) => row.promised, show: (row) => times(row.promised) },
      {
        name: "measured",
        of: (row) => row.gain,
        show: (row) => `${times(row.gain)} (${times(row.gain_low)} to ${times(row.gain_high)})`,
      },
      text("kept", (row) => row.arms[row.kept].name),
      text("why", (row) => row.why),
    ],
    run.trials,
    { caption: "Trials", empty: "No plan was tried beside another." },
  );
}

async function main() {
  const content = byId("content");
  fill(content, el("p", { class: "faint" }, "It is being fetched."));
  /** @type {RunOut} */
  const run = await get(`/v1/runs/${encodeURIComponent(idOfPage())}`);
  byId("title").textContent = `Run ${run.name || run.id}`;
  document.title = `Run ${run.name || run.id} – Interlace`;
  const hosts = {
    answer: card("answer", "The answer"),
    steps: card("steps", "Steps"),
    plans: card("plans", "Plans in use"),
    trials: card("trials", "Trials"),
  };
  fill(content, Object.values(hosts));
  answer(hosts.answer, run);
  plans(hosts.plans, run);
  trials(hosts.trials, run);
  if (!run.history.length)
    return fill(hosts.steps, el("h2", {}, "Steps"), el("p", { class: "faint" }, "No step was reported yet."));
  const [drawn, drifted] = [el("div"), el("div")];
  fill(
    hosts.steps,
    drawn,
    drifted,
    run.every > 1 ? el("p", { class: "faint" }, `One of ${run.every} steps is drawn.`) : null,
  );
  await steps(drawn, run);
  await drift(drifted, run);
}

main().catch((error) => {
  fill(byId("content"));
  complain(error);
});
