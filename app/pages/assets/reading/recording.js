// A stored graph with what its reader did, and the form that plans it: of an import and of a graph.

import { el, fill } from "../elements/dom.js";
import { serverForm } from "../forms/parameter-server.js";
import { planForm } from "../forms/plan.js";
import { complain } from "../service/api.js";
import { arrivals } from "./arrivals.js";
import { costs, headline, recorded, reported } from "./report.js";

/** @import { GraphOut, ImportOut, LaneCost, ProfiledStepBody, Report } from "interlace-api" */

/**
 * Show it in an element.
 *
 * graph: { id, graph, cluster } of GET /v1/graphs/ID, null where there is nothing to plan;
 * told: { costs, steps, report }, of the import or of the graph.
 *
 * @param {HTMLElement} host
 * @param {Pick<GraphOut, "id" | "graph" | "cluster"> | null} graph
 * @param {Pick<ImportOut, "report" | "costs"> & Partial<Pick<ImportOut, "steps">>} told
 */
export async function show(host, graph, told) {
  const [form, step, report, launches, servers, ranks] = Array.from({ length: 6 }, () =>
    el("section", { class: "card" }),
  );
  const { report: read } = told;
  const hasTimes = read.measured_us !== null || read.recorded_us !== null;
  const grave = read.warnings.length;
  fill(
    host,
    el("p", { class: "lead" }, headline(read)),
    graph === null
      ? el("p", { class: "note" }, "There is no iteration to plan in these files; the report says why.")
      : null,
    grave
      ? el(
          "p",
          { class: "note" },
          el(
            "a",
            { href: "#read" },
            grave === 1 ? "One thing is not to be relied on" : `${grave} things are not to be relied on`,
          ),
          ": ",
          read.warnings[0],
        )
      : null,
    el(
      "div",
      { class: hasTimes && graph ? "grid halves" : null },
      graph ? form : null,
      hasTimes ? step : null,
    ),
    told.steps ? servers : null,
    read.arrivals ? ranks : null,
    told.costs?.length ? launches : null,
    report,
  );
  report.id = "read";
  reported(report, read);
  costs(launches, told.costs);
  arrivals(ranks, read.arrivals);
  /** @type {(Promise<void> | void)[]} */
  const works = [recorded(step, read)];
  if (graph) works.push(planForm(form, graph, read.format === "interlace"));
  if (told.steps) works.push(serverForm(servers, told.steps, graph?.graph?.name ?? ""));
  await Promise.all(works.map((work) => Promise.resolve(work).catch(complain)));
}
