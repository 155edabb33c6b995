// What the reader of another tool's files did: counts, the recorded step, and every sentence of it.

import { chart, colour } from "../charts/chart.js";
import { el, facts, fill } from "../elements/dom.js";
import { bytes, count, number, percent, time } from "../elements/format.js";
import { table } from "../elements/table.js";

/** @import { LaneCost, Report } from "interlace-api" */

/** What the sentences are about, the gravest first. */
const PARTS = [
  ["warnings", "Not to be relied on", "What a plan of this graph cannot rely on."],
  ["repaired", "Repaired", "What was wrong in the files and was put right."],
  ["dropped", "Dropped", "What was left out."],
  ["assumed", "Assumed", "What the files do not say."],
];

/**
 * Collectives by kind: "2 all_reduce of 1.597 MB, 1 all_gather of unknown bytes".
 *
 * @param {Report} report
 */
export function collectives(report) {
  const kinds = Object.entries(report.collectives ?? {}).map(
    ([kind, total]) => `${number(total.count, 12)} ${kind} of ${bytes(total.bytes)}`,
  );
  const unsized = (report.unsized ?? []).map(
    (each) => `${number(each.launches, 12)} ${each.kind} of unknown bytes`,
  );
  return [...kinds, ...unsized].join(", ") || "no collectives";
}

/**
 * One sentence about what was read.
 *
 * @param {Report} report
 */
export function headline(report) {
  const from = report.format === "interlace" ? "a file of Interlace's own" : `a ${report.format} file`;
  const which = report.steps > 1 ? `: step ${report.step} of ${report.steps}, counted from 0` : "";
  return `${count(report.ops, "op")} and ${collectives(report)}, read from ${from}${which}.`;
}

/**
 * Show what was dropped, repaired and assumed.
 *
 * @param {HTMLElement} host
 * @param {Report} report
 */
export function reported(host, report) {
  const told = PARTS.filter(([part]) => report[part]?.length);
  fill(
    host,
    el("h2", {}, "What was read"),
    told.length ? null : el("p", { class: "faint" }, "Nothing was dropped, repaired or assumed."),
    told.map(([part, name, meaning]) =>
      el(
        "details",
        { open: part !== "assumed", class: `told ${part}` },
        el("summary", {}, `${name} (${report[part].length})`, el("span", { class: "faint" }, ` ${meaning}`)),
        el(
          "ul",
          {},
          report[part].map((sentence) => el("li", {}, sentence)),
        ),
      ),
    ),
    shares(report.communication),
    report.dlc
      ? el("p", { class: "faint" }, "Phases, overheads and message lengths are in the answer of the API.")
      : null,
  );
}

/** Where the time of communication went, of files that tell. */
function shares(communication) {
  if (!communication) return null;
  const parts = Object.entries(communication.shares);
  return [
    el("h3", {}, "Where the time of communication went"),
    facts([
      ...parts.map(([part, { time_us, share }]) => [
        part.replace("_", "-"),
        `${time(time_us)} a tensor${share === null ? "" : `, ${percent(share)}`}`,
      ]),
      ["first to last worker", communication.skew_us === null ? null : time(communication.skew_us)],
      ["a cycle", communication.cycle_us === null ? null : time(communication.cycle_us)],
    ]),
  ];
}

/**
 * The recorded step beside its simulation, as bars; nothing where the files tell neither.
 *
 * @param {HTMLElement} host
 * @param {Report} report
 */
export async function recorded(host, report) {
  const bars = [
    { name: "measured", us: report.measured_us, tone: "c7" },
    { name: "simulated as recorded", us: report.recorded_us, tone: "c1" },
  ].filter(({ us }) => us !== null && us !== undefined);
  if (!bars.length) {
    fill(host);
    return;
  }
  const off =
    bars.length === 2 && report.measured_us > 0 ? report.recorded_us / report.measured_us - 1 : null;
  const words = bars.map(({ name, us }) => `${name} ${time(us)}`).join(", ");
  const near =
    off === null
      ? ""
      : Math.abs(off) < 0.0005
        ? " The simulation takes as long."
        : ` The simulation takes ${percent(Math.abs(off))} ${off > 0 ? "more" : "less"}.`;
  const picture = el("div");
  fill(host, el("h2", {}, "The recorded step"), el("p", {}, `It took: ${words}.${near}`), picture);
  await chart(picture, {
    title: bars.length === 2 ? "The recorded step beside its simulation" : "The recorded step",
    description: `It took: ${words}.`,
    height: 60 + 48 * bars.length,
    table: () => ({ columns: ["step", "time_us"], rows: bars.map(({ name, us }) => [name, us]) }),
    make: () => ({
      traces: [
        {
          type: "bar",
          orientation: "h",
          y: bars.map(({ name }) => name),
          x: bars.map(({ us }) => us / 1000),
          text: bars.map(({ us }) => time(us)),
          textposition: "auto",
          marker: { color: bars.map(({ tone }) => colour(tone)) },
          hovertemplate: "%{y}: %{text}<extra></extra>",
        },
      ],
      layout: {
        xaxis: { title: { text: "time [ms]" }, rangemode: "tozero" },
        yaxis: { autorange: "reversed" },
        bargap: 0.35,
      },
    }),
  });
}

/**
 * What each kind of launch cost in the trace, as it was fitted.
 *
 * @param {HTMLElement} host
 * @param {LaneCost[] | null} rows
 */
export function costs(host, rows) {
  if (!rows?.length) {
    fill(host);
    return;
  }
  const columns = [
    { name: "Channel", isText: true, of: (row) => row.channel, show: (row) => row.channel },
    { name: "Kind", isText: true, of: (row) => row.kind, show: (row) => row.kind },
    { name: "Workers", of: (row) => row.workers, show: (row) => row.workers },
    { name: "Launches", of: (row) => row.launches, show: (row) => number(row.launches, 12) },
    { name: "Start-up", of: (row) => row.startup_us, show: (row) => time(row.startup_us) },
    { name: "A MB", of: (row) => row.us_per_byte, show: (row) => time(row.us_per_byte * 1e6) },
    {
      name: "As a ring",
      unit: "Gbit/s",
      of: (row) => row.bandwidth_gbps,
      show: (row) => number(row.bandwidth_gbps),
    },
    { name: "Error, median", of: (row) => row.error_median, show: (row) => percent(row.error_median) },
    { name: "Worst", of: (row) => row.error_worst, show: (row) => percent(row.error_worst) },
  ];
  const place = el("div");
  fill(host, el("h2", {}, "What launches cost when it was recorded"), place);
  table(place, columns, rows, { caption: "Costs fitted to the recorded launches" });
}
