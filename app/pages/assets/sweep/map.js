// The heat map of a sweep: a cell for each cluster, its colour the best policy or a figure.

import { chart, colour, plain } from "../charts/chart.js";
import { between, inkOn, LEGEND, styleOf } from "../charts/curves.js";
import { choice } from "../elements/controls.js";
import { byId, fill } from "../elements/dom.js";
import { percent, time } from "../elements/format.js";
import { complain } from "../service/api.js";
import { names } from "../service/names.js";
import {
  bestIn,
  cellAt,
  fastestIn,
  labelIn,
  nameOf,
  SHOWN,
  said,
  savedIn,
  shown,
  TIE,
  timeIn,
} from "./cells.js";
import { kneesOn } from "./knees.js";

/** @import { SweepCell, SweepOut } from "interlace-api" */
/** @import { Dimension, View } from "./cells.js" */

/** So many cells beside each other still have room for a word, by width of the chart [px]. */
const PX_OF_WORD = 74;

/** So wide is a percentage with a digit behind its point [px]. */
const PX_OF_PERCENT = 50;

/** What several that are as fast are called. */
const EVEN = "tie";

/** The colour of a tie: of none of those that share it. */
const neutral = () => between(colour("card"), colour("text"), 0.2);

/**
 * Colours for values: from the card's to the accent; where one value is even, neutral there, of another
 * hue below it, and as far from neutral as from even.
 */
function scaleOf(known, even) {
  let [least, most] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const high = colour("accent");
  if (even === null) {
    const low = colour("card");
    const of = (value) => between(low, high, most > least ? (value - least) / (most - least) : 0);
    return { least, most, of, stops: [0, 1].map((share) => [share, share ? high : low]) };
  }
  [least, most] = [Math.min(least, even - TIE), Math.max(most, even + TIE)];
  const far = Math.max(most - even, even - least);
  const of = (value) => {
    const away = Math.abs(value - even);
    if (away < TIE) return neutral();
    // no gain is as pale as a tie
    return between(neutral(), value > even ? high : colour("c2"), 0.15 + (0.85 * away) / far);
  };
  const at = (value) => (value - least) / (most - least);
  const stops = [least, even - TIE, even - TIE, even + TIE, even + TIE, most];
  const shades = [least, even - 1.001 * TIE, even, even, even + 1.001 * TIE, most].map(of);
  return { least, most, of, stops: stops.map((value, i) => [at(value), shades[i]]) };
}

/** Whose knees a map marks: those of a policy that was chosen, else of the plan. */
const kneesOf = (sweep, of) => of || (sweep.policies.find(({ policy }) => policy === "plan")?.label ?? null);

/** What stands behind the time of a policy: whether it is the best, alone or not. */
function markOf(cell, label) {
  const fastest = fastestIn(cell);
  return fastest.includes(label) ? (fastest.length > 1 ? ` (${EVEN})` : " (best)") : "";
}

/** All that is known of a cell, for who points at it. */
function hoverOf(cell, sweep) {
  const others = sweep.policies.map(
    ({ label }) => `${plain(label)}: ${time(timeIn(cell, label))}${markOf(cell, label)}`,
  );
  const most = 12;
  return [
    ["workers", "bandwidth_gbps", "startup_us"].map((field) => plain(said(field, cell[field]))).join(", "),
    ...others.slice(0, most),
    ...(others.length > most ? [`and ${others.length - most} more in the table`] : []),
    `lower bound: ${time(cell.lower_bound_us)}`,
    ...savedIn(cell).map(plain),
    ...(cell.extrapolated ? ["scaled from measurements"] : []),
  ].join("<br>");
}

/**
 * Traces and layout of the map.
 *
 * x, y: the dimensions along; fixed: the value of each other one, by field;
 * show: a key of SHOWN; of, over: labels, "" for the best of each cell; width of the chart [px];
 * what: what is shown, where it is not of one sweep; hover: what is known of a cell, likewise.
 *
 * @param {SweepOut} sweep
 * @param {Pick<View, "fixed" | "show" | "of" | "over"> & { x: Dimension, y: Dimension, width: number,
 *   what?: string, hover?: (cell: any, sweep: SweepOut) => string }} drawn
 */
