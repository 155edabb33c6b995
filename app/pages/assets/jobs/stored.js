// What is stored: graphs and cost models, each with its page; and a cost model of a benchmark.

import { el, fill } from "../elements/dom.js";
import { blame, entry, forgive, numberIn } from "../elements/form.js";
import { date, number } from "../elements/format.js";
import { table } from "../elements/table.js";
import { pageOf } from "../reading/upload.js";
import { complain, get, Problem, post, remove } from "../service/api.js";

/** @import { CostModelList, GraphList } from "interlace-api" */

/** Most that a list of these tells. */
const LISTED = 200;

function forgetting(path, word, name, again) {
  const forget = async () => {
    if (!confirm(`Delete ${word} “${name}”?`)) return;
    try {
      await remove(path);
      await again();
    } catch (error) {
      complain(error);
    }
  };
  return el(
    "button",
    { type: "button", class: "quiet", "aria-label": `Delete ${word} ${name}`, onclick: forget },
    "Delete",
  );
}

function more(rows) {
  return rows.length < LISTED ? null : el("p", { class: "faint" }, `These are the newest ${LISTED}.`);
}

/**
 * Show the graphs that were read, the newest first.
 *
 * @param {HTMLElement} host
 */
export async function graphList(host) {
  const again = () => graphList(host);
  /** @type {GraphList} */
  const { graphs } = await get(`/v1/graphs?limit=${LISTED}`);
  const place = el("div");
  const columns = [
    {
      name: "Name",
      isText: true,
      of: (row) => row.name,
      show: (row) => el("a", { href: `/graphs/${encodeURIComponent(row.id)}` }, row.name || row.id),
    },
    { name: "Format", isText: true, of: (row) => row.format, show: (row) => row.format },
    { name: "Ops", of: (row) => row.ops, show: (row) => number(row.ops, 12) },
    { name: "Read", isText: true, of: (row) => row.created_at, show: (row) => date(row.created_at) },
    {
      name: "",
      isText: true,
      of: () => 0,
      show: (row) =>
        forgetting(`/v1/graphs/${encodeURIComponent(row.id)}`, "graph", row.name || row.id, again),
    },
  ];
  fill(
    host,
    el("h2", {}, "Graphs"),
    graphs.length
      ? place
      : el(
          "p",
          { class: "faint" },
          "Graphs that were read from files are kept here, to be planned on other clusters.",
        ),
    more(graphs),
  );
  if (graphs.length) table(place, columns, graphs, { caption: "Graphs, the newest first" });
}

/**
 * Show the cost models, the newest first, and how to make one.
 *
 * @param {HTMLElement} host
 */
export async function costModelList(host) {
  const again = () => costModelList(host);
  /** @type {CostModelList} */
  const { cost_models: models } = await get(`/v1/cost-models?limit=${LISTED}`);
  const place = el("div");
  const columns = [
    {
      name: "Name",
      isText: true,
      of: (row) => row.name,
      show: (row) => el("a", { href: `/cost-models/${encodeURIComponent(row.id)}` }, row.name || row.id),
    },
    { name: "Kind", isText: true, of: (row) => row.algorithm, show: (row) => row.algorithm },
    { name: "Made", isText: true, of: (row) => row.created_at, show: (row) => date(row.created_at) },
    {
      name: "",
      isText: true,
      of: () => 0,
      show: (row) =>
        forgetting(`/v1/cost-models/${encodeURIComponent(row.id)}`, "cost model", row.name || row.id, again),
    },
  ];
  fill(
    host,
    el("h2", {}, "Cost models"),
    models.length
      ? place
      : el(
          "p",
          { class: "faint" },
          "A cost model says what a launch costs on your network, from a benchmark of it.",
        ),
    more(models),
    el("details", {}, el("summary", {}, "Fit one to a benchmark"), fitForm()),
  );
  if (models.length) table(place, columns, models, { caption: "Cost models, the newest first" });
}

function fitForm() {
  const name = entry("Name", { maxlength: 512 }, { pointer: "/name" });
  const workers = entry(
    "Workers",
    { type: "number", min: 1, placeholder: "as the text says" },
    { pointer: "/workers" },
  );
  const files = entry(
    "Output of nccl-tests or OSU, or CSV",
    { type: "file", multiple: true },
    { pointer: "/texts" },
  );
  const button = el("button", { type: "submit", class: "main" }, "Fit");
  const form = el(
    "form",
    {
      novalidate: true,
      "aria-label": "Fit a cost model",
      onsubmit: async (event) => {
        event.preventDefault();
        forgive(form);
        if (!files.control.files.length)
          return blame(form, [{ pointer: "/texts", detail: "Choose what the benchmark printed." }]);
        button.disabled = true;
        try {
          const texts = await Promise.all([...files.control.files].map((file) => file.text()));
          const body = {
            name: name.control.value || files.control.files[0].name.split(".")[0],
            texts,
            workers: numberIn(workers),
          };
          const { location } = await post("/v1/cost-models", body);
          window.location.assign(pageOf(location));
        } catch (error) {
          complain(error);
          if (error instanceof Problem) blame(form, error.faults);
        } finally {
          button.disabled = false;
        }
      },
    },
    el("div", { class: "fields" }, files.field, name.field, workers.field),
    el("p", {}, button),
  );
  return form;
}
