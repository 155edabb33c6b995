// The page of all runs: training jobs that execute plans and say what they measure.

import { byId, el, fill } from "../elements/dom.js";
import { date, number } from "../elements/format.js";
import { table } from "../elements/table.js";
import { complain, get } from "../service/api.js";

/** @import { RunList } from "interlace-api" */

async function main() {
  const host = el("section", { class: "card", "aria-label": "Runs" });
  fill(byId("content"), host);
  /** @type {RunList} */
  const { runs, next_cursor: more } = await get("/v1/runs?limit=100");
  const text = (name, of) => ({ name, of, show: of, isText: true });
  const figure = (name, of) => ({ name, of, show: (row) => number(of(row), 12) });
  table(
    host,
    [
      {
        name: "run",
        of: (row) => row.name || row.id,
        show: (row) => el("a", { href: `/runs/${row.id}` }, row.name || row.id),
        isText: true,
      },
      text("state", (row) => (row.ended_why ? `${row.state}: ${row.ended_why}` : row.state)),
      figure("workers", (row) => row.workers),
      figure("steps", (row) => row.steps),
      figure("plans", (row) => row.plans),
      {
        name: "last heard of",
        of: (row) => row.reported_at,
        show: (row) => date(row.reported_at),
        isText: true,
      },
    ],
    runs,
    {
      caption: more ? "The latest hundred runs" : "Runs",
      filter: (row) => `${row.name} ${row.id} ${row.state}`,
      empty: "No training job has reported here yet: a plan that runs under PlannedDDP with a service does.",
    },
  );
}

main().catch(complain);
