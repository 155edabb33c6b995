// What to predict: a graph, its cluster, counts of workers and bandwidths.

import { el, fill } from "../elements/dom.js";
import { entry } from "../elements/form.js";
import { get, Problem } from "../service/api.js";

/** @import { ClusterBody, CostModelList, ExampleList, GraphBody, GraphList } from "interlace-api" */

/** @typedef {{ graph?: GraphBody, graph_id?: string, cluster: ClusterBody | null }} Source */

/** @typedef {"example" | "graph_id" | "plan"} SourceName */

/** @typedef {"workers" | "bandwidths" | "startup" | "cost_model" | "extrapolate"} FieldName */

/** @typedef {Record<SourceName | FieldName, string>} ScalingState */

/** What the form itself refuses. */
const mistake = (detail) => new Problem(null, { detail });

/**
 * Numbers of a text such as "2, 4 8"; throws what is no number, by the name of the field.
 *
 * @param {string} text
 * @param {string} name
 * @param {{ isWhole?: boolean }} [options]
 */
export function numbers(text, name, { isWhole = false } = {}) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  return words.map((word) => {
    const value = Number(word);
    if (!Number.isFinite(value) || value <= 0 || (isWhole && !Number.isInteger(value))) {
      throw mistake(
        `${name}: ${isWhole ? "whole numbers" : "numbers"} above 0, with commas between; got "${word}".`,
      );
    }
    return value;
  });
}

/**
 * What the state names as "example", "graph_id" or "plan": its graph and cluster; null when nothing.
 *
 * @param {Pick<ScalingState, SourceName>} state
 * @param {AbortSignal} [signal]
 * @returns {Promise<Source | null>}
 */
export async function sourceOf({ example, graph_id, plan }, signal) {
  if (plan) {
    const request = await get(`/v1/plans/${encodeURIComponent(plan)}/request`, { signal });
    const { graph, graph_id: id, cluster } = request;
    return { ...(id ? { graph_id: id } : { graph }), cluster };
  }
  if (graph_id)
    return {
      graph_id,
      cluster: (await get(`/v1/graphs/${encodeURIComponent(graph_id)}`, { signal })).cluster ?? null,
    };
  if (!example) return null;
  const { graph, cluster } = await get(`/v1/examples/${encodeURIComponent(example)}`, { signal });
  return { graph, cluster };
}

/**
 * The bodies to post, one a bandwidth, of a source and the form's state.
 *
 * @param {Source} source
 * @param {ScalingState} state
 */
export function bodiesOf(source, state) {
  const workers = numbers(state.workers, "Workers", { isWhole: true });
  const given = numbers(state.bandwidths, "Bandwidths");
  if (source.cluster === null && !given.length && !state.cost_model)
    throw mistake("Nobody knows the cluster of this graph: give a bandwidth or a cost model.");
  /** @type {Partial<ClusterBody>} */
  const known = source.cluster ?? {};
  const own = { ...known, ...(state.startup === "" ? {} : { startup_us: Number(state.startup) }) };
  const base =
    state.cost_model === ""
      ? own
      : {
          ...(state.startup === "" ? {} : { startup_us: own.startup_us }),
          ...Object.fromEntries(
            ["channels", "compute_slowdown"]
              .filter((name) => name in known)
              .map((name) => [name, known[name]]),
          ),
          cost_model: state.cost_model,
          ...(state.extrapolate === "1" ? { extrapolate: true } : {}),
        };
  const { cluster: _, ...graph } = source;
  return (given.length ? given : [null]).map((gbps) => ({
    ...graph,
    ...(workers.length ? { workers } : {}),
    cluster: {
      ...base,
      workers: workers.length ? Math.max(...workers) : (known.workers ?? 1),
      ...(gbps === null ? {} : { bandwidth_gbps: gbps }),
    },
  }));
}

/**
 * Show the form; onsubmit(state) when it is sent.
 *
 * @param {HTMLElement} host
 * @param {ScalingState} state
 * @param {(state: ScalingState) => void} onsubmit
 */
export async function showForm(host, state, onsubmit) {
  /** @type {[ExampleList, GraphList, CostModelList]} */
  const [{ examples }, { graphs }, { cost_models: models }] = await Promise.all([
    get("/v1/examples"),
    get("/v1/graphs?limit=100"),
    get("/v1/cost-models?limit=100"),
  ]);
  const chosen = state.plan
    ? `plan:${state.plan}`
    : state.graph_id
      ? `graph_id:${state.graph_id}`
      : `example:${state.example || "vgg16"}`;
  const option = (value, text) => el("option", { value, selected: value === chosen }, text);
  const isListed = !state.graph_id || graphs.some(({ id }) => id === state.graph_id);
  const source = el(
    "select",
    { id: "source" },
    state.plan
      ? el("optgroup", { label: "Plan" }, option(`plan:${state.plan}`, `that of plan ${state.plan}`))
      : null,
    el(
      "optgroup",
      { label: "Examples" },
      examples.map(({ name }) => option(`example:${name}`, name)),
    ),
    graphs.length || !isListed
      ? el(
          "optgroup",
          { label: "Graphs" },
          isListed ? null : option(`graph_id:${state.graph_id}`, state.graph_id),
          graphs.map(({ id, name }) => option(`graph_id:${id}`, name ? `${name} (${id})` : id)),
        )
      : null,
  );
  const workers = entry(
    "Workers",
    { value: state.workers, required: true, autocomplete: "off", inputmode: "numeric" },
    { hint: "With commas between." },
  );
  const bandwidths = entry(
    "Bandwidths [Gbit/s]",
    { value: state.bandwidths, placeholder: "as the graph's cluster", autocomplete: "off" },
    { hint: "Left out, that of the graph's cluster." },
  );
  const startup = entry("Start-up [us]", {
    value: state.startup,
    type: "number",
    min: 0,
    step: "any",
    placeholder: "as the graph's cluster",
  });
  const model = el(
    "select",
    { id: "cost-model" },
    el("option", { value: "", selected: state.cost_model === "" }, "none: by bandwidth"),
    models.map(({ id, name }) =>
      el("option", { value: id, selected: id === state.cost_model }, name ? `${name} (${id})` : id),
    ),
    state.cost_model && !models.some(({ id }) => id === state.cost_model)
      ? el("option", { value: state.cost_model, selected: true }, state.cost_model)
      : null,
  );
  const extrapolate = el("input", { type: "checkbox", checked: state.extrapolate === "1" });
  fill(
    host,
    el(
      "div",
      { class: "fields tops" },
      el("div", {}, el("label", { for: "source" }, "Graph"), source),
      workers.field,
      bandwidths.field,
      startup.field,
      models.length || state.cost_model
        ? el(
            "div",
            {},
            el("label", { for: "cost-model" }, "Cost model"),
            model,
            el("label", {}, extrapolate, " Scale it to other workers"),
          )
        : null,
    ),
    el("p", { class: "row" }, el("button", { type: "submit", class: "main" }, "Predict")),
  );
  host.addEventListener("submit", (event) => {
    event.preventDefault();
    const [kind, ...rest] = source.value.split(":");
    const left = { example: "", graph_id: "", plan: "", [kind]: rest.join(":") };
    onsubmit({
      ...left,
      workers: workers.control.value.trim(),
      bandwidths: bandwidths.control.value.trim(),
      startup: startup.control.value,
      cost_model: model.value,
      extrapolate: model.value && extrapolate.checked ? "1" : "",
    });
  });
}
