// A cluster as a form: workers, and what a launch costs on each channel that a graph uses.

import { el } from "../elements/dom.js";
import { choice, entry, numberIn, step } from "../elements/form.js";
import { get } from "../service/api.js";
import { names, titled } from "../service/names.js";

/** @import { ClusterBody, CostModelList, GraphBody } from "interlace-api" */

/** @typedef {[id: string, name: string, isMeasured: boolean]} StoredModel */

const NETWORK = "network";

/** What a channel shares with others, which another cost leaves as it is. */
const SHARED = ["shares", "path", "priority", "launch_slowdown"];
const TOLD = "told";

/** What is said of a network where nobody knows. */
const USUAL = { workers: 8, bandwidth_gbps: 10, startup_us: 50 };

/** The algorithms that are told by a few figures, which were not measured. */
const ALGORITHMS = Object.keys(names.algorithms).filter((name) => !names.measured.includes(name));

/** Fields that some algorithms cannot do without. */
const OF_SOME = [
  { name: "node_workers", title: "Workers of a node", attributes: { min: 1, step: "1" }, unit: null },
  { name: "node_bandwidth_gbps", title: "Bandwidth in a node", attributes: { min: 0 }, unit: "Gbit/s" },
];

/**
 * The channels that the collectives of a graph use, the network first.
 *
 * @param {GraphBody} graph
 */
export function channelsOf(graph) {
  const used = new Set(graph.ops.filter((op) => op.kind !== "compute").map((op) => op.channel ?? NETWORK));
  return [...used].sort((a, b) => Number(b === NETWORK) - Number(a === NETWORK) || a.localeCompare(b, "en"));
}

/**
 * The cost models that are stored, as [id, name, whether it was measured, so that it is scaled].
 *
 * @returns {Promise<StoredModel[]>}
 */
export async function costModels() {
  /** @type {CostModelList} */
  const { cost_models: found } = await get("/v1/cost-models?limit=200");
  return found.map((model) => [
    model.id,
    `${model.name || model.id} (${model.algorithm})`,
    names.measured.includes(model.algorithm),
  ]);
}

/** What a recorded channel costs, in a few words. */
function recordedWords(told) {
  const model = told.cost_model;
  const rate = model?.bandwidth_gbps ?? told.bandwidth_gbps;
  return rate ? `: about ${rate} Gbit/s` : "";
}