export function heatMap(sweep, { x, y, fixed, show, of, over, width, what: given, hover = hoverOf }) {
  const grid = y.values.map((b) =>
    x.values.map((a) => cellAt(sweep, { ...fixed, [x.field]: a, [y.field]: b })),
  );
  const figure = SHOWN[show];
  const values = grid.map((row) => row.map((cell) => (cell ? figure.of(cell, of, over) : null)));
  const labels = sweep.policies.map((policy) => policy.label);
  const isBest = show === "best";
  const room = width / Math.max(1, x.values.length);
  const digits = room < PX_OF_PERCENT && figure.text === percent ? [0] : [];
  const nameIn = (cell) => {
    const isTie = isBest && fastestIn(cell).length > 1;
    const name = isTie ? EVEN : (labelIn(cell, isBest ? "" : of) ?? "");
    const most = Math.max(4, Math.floor(room / 8));
    return name.length > most ? `${name.slice(0, most - 1)}…` : name;
  };
  const text = grid.map((row, j) =>
    row.map((cell, i) => {
      if (!cell || room < PX_OF_WORD / 2) return "";
      const isEven = Math.abs(values[j][i] - (figure.even ?? Number.NaN)) < TIE;
      const value = values[j][i] === null ? "–" : isEven ? EVEN : figure.text(values[j][i], ...digits);
      if (isBest) return room < PX_OF_WORD ? plain(nameIn(cell)) : `${plain(nameIn(cell))}<br>${value}`;
      return value;
    }),
  );
  const axis = (dimension) => ({
    type: "category",
    title: { text: nameOf(dimension.field) },
    showgrid: false,
    ticks: "",
  });
  const map = {
    type: "heatmap",
    x: x.values.map((value) => shown(x.field, value)),
    y: y.values.map((value) => shown(y.field, value)),
    hovertext: grid.map((row) => row.map((cell) => (cell ? hover(cell, sweep) : "not computed"))),
    hoverinfo: "text",
    hoverongaps: false,
    xgap: 2,
    ygap: 2,
  };
  const scale = scaleOf(
    values.flat().filter((value) => value !== null),
    figure.even ?? null,
  );
  const groundOf = (cell, value) =>
    isBest
      ? fastestIn(cell).length > 1
        ? neutral()
        : styleOf(labels.indexOf(cell.best)).colour
      : scale.of(value);
  /** The words in the cells, each in the ink that is read best there. */
  const words = {
    type: "scatter",
    mode: "text",
    x: grid.flatMap(() => map.x),
    y: grid.flatMap((_, j) => map.x.map(() => map.y[j])),
    text: text.flat(),
    textfont: {
      color: grid.flatMap((row, j) =>
        row.map((cell, i) =>
          cell && values[j][i] !== null ? inkOn(groundOf(cell, values[j][i])) : colour("text"),
        ),
      ),
    },
    hoverinfo: "skip",
    showlegend: false,
  };
  const where = Object.entries(fixed)
    .map(([field, value]) => said(field, value))
    .join(", ");
  const today = grid.flat().find((cell) => cell?.gains?.length)?.gains[0].over;
  const what =
    given ??
    (show === "saved"
      ? `saved over ${names.what_runs[today] ?? "what you run"}`
      : figure.isOfBest
        ? figure.name
        : show === "gain"
          ? `time of ${over} over that of ${of || "the best"}`
          : `${figure.name} of ${of || "the best"}`);
  const knees = kneesOn(sweep, { x, y, fixed, label: kneesOf(sweep, figure.isOfBest ? "" : of) });
  const head = [where ? `${what}; ${where}` : what, knees.words].filter(Boolean);
  const layout = {
    xaxis: axis(x),
    yaxis: axis(y),
    title: { text: head.map(plain).join("<br>"), font: { size: 13 }, x: 0, xref: "paper" },
    margin: { l: 8, r: 8, t: 16 + 18 * head.length, b: 8 },
    legend: LEGEND,
    shapes: knees.shapes,
  };
  if (!isBest) {
    const bar = {
      orientation: "h",
      yref: "container",
      y: 0,
      yanchor: "bottom",
      thickness: 12,
      outlinewidth: 0,
      ...(show === "gap" || show === "saved"
        ? { tickformat: ".2~%" }
        : show === "time"
          ? { ticksuffix: " us", exponentformat: "none", separatethousands: true }
          : { ticksuffix: "x" }),
    };
    return {
      traces: [
        {
          ...map,
          z: values,
          zmin: scale.least,
          zmax: scale.most,
          colorscale: scale.stops,
          colorbar: bar,
        },
        words,
      ],
      layout,
    };
  }
  const placeOf = (cell) => (fastestIn(cell).length > 1 ? labels.length : labels.indexOf(cell.best));
  const z = grid.map((row) => row.map((cell) => (cell?.best ? placeOf(cell) : null)));
  const shades = [...labels.map((_, i) => styleOf(i).colour), neutral()];
  const colorscale = shades.flatMap((shade, i) => [
    [i / shades.length, shade],
    [(i + 1) / shades.length, shade],
  ]);
  const entries = [...labels, EVEN]
    .map((label, i) => ({ label, i }))
    .filter(({ i }) => z.some((row) => row.includes(i)))
    .map(({ label, i }) => ({
      type: "scatter",
      mode: "markers",
      x: [null],
      y: [null],
      name: plain(label),
      showlegend: true,
      hoverinfo: "skip",
      marker: { symbol: "square", size: 12, color: shades[i] },
    }));
  return {
    traces: [
      { ...map, z, colorscale, zmin: -0.5, zmax: labels.length + 0.5, showscale: false },
      words,
      ...entries,
    ],
    layout,
  };
}

