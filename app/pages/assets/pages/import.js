// The page of an import: what was read, what was done to get there, and the way to a plan.

import { byId, el, fill } from "../elements/dom.js";
import { idOfPage } from "../elements/state.js";
import { show } from "../reading/recording.js";
import { complain, get, Problem } from "../service/api.js";
import { follow, outcome } from "../service/progress.js";

/** @import { ImportOut, GraphOut } from "interlace-api" */

/**
 * The graph that an import made; null when there is nothing to plan, or when it was deleted.
 *
 * @param {ImportOut} body
 * @returns {Promise<GraphOut | null>}
 */
async function graphOf(body) {
  if (body.graph_id === null) return null;
  try {
    return await get(`/v1/graphs/${encodeURIComponent(body.graph_id)}`);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404)) throw error;
    complain(new Error("The graph that was read has been deleted since."));
    return null;
  }
}

async function start() {
  const host = byId("content");
  /** @type {ImportOut} */
  const body = await follow("/v1/imports", idOfPage(), host);
  if (!body.report) {
    fill(host, outcome(body), el("p", {}, el("a", { href: "/", class: "button" }, "Choose other files")));
    return;
  }
  const graph = await graphOf(body);
  const name = graph?.graph?.name || "Import";
  byId("title").textContent = name;
  document.title = `${name} – Interlace`;
  await show(host, graph && { ...graph, cluster: body.cluster }, body);
}

start().catch(complain);
