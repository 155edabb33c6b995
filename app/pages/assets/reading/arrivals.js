// Who comes late to the collectives of a recording: in words, and rank by rank.

import { el, fill } from "../elements/dom.js";
import { number, time } from "../elements/format.js";
import { table } from "../elements/table.js";

/** @import { ArrivalReport } from "interlace-api" */

/**
 * Show it; nothing of files of one rank.
 *
 * @param {HTMLElement} host
 * @param {ArrivalReport | null} found
 */
export function arrivals(host, found) {
  if (!found) {
    fill(host);
    return;
  }
  const late = new Set(found.causes.map(({ rank }) => rank));
  const columns = [
    {
      name: "Rank",
      of: (row) => row.rank,
      show: (row) => `${row.rank}${late.has(row.rank) ? " (slow)" : ""}`,
    },
    { name: "Late", of: (row) => row.late_us, show: (row) => time(row.late_us) },
    { name: "By its own work", of: (row) => row.own_us, show: (row) => time(row.own_us) },
    { name: "Passed on", of: (row) => row.passed_on_us, show: (row) => time(row.passed_on_us) },
    { name: "Waits for others", of: (row) => row.waited_us, show: (row) => time(row.waited_us) },
    { name: "Came last", of: (row) => row.last, show: (row) => number(row.last, 12) },
  ];
  const place = el("div");
  fill(
    host,
    el("h2", {}, found.causes.length ? "Who is slow" : "Who comes late"),
    found.sentences.map((sentence) => el("p", {}, sentence)),
    place,
  );
  table(place, columns, found.ranks, { caption: "Ranks at their collectives, in a step" });
}
