// What a sweep has: its dimensions, its cells by place, and what may be shown of a cell.

import { less } from "../elements/evidence.js";
import { memory, number, percent, time, times } from "../elements/format.js";

/** @import { SweepCell, SweepOut } from "interlace-api" */

/** @typedef {{ field: string, values: any[] }} Dimension */

/**
 * What the page of a sweep shows: choices, and a value of each dimension.
 * @typedef {object} View
 * @property {string} show
 * @property {string} of
 * @property {string} over
 * @property {string} y
 * @property {string} off
 * @property {Record<string, any>} fixed
 * @property {(changes: Record<string, string>) => void} change
 * @property {(field: string, text: string) => void} fix
 */

const KNOWN = { workers: "workers", bandwidths_gbps: "bandwidth_gbps", startups_us: "startup_us" };

const NAMES = { workers: "workers", bandwidth_gbps: "bandwidth [Gbit/s]", startup_us: "start-up [us]" };

/** The field of a cell that an axis is about: the same name, one "s" less. */
function fieldOf(axis, cell) {
  return (
    KNOWN[axis] ??
    Object.keys(cell).find((field) =>
      [...axis].some((c, i) => c === "s" && axis.slice(0, i) + axis.slice(i + 1) === field),
    ) ??
    null
  );
}

/**
 * A value of a dimension in words.
 *
 * @param {string} field
 * @param {any} value
 */
export function shown(field, value) {
  if (value === null || value === undefined) return "measured";
  if (/_bytes$/.test(field)) return memory(value);
  if (field === "workers") return String(value);
  return number(value, 6);
}

/**
 * A dimension and its value: "8 workers", "10 Gbit/s".
 *
 * @param {string} field
 * @param {any} value
 */
export function said(field, value) {
  if (value === null || value === undefined) return "the bandwidth of the measurement";
  if (field === "workers") return `${value} ${value === 1 ? "worker" : "workers"}`;
  if (field === "bandwidth_gbps") return `${number(value, 6)} Gbit/s`;
  if (field === "startup_us") return `start-up ${number(value, 6)} us`;
  return `${nameOf(field)} ${shown(field, value)}`;
}

/**
 * What a dimension is called.
 *
 * @param {string} field
 */
export function nameOf(field) {
  return NAMES[field] ?? field.replace(/_bytes$/, "").replaceAll("_", " ");
}

/**
 * [{ field, values }] of a sweep, in its own order; those of one value too.
 *
 * @param {SweepOut} sweep
 * @returns {Dimension[]}
 */
export function dimensionsOf(sweep) {
  const first = sweep.cells[0] ?? {};
  return Object.entries(sweep.axes)
    .map(([axis, values]) => ({ field: fieldOf(axis, first), values }))
    .filter(({ field, values }) => field !== null && Array.isArray(values));
}

/**
 * The cell at these values, by field; null where the sweep was cut short.
 *
 * @param {SweepOut} sweep
 * @param {Record<string, any>} place
 * @returns {SweepCell | null}
 */
export function cellAt(sweep, place) {
  return (
    sweep.cells.find((cell) => Object.entries(place).every(([field, value]) => cell[field] === value)) ?? null
  );
}

/**
 * The label that a choice means in a cell: "" is the best of each cell.
 *
 * @param {SweepCell} cell
 * @param {string} label
 */
export function labelIn(cell, label) {
  return label === "" ? cell.best : label;
}

/**
 * The labels that are as fast as the best of a cell, within the tolerance.
 *
 * @param {SweepCell} cell
 * @returns {string[]}
 */
export function fastestIn(cell) {
  if (cell.fastest?.length) return cell.fastest;
  return cell.best === null ? [] : [cell.best];
}

/**
 * The best of a cell in words: one label, or all that tie.
 *
 * @param {SweepCell} cell
 */
export function bestIn(cell) {
  return fastestIn(cell).join(" = ");
}

/**
 * What the fastest saves over each of what you run, in words.
 *
 * @param {SweepCell} cell
 * @returns {string[]}
 */
export function savedIn(cell) {
  return (cell.gains ?? []).map(less);
}

/**
 * Iteration time [us] of a policy in a cell; null where it is not defined.
 *
 * @param {SweepCell} cell
 * @param {string} label
 */
export function timeIn(cell, label) {
  return cell.iteration_time_us[labelIn(cell, label)] ?? null;
}

/**
 * Speed of a policy in a cell, in workers that never wait.
 *
 * @param {SweepCell} cell
 * @param {string} label
 */
export function speedIn(cell, label) {
  const found = timeIn(cell, label);
  return found ? (cell.workers * cell.compute_time_us) / found : null;
}

/**
 * What a time saves over the first of what you run in a cell [%]; null where one is not known.
 *
 * @param {SweepCell} cell
 * @param {number | null} us
 */
export function savedBy(cell, us) {
  const today = cell.gains?.[0]?.today_us;
  return today && us !== null ? 100 * (1 - us / today) : null;
}

/** Times are as long as each other within this share of them, as the service says what ties. */
export const TIE = 0.001;

/**
 * What may be shown of each cell: its name, its column in a CSV, its value in a cell, and that in words;
 * even: the value where nothing is gained or lost; isOfBest: whether it is always about the best.
 */
export const SHOWN = {
  saved: {
    name: "saved over what you run",
    column: "gain",
    of: (cell) => cell.gains?.[0]?.gain ?? null,
    text: percent,
    even: 0,
    isOfBest: true,
  },
  best: {
    name: "best policy",
    column: "iteration_time_us",
    of: (cell) => timeIn(cell, ""),
    text: time,
    isOfBest: true,
  },
  time: {
    name: "iteration time",
    column: "iteration_time_us",
    of: (cell, label) => timeIn(cell, label),
    text: time,
  },
  gain: {
    name: "ratio to another",
    column: "gain",
    of: (cell, label, over) => {
      const [ours, theirs] = [timeIn(cell, label), timeIn(cell, over)];
      return ours && theirs ? theirs / ours : null;
    },
    text: times,
    even: 1,
  },
  gap: {
    name: "gap to the bound",
    column: "gap",
    of: (cell, label) => {
      const found = timeIn(cell, label);
      return found !== null && cell.lower_bound_us > 0 ? found / cell.lower_bound_us - 1 : null;
    },
    text: (value) => percent(value, 2),
  },
};
