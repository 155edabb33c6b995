// Training through parameter servers: throughput by workers and bandwidth, and what limits it.

import { chart, colour, plain } from "../charts/chart.js";
import { curves, heightOf, LEGEND, rowsOf } from "../charts/curves.js";
import { boxes, choice, joined, parted } from "../elements/controls.js";
import { byId, el, facts, fill } from "../elements/dom.js";
import { restsOn } from "../elements/evidence.js";
import { count, number, percent, time } from "../elements/format.js";
import { fileName } from "../elements/save.js";
import { idOfPage, read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { complain } from "../service/api.js";
import { fileButton } from "../service/downloads.js";
import { follow, outcome } from "../service/progress.js";

/** @import { ParameterServerOut, ThroughputRow } from "interlace-api" */
/** @import { Line } from "../charts/curves.js" */

const FORMULAS = [
  ["Lin et al.", "lin_examples_per_s"],
  ["Cynthia", "cynthia_examples_per_s"],
];
const STARTS_OFF = joined(FORMULAS.map(([name]) => name));

const keyOf = (row) => `${row.bandwidth_gbps} ${row.workers}`;
const gbpsOf = (value) => `${number(value, 6)} Gbit/s`;
const rate = (value) => `${number(value)} examples/s`;

try {
  /** @type {ParameterServerOut} */
  const found = await follow("/v1/predictions/parameter-server", idOfPage(), byId("progress"));
  const isAnswered = Boolean(found.rows?.length);
  fill(byId("progress"), outcome(found, isAnswered));
  if (isAnswered) await show(found);
} catch (error) {
  complain(error);
}

/**
 * @param {ParameterServerOut} found
 */
async function show(found) {
  document.title = `${found.name || "Parameter servers"} – Interlace`;
  fill(byId("title"), `${found.name || "Training"} through parameter servers`);
  summarise(found);
  byId("content").hidden = false;
  const state = read({ off: STARTS_OFF, bandwidth_gbps: "", workers: "" });
  const row =
    found.rows.find(
      (one) => String(one.bandwidth_gbps) === state.bandwidth_gbps && String(one.workers) === state.workers,
    ) ?? found.rows.at(-1);
  const rows = listRows(found, (one) => {
    if (one) pick(one);
  });
  const limits = drawRow(found, row, pick);
  rows.select(keyOf(row));
  await Promise.all([drawThroughput(found, state, pick), ...limits.charts]);
  function pick(one) {
    write({ bandwidth_gbps: one.bandwidth_gbps, workers: one.workers });
    rows.select(keyOf(one));
    limits.set(one);
  }
}

/**
 * @param {ParameterServerOut} found
 */
function summarise(found) {
  const at = `/v1/predictions/parameter-server/${found.id}`;
  const { request } = found;
  const about = found.name || "parameter servers";
  fill(
    byId("summary"),
    found.knees.map((knee, i) => el("p", { class: i === 0 ? "lead" : null }, knee.text)),
    restsOn(found.evidence),
    found.warnings.map((warning) => el("p", { class: "note" }, warning.detail)),
    facts([
      ["Batch of a worker", String(request.batch_size)],
      [
        "Steps",
        [
          count(found.profiled_steps, "profiled step"),
          `; ${count(request.simulated_steps, "step")} of each worker simulated`,
        ],
      ],
      ["Servers", request.servers === null ? null : String(request.servers)],
      ["Order of transfers", request.order],
      ["Workers", request.synchronous ? "synchronous" : "asynchronous"],
      ["Flow control", request.flow_control ? `after ${number(request.win_bytes, 12)} bytes` : "none"],
      ["Took", time(found.runtime_s * 1e6)],
    ]),
    el(
      "p",
      { class: "row" },
      fileButton("CSV of all rows", () => `${at}/table.csv`, fileName(`${about} rows`, "csv")),
      fileButton(
        "SVG of throughput",
        () => `${at}/throughput-by-workers.svg`,
        fileName(`${about} throughput`, "svg"),
      ),
    ),
    el(
      "details",
      {},
      el("summary", {}, "What was assumed"),
      el(
        "ul",
        {},
        found.notes.map((note) => el("li", {}, note)),
      ),
    ),
  );
}

/**
 * A line for each bandwidth with its interval, its bound dashed, its ceiling dotted, knees ringed.
 *
 * @param {ParameterServerOut} found
 */
async function drawThroughput(found, state, onpick) {
  const gbps = [...new Set(found.rows.map((row) => row.bandwidth_gbps))];
  const names = [...gbps.map(gbpsOf), ...FORMULAS.map(([name]) => name), "bound", "ceiling"];
  const off = new Set(parted(state.off));
  const xs = [...new Set(found.rows.map((row) => row.workers))];
  const at = (value, of) =>
    xs.map(
      (workers) =>
        of(found.rows.find((row) => row.bandwidth_gbps === value && row.workers === workers)) ?? null,
    );
  const data = () => {
    const drawn = gbps
      .map((value, style) => ({ value, style, name: gbpsOf(value) }))
      .filter(({ name }) => !off.has(name));
    /** @type {Line[]} */
    const lines = drawn.map(({ value, style, name }) => ({
      name,
      style,
      ys: at(value, (row) => row?.examples_per_s),
      low: at(value, (row) => row?.low_examples_per_s),
      high: at(value, (row) => row?.high_examples_per_s),
    }));
    for (const [formula, column] of FORMULAS.filter(([name]) => !off.has(name))) {
      lines.push(
        ...drawn.map(({ value, style, name }) => ({
          name: `${formula}, ${name}`,
          style,
          dash: formula === "Cynthia" ? "dashdot" : "longdash",
          ys: at(value, (row) => row?.[column]),
        })),
      );
    }
    const ceilings = drawn.map(({ value, style, name }) => ({
      name: `ceiling, ${name}`,
      style,
      dash: "dot",
      isThin: true,
      ys: xs.map(
        () => found.knees.find((knee) => knee.bandwidth_gbps === value)?.ceiling_examples_per_s ?? null,
      ),
    }));
    const bounds = drawn.map(({ value, style, name }) => ({
      name: `bound, ${name}`,
      style,
      dash: "dash",
      isThin: true,
      ys: at(value, (row) => row?.bound_examples_per_s),
    }));
    if (!off.has("bound")) lines.push(...bounds);
    if (!off.has("ceiling")) lines.push(...ceilings.filter(({ ys }) => ys[0] !== null));
    const rings = found.knees
      .filter((knee) => knee.workers !== null)
      .flatMap((knee) =>
        lines
          .filter(({ name }) => name === gbpsOf(knee.bandwidth_gbps))
          .map(({ ys }) => ({ x: knee.workers, y: ys[xs.indexOf(knee.workers)], text: knee.text })),
      );
    return { xs, lines, rings };
  };
  const drawing = chart(byId("throughput"), {
    title: `Throughput by workers: ${found.name || "parameter servers"}`,
    description:
      "A line for each bandwidth with its 95 % interval, its bound dashed, its ceiling dotted, " +
      "knees ringed; the table of rows below has the same figures.",
    height: heightOf(byId("throughput"), 480, 3 * gbps.length + 1),
    make: () => curves({ ...data(), x: "workers", y: "examples/s", show: rate, isLogY: false }),
    table: () => ({ columns: ["workers", "line", "examples_per_s"], rows: rowsOf(data()) }),
  });
  fill(
    byId("throughput-controls"),
    boxes("Lines", names, off, (left) => {
      off.clear();
      for (const name of left) off.add(name);
      const text = joined(left);
      write({ off: text === STARTS_OFF ? "" : text || "[]" });
      drawing.then((one) => one.redraw()).catch(complain);
    }),
  );
  (await drawing).plot.on("plotly_click", ({ points }) => {
    const row = found.rows.find(
      (each) =>
        each.workers === points[0].x &&
        points[0].data.name.split(", ").at(-1) === plain(gbpsOf(each.bandwidth_gbps)),
    );
    if (row) onpick(row);
  });
}

/**
 * One row: how much each resource is used, and what is gained when one is faster.
 *
 * @param {ParameterServerOut} found
 * @param {ThroughputRow} first
 * @param {(row: ThroughputRow) => void} onpick
 */
function drawRow(found, first, onpick) {
  let row = first;
  const gbps = [...new Set(found.rows.map((one) => one.bandwidth_gbps))].map((value) => [
    String(value),
    gbpsOf(value),
  ]);
  const workers = [...new Set(found.rows.map((one) => one.workers))].map((value) => [
    String(value),
    String(value),
  ]);
  const move = (changes) => {
    const next = { bandwidth_gbps: row.bandwidth_gbps, workers: row.workers, ...changes };
    onpick(
      found.rows.find((one) => one.bandwidth_gbps === next.bandwidth_gbps && one.workers === next.workers) ??
        row,
    );
  };
  const bandwidth = choice("Bandwidth", gbps, String(row.bandwidth_gbps), (value) =>
    move({ bandwidth_gbps: Number(value) }),
  );
  const many = choice("Workers", workers, String(row.workers), (value) => move({ workers: Number(value) }));
  fill(byId("row-controls"), el("div", { class: "fields" }, bandwidth.field, many.field));
  const words = () => {
    const limit = row.limited_by;
    const gain = row.what_if.find((one) => one.resource === limit);
    const where = `With ${count(row.workers, "worker")} at ${gbpsOf(row.bandwidth_gbps)}`;
    const gained = () =>
      `${number(gain.factor)} times as fast, ${percent(gain.gain)} more examples a second.`;
    const text = limit
      ? `${where} ${limit === "links" ? "the links limit" : `the ${limit} limits`}: ${gained()}`
      : row.what_if.length
        ? `${where} no resource alone limits: none gains more than its interval.`
        : "What limits it was not asked for (explain).";
    fill(
      byId("row-words"),
      el("p", {}, text),
      facts([
        [
          "Throughput",
          row.low_examples_per_s === null
            ? rate(row.examples_per_s)
            : [
                `${rate(row.examples_per_s)}, 95 % interval `,
                `${number(row.low_examples_per_s, 5)} to ${number(row.high_examples_per_s, 5)}`,
              ],
        ],
        ["Step of a worker", time(row.step_us)],
        ["Simple bound", rate(row.bound_examples_per_s)],
      ]),
    );
    const query = new URLSearchParams({
      workers: String(row.workers),
      bandwidth_gbps: String(row.bandwidth_gbps),
    });
    fill(
      byId("timeline"),
      fileButton(
        "Timeline of this row, for Perfetto",
        () => `/v1/predictions/parameter-server/${found.id}/timeline.json?${query}`,
        fileName(`${found.name || "steps"} ${row.workers} workers`, "json"),
      ),
    );
  };
  words();
  const bars = (items, axis, format, tone) => ({
    traces: [
      {
        type: "bar",
        orientation: "h",
        y: items.map((item) => plain(item.resource)),
        x: items.map((item) => item.value),
        text: items.map((item) => format(item.value)),
        textposition: "outside",
        textangle: 0,
        cliponaxis: false,
        hoverinfo: "y+text",
        marker: {
          color: items.map((item) => (item.resource === row.limited_by ? colour("c2") : colour(tone))),
        },
      },
    ],
    layout: {
      xaxis: {
        title: { text: axis },
        tickformat: ".0%",
        range: [
          Math.min(0, ...items.map((item) => 1.3 * item.value)),
          1.3 * Math.max(0.01, ...items.map((item) => item.value)),
        ],
      },
      yaxis: { autorange: "reversed" },
      legend: LEGEND,
      showlegend: false,
    },
  });
  const use = () => row.utilisation.map(({ resource, share }) => ({ resource, value: share }));
  const faster = () => row.what_if.map(({ resource, gain }) => ({ resource, value: gain }));
  const rows = (items) => items.map((item) => [row.bandwidth_gbps, row.workers, item.resource, item.value]);
  const charts = [
    chart(byId("use"), {
      title: "How much each resource is used",
      description: "A bar for each resource; the table of rows below has the same figures.",
      height: 280,
      make: () => bars(use(), "share in use", percent, "c1"),
      table: () => ({ columns: ["bandwidth_gbps", "workers", "resource", "share"], rows: rows(use()) }),
    }),
  ];
  if (found.request.explain) {
    charts.push(
      chart(byId("faster"), {
        title: "What is gained when one is faster",
        description: "A bar for each resource, the one that limits in another colour.",
        height: 280,
        make: () => bars(faster(), "gain in throughput", percent, "c6"),
        table: () => ({ columns: ["bandwidth_gbps", "workers", "resource", "gain"], rows: rows(faster()) }),
      }),
    );
  }
  return {
    charts,
    set(next) {
      row = next;
      bandwidth.set(gbps, String(row.bandwidth_gbps));
      many.set(workers, String(row.workers));
      words();
      for (const one of charts) one.then((drawn) => drawn.redraw()).catch(complain);
    },
  };
}

/**
 * @param {ParameterServerOut} found
 */
function listRows(found, onpick) {
  const plainRate = (name, of) => ({ name, unit: "examples/s", of, show: (row) => number(of(row), 5) });
  const uses = [...new Set(found.rows.flatMap((row) => row.utilisation.map(({ resource }) => resource)))];
  const share = (row, resource) => row.utilisation.find((one) => one.resource === resource)?.share ?? null;
  return table(
    byId("rows"),
    [
      {
        name: "bandwidth",
        unit: "Gbit/s",
        of: (row) => row.bandwidth_gbps,
        show: (row) => number(row.bandwidth_gbps, 6),
      },
      { name: "workers", of: (row) => row.workers, show: (row) => String(row.workers) },
      plainRate("throughput", (row) => row.examples_per_s),
      plainRate("at least", (row) => row.low_examples_per_s),
      plainRate("at most", (row) => row.high_examples_per_s),
      plainRate("simple bound", (row) => row.bound_examples_per_s),
      { name: "step", of: (row) => row.step_us, show: (row) => time(row.step_us) },
      {
        name: "limited by",
        of: (row) => row.limited_by ?? "",
        show: (row) => row.limited_by ?? "–",
        isText: true,
      },
      ...uses.map((resource) => ({
        name: `${resource} in use`,
        of: (row) => share(row, resource),
        show: (row) => percent(share(row, resource)),
      })),
      ...FORMULAS.map(([name, column]) => plainRate(name, (row) => row[column])),
    ],
    found.rows,
    { caption: "All rows", key: keyOf, onselect: onpick },
  );
}