/** The fields of one channel. own: how the files tell it, null where they do not; size: its workers. */
function channelFields(name, isAlone, own, size, models) {
  const at = name === NETWORK ? "/cluster" : `/cluster/channels/${step(name)}`;
  /** @type {(string | readonly any[])[][]} */
  const options = [
    ...(own ? [["Recorded", [[TOLD, `As the files say${recordedWords(own)}`]]]] : []),
    ["Algorithms", ALGORITHMS.map((name) => [name, titled(name)])],
    ["Cost models", models],
  ];
  const cost = choice(
    isAlone ? "What a launch costs" : `What a launch on ${name} costs`,
    options,
    own ? TOLD : "ring",
    { pointer: own || models.length ? at : `${at}/algorithm` },
  );
  cost.field.classList.add("wide");
  const bandwidth = entry(
    "Bandwidth",
    {
      type: "number",
      min: 0,
      step: "any",
      value: own?.cost_model
        ? (own.cost_model.bandwidth_gbps ?? USUAL.bandwidth_gbps)
        : (own?.bandwidth_gbps ?? USUAL.bandwidth_gbps),
    },
    { unit: "Gbit/s", pointer: `${at}/bandwidth_gbps` },
  );
  const startup = entry(
    "Start-up",
    {
      type: "number",
      min: 0,
      step: "any",
      value: own && !own.cost_model ? (own.startup_us ?? 0) : USUAL.startup_us,
    },
    { unit: "us a launch", pointer: `${at}/startup_us` },
  );
  const workers =
    name === NETWORK
      ? null
      : entry(
          "Workers of it",
          { type: "number", min: 1, step: 1, value: size ?? "", placeholder: "all" },
          { pointer: `${at}/workers` },
        );
  const more = OF_SOME.map(({ name: field, title, attributes, unit }) => ({
    name: field,
    ...entry(title, { type: "number", step: "any", ...attributes }, { unit, pointer: `${at}/${field}` }),
  }));
  const isAlgorithm = () => ALGORITHMS.includes(cost.control.value);
  const counts = (field) => isAlgorithm() && names.algorithms[cost.control.value].includes(field);
  const show = () => {
    bandwidth.field.hidden = startup.field.hidden = !isAlgorithm();
    for (const each of more) each.field.hidden = !counts(each.name);
  };
  cost.control.addEventListener("change", show);
  show();

  function value() {
    const base = workers && numberIn(workers) !== null ? { workers: numberIn(workers) } : {};
    const chosen = cost.control.value;
    if (chosen === TOLD) return { ...without(own, "workers"), ...base };
    const shared = Object.fromEntries(SHARED.filter((key) => own?.[key]).map((key) => [key, own[key]]));
    if (!isAlgorithm())
      return {
        ...shared,
        ...base,
        cost_model: chosen,
        ...(models.find(([id]) => id === chosen)[2] ? { extrapolate: true } : {}),
      };
    const figures = Object.fromEntries(
      more.filter((each) => counts(each.name)).map((each) => [each.name, numberIn(each)]),
    );
    return {
      ...shared,
      ...base,
      algorithm: chosen,
      bandwidth_gbps: numberIn(bandwidth),
      startup_us: numberIn(startup) ?? 0,
      ...figures,
    };
  }
  const fields = [cost, workers, bandwidth, startup, ...more].filter(Boolean).map(({ field }) => field);
  return { fields, value };
}

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/**
 * The fields of a cluster. channels: that are used; told: the cluster of the files, null without;
 * isOwn: whether it was written for Interlace, else what was not fitted to recorded launches is
 * nothing that the files tell; models: of costModels().
 * Returns { element, value(), usesNetwork, isTold }: value is a request's `cluster`, isTold whether
 * the files tell what launches cost.
 *
 * @param {string[]} channels
 * @param {ClusterBody | null} told
 * @param {boolean} isOwn
 * @param {StoredModel[]} models
 */
export function clusterForm(channels, told, isOwn, models) {
  const workers = entry(
    "Workers",
    {
      type: "number",
      min: 1,
      step: 1,
      value: told ? (told.workers ?? "") : USUAL.workers,
      placeholder: "those of each channel",
    },
    { pointer: "/cluster/workers" },
  );
  const used = channels.length ? channels : [NETWORK];
  const own = (name) => {
    const found =
      told === null
        ? null
        : name === NETWORK
          ? without(told, "channels", "links", "workers", "compute_slowdown")
          : (told.channels?.[name] ?? null);
    return found && (found.cost_model || (isOwn && Object.keys(found).length)) ? found : null;
  };
  const parts = used.map((name) => ({
    name,
    part: channelFields(name, used.length === 1, own(name), told?.channels?.[name]?.workers, models),
  }));
  const element = el(
    "div",
    {},
    el("div", { class: "fields" }, workers.field, parts.length === 1 ? parts[0].part.fields : null),
    parts.length === 1
      ? null
      : parts.map(({ name, part }) =>
          el(
            "fieldset",
            {},
            el("legend", {}, `Channel ${name}`),
            el("div", { class: "fields" }, part.fields),
          ),
        ),
  );

  function value() {
    const cluster = numberIn(workers) === null ? {} : { workers: numberIn(workers) };
    if (told?.compute_slowdown) cluster.compute_slowdown = told.compute_slowdown;
    if (told?.links) cluster.links = told.links;
    const others = {};
    for (const { name, part } of parts) {
      if (name === NETWORK) Object.assign(cluster, part.value());
      else others[name] = part.value();
    }
    return Object.keys(others).length ? { ...cluster, channels: others } : cluster;
  }
  return { element, value, usesNetwork: used.includes(NETWORK), isTold: used.some(own) };
}