/**
 * Draw the map with the choices above it; enter(cell) when one is clicked, where there is a service.
 *
 * @param {SweepOut} sweep
 * @param {Dimension[]} dimensions
 * @param {View} view
 * @param {((cell: SweepCell) => void) | null} enter
 */
export async function drawMap(sweep, dimensions, view, enter) {
  const along = dimensions.filter(({ values }) => values.length > 1);
  const [
    x = dimensions[0],
    y = dimensions.find((one) => one !== along[0] && one !== dimensions[0]) ?? dimensions[1],
  ] = along;
  const rest = along.filter((one) => one !== x && one !== y);
  const labels = sweep.policies.map(({ label }) => [label, label]);
  const policies = [["", "the best"], ...labels];
  const host = byId("map");
  const place = () => ({
    x,
    y,
    fixed: Object.fromEntries(
      dimensions.filter((one) => one !== x && one !== y).map(({ field }) => [field, view.fixed[field]]),
    ),
  });

  const drawing = chart(host, {
    title: `Sweep of ${sweep.name || "a graph"}`,
    description: "A map with a cell for each cluster; the table of all cells below has the same figures.",
    height: Math.min(640, 200 + 44 * y.values.length),
    make: () =>
      heatMap(sweep, {
        ...place(),
        show: view.show,
        of: view.of,
        over: view.over,
        width: host.clientWidth - 90,
      }),
    table: () => ({
      columns: [
        ...dimensions.map(({ field }) => field),
        "policy",
        view.show === "gain" ? `gain_over_${view.over}` : SHOWN[view.show].column,
      ],
      rows: y.values
        .flatMap((b) => x.values.map((a) => cellAt(sweep, { ...place().fixed, [x.field]: a, [y.field]: b })))
        .filter((cell) => cell !== null)
        .map((cell) => [
          ...dimensions.map(({ field }) => cell[field]),
          SHOWN[view.show].isOfBest ? bestIn(cell) : labelIn(cell, view.of),
          SHOWN[view.show].of(cell, view.of, view.over),
        ]),
    }),
  });
  const redraw = () => drawing.then((drawn) => drawn.redraw()).catch(complain);
  const update = (changes) => {
    view.change(changes);
    arrange();
    redraw();
  };
  const controls = [
    choice(
      "Show",
      Object.entries(SHOWN).map(([key, { name }]) => [key, name]),
      view.show,
      (show) => update({ show }),
    ),
    choice("Of", policies, view.of, (of) => update({ of })),
    choice("Over", labels, view.over, (over) => update({ over })),
    ...rest.map(({ field, values }) =>
      choice(
        nameOf(field),
        values.map((value) => [String(value), shown(field, value)]),
        view.fixed[field],
        (text) => {
          view.fix(field, text);
          redraw();
        },
      ),
    ),
  ];
  fill(
    byId("map-controls"),
    controls.map((control) => control.field),
  );
  const arrange = () => {
    controls[1].field.hidden = Boolean(SHOWN[view.show].isOfBest);
    controls[2].field.hidden = view.show !== "gain";
    const opened = SHOWN[view.show].isOfBest || view.of === "" ? "the best policy" : view.of;
    fill(
      byId("map-hint"),
      enter &&
        `A click on a cell opens what ${opened} does there; ` +
          "from the keyboard, Enter on a row of the table below. ",
      "Behind a knee more of it gains 1 % or less.",
    );
  };
  arrange();
  (await drawing).plot.on("plotly_click", ({ points }) => {
    const [row, column] = points.find((point) => Array.isArray(point.pointIndex))?.pointIndex ?? [];
    const cell = cellAt(sweep, { ...place().fixed, [x.field]: x.values[column], [y.field]: y.values[row] });
    if (cell) enter?.(cell);
  });
}
