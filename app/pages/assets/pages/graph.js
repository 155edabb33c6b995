// The page of a stored graph: what it holds, and the way to a plan.

import { byId } from "../elements/dom.js";
import { idOfPage } from "../elements/state.js";
import { show } from "../reading/recording.js";
import { complain, get } from "../service/api.js";

/** @import { GraphOut } from "interlace-api" */

async function start() {
  /** @type {GraphOut} */
  const graph = await get(`/v1/graphs/${encodeURIComponent(idOfPage())}`);
  const name = graph.graph.name || graph.id;
  byId("title").textContent = name;
  document.title = `${name} – Interlace`;
  await show(byId("content"), graph, graph);
}

start().catch(complain);
