// From a stored graph to a plan, a sweep or a prediction: a form, with what is usual in it.

import { el, fill } from "../elements/dom.js";
import { blame, box, choice, entry, forgive, numberIn, numbersIn } from "../elements/form.js";
import { pageOf } from "../reading/upload.js";
import { complain, Problem, post } from "../service/api.js";
import { label, names } from "../service/names.js";
import { channelsOf, clusterForm, costModels } from "./cluster.js";

/** @import { ClusterBody, GraphBody, GraphOut } from "interlace-api" */

/** The policies of today that a plan is compared with, those first that are ticked. */
const USUAL = ["ddp", "wfbp", "pace"];
const POLICIES = [...USUAL, ...names.policies.filter((name) => !USUAL.includes(name))];

/** Whether the order of some stream is free: then a program is planned, with rules of its own. */
function isProgram(graph) {
  return (graph.streams ?? []).some((stream) => stream.order === "free") || (graph.buffers ?? []).length > 0;
}

/** Values around a usual one, for a sweep. */
function around(value, factors) {
  return [...new Set(factors.map((factor) => Math.max(2, Math.round(value * factor))))].join(", ");
}

/** What is said above the fields. */
function words(isTold) {
  return isTold
    ? [
        "The cluster is the one that the files tell of, as far as they do. ",
        "Press Plan, or change it first.",
      ]
    : [
        "The files do not say what launches cost; these figures are usual ones. ",
        "Press Plan, or change them first.",
      ];
}

/**
 * Show the form of a graph, with what the files told of its cluster (null where they told nothing).
 * stored: { id, graph, cluster }, as GET /v1/graphs/ID answers; isOwn: see clusterForm.
 *
 * @param {HTMLElement} host
 * @param {Pick<GraphOut, "id" | "graph" | "cluster">} stored
 * @param {boolean} isOwn
 */
export async function planForm(host, { id, graph, cluster: told }, isOwn) {
  const channels = channelsOf(graph);
  const cluster = clusterForm(channels, told ?? null, isOwn, await costModels());
  const hasRules = !isProgram(graph);
  const barrier = box("PyTorch's barrier: the optimizer waits for all gradients", false, {
    pointer: "/options/barrier",
  });
  const limit = entry(
    "Time limit",
    { type: "number", min: 0, step: "any", value: 60, required: true },
    {
      unit: "s",
      pointer: "/options/time_limit_s",
      hint: "Of CPU time: the best plan so far is the answer then, and says so. Seldom reached.",
    },
  );
  const robust = choice(
    "Chosen by",
    [
      ["", "its time at these costs"],
      ["mean", "the mean over costs that are off"],
      ["p95", "the p95 over costs that are off"],
    ],
    "",
    { pointer: "/options/robust", hint: "Start-up, bandwidth, launches and compute are drawn 50 times." },
  );
  const believed = entry(
    "Start-up that is believed",
    { type: "number", min: 0.001, max: 1000, step: "any", value: 1, required: true },
    {
      unit: "times the true one",
      pointer: "/believed/startup_factor",
      hint: "Plan and policies are decided with it, and executed with the true one.",
    },
  );
  const policies = POLICIES.map((name) => ({ name, ...box(label(name), USUAL.includes(name)) }));
  const baselines = el(
    "fieldset",
    { class: "field", "data-pointer": "/options/baselines" },
    el("legend", {}, "Compared with"),
    el(
      "div",
      { class: "row" },
      policies.map(({ field }) => field),
    ),
  );
  const workers = entry(
    "Workers",
    { value: around(told?.workers ?? 8, [0.5, 1, 2, 4]) },
    { pointer: "/workers" },
  );
  const bandwidths = entry(
    "Bandwidths",
    { value: "5, 10, 25, 50, 100" },
    {
      unit: "Gbit/s",
      pointer: "/bandwidths_gbps",
      hint: cluster.usesNetwork ? null : "The graph does not use the network of which this is.",
    },
  );
  const sweepPlans = box("With the plan (slower)", true);
  const buttons = [];

  const chosen = () => policies.filter(({ control }) => control.checked).map(({ name }) => name);
  async function ask(path, body, form) {
    forgive(form);
    document.getElementById("problems").replaceChildren();
    for (const button of buttons) button.disabled = true;
    try {
      const { location } = await post(`${path}?wait=0`, body);
      window.location.assign(pageOf(location));
    } catch (error) {
      complain(error);
      if (error instanceof Problem) blame(form, error.faults);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }
  const belief = () => {
    const factor = hasRules ? numberIn(believed) : 1;
    return factor === 1 ? {} : { believed: { startup_factor: factor } };
  };
  const plan = () => {
    const options = {
      barrier: barrier.control.checked,
      time_limit_s: numberIn(limit),
      ...(robust.control.value ? { robust: robust.control.value } : {}),
      ...(hasRules ? { baselines: chosen() } : {}),
    };
    return ask("/v1/plans", { graph_id: id, cluster: cluster.value(), ...belief(), options }, form);
  };
  const sweep = () => {
    const compared = [...chosen(), ...(sweepPlans.control.checked ? ["plan"] : [])];
    const axes = {
      workers: numbersIn(workers),
      ...(cluster.usesNetwork ? { bandwidths_gbps: numbersIn(bandwidths) } : {}),
    };
    return ask(
      "/v1/sweeps",
      {
        graph_id: id,
        cluster: cluster.value(),
        ...belief(),
        ...axes,
        policies: compared,
        barrier: barrier.control.checked,
      },
      form,
    );
  };
  const planButton = el("button", { type: "submit", class: "main", id: "plan" }, "Plan");
  const sweepButton = el("button", { type: "button", id: "sweep", onclick: sweep }, "Sweep");
  buttons.push(planButton, sweepButton);
  const form = el(
    "form",
    {
      novalidate: true,
      "aria-label": "Plan this graph",
      onsubmit: (event) => {
        event.preventDefault();
        plan();
      },
    },
    el("p", {}, words(cluster.isTold)),
    cluster.element,
    barrier.field,
    el(
      "details",
      {},
      el("summary", {}, "More"),
      el("div", { class: "fields" }, limit.field, robust.field, hasRules ? believed.field : null),
      hasRules ? baselines : null,
    ),
    el(
      "p",
      { class: "row" },
      planButton,
      el(
        "a",
        {
          class: "button",
          id: "scaling",
          href: `/predictions/scaling?${new URLSearchParams({ graph_id: id })}`,
        },
        "How it scales",
      ),
    ),
    hasRules
      ? el(
          "details",
          { id: "sweep-more" },
          el("summary", {}, "Sweep: many clusters at once"),
          el(
            "div",
            { class: "fields" },
            workers.field,
            cluster.usesNetwork ? bandwidths.field : null,
            sweepPlans.field,
          ),
          el("p", {}, sweepButton),
        )
      : null,
  );
  fill(host, el("h2", {}, "Plan it"), form);
}
