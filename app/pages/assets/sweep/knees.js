// Where the knees of a policy run through the map of a sweep: from there on more gains nothing.

import { colour } from "../charts/chart.js";
import { nameOf } from "./cells.js";

/** @import { SweepOut } from "interlace-api" */
/** @import { Dimension } from "./cells.js" */

/** Which field of a knee must be that of a cell, but what it is along. */
const PLACE = ["workers", "bandwidth_gbps", "startup_us", "memory_limit_bytes"];

/** Whether a knee is of cells at these values. */
const isAt = (knee, place) =>
  PLACE.every(
    (field) =>
      field === knee.along ||
      knee[field] === undefined ||
      knee[field] === null ||
      place[field] === undefined ||
      knee[field] === place[field],
  );

/**
 * Lines for the layout of a map, behind the last cell that still gains: { shapes, words }, where words tell
 * which line is which, "" where there is none.
 *
 * x, y: the dimensions along; fixed: the value of each other one; label: whose knees, null for nobody's.
 *
 * @param {SweepOut} sweep
 * @param {{ x: Dimension, y: Dimension, fixed: Record<string, any>, label: string | null }} drawn
 */
export function kneesOn(sweep, { x, y, fixed, label }) {
  const own = sweep.knees.filter((knee) => knee.policy === label && knee.value !== null);
  const lines = (along, across, dash, ends) => {
    const here = own.filter((knee) => knee.along === along.field);
    return across.values.flatMap((value, i) => {
      const knee = here.find((each) => isAt(each, { ...fixed, [across.field]: value }));
      const at = knee ? along.values.indexOf(knee.value) : -1;
      const line = { color: colour("text"), width: 3, dash };
      return at < 0 ? [] : [{ type: "line", line, ...ends(at + 0.5, i - 0.5, i + 0.5) }];
    });
  };
  const down = lines(x, y, "dot", (at, from, to) => ({ x0: at, x1: at, y0: from, y1: to }));
  const flat = lines(y, x, "solid", (at, from, to) => ({ x0: from, x1: to, y0: at, y1: at }));
  const word = ({ field }) => nameOf(field).replace(/ \[.*/, "");
  const words = [flat.length && `${word(y)} (line)`, down.length && `${word(x)} (dotted)`].filter(Boolean);
  return { shapes: [...flat, ...down], words: words.length ? `knee of ${label}: ${words.join(", ")}` : "" };
}
