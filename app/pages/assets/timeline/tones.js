// What slices are called and coloured: compute by its phase, communication by its kind.

import { colour } from "../charts/chart.js";

/** @import { Bar } from "./runs.js" */

/** Names that tell the phase of a compute op, the first that fits. */
const PHASES = [
  { phase: "optimizer", test: /optim|adam|sgd|(^|[^a-z])(step|update)([^a-z]|$)/i },
  { phase: "backward", test: /backw|(^|[^a-z])(bwd|bw|b)([^a-z]|$)|grad|(^|[^a-z])b\d/i },
  { phase: "forward", test: /forw|(^|[^a-z])(fwd|fw|f)([^a-z]|$)|(^|[^a-z])f\d/i },
];

/** What is drawn, in the order of the legend: each with its words and a colour of style.css. */
export const TONES = {
  forward: ["forward", "forward"],
  backward: ["backward", "backward"],
  optimizer: ["optimizer", "optimizer"],
  compute: ["compute", "compute"],
  pack: ["packing", "c5"],
  unpack: ["unpacking", "c5"],
  wait: ["waits", "line"],
  measured: ["measured", "compute"],
  all_reduce: ["all-reduce", "c1"],
  all_gather: ["all-gather", "c6"],
  reduce_scatter: ["reduce-scatter", "c3"],
  broadcast: ["broadcast", "c4"],
  all_to_all: ["all-to-all", "c2"],
  send_recv: ["send", "c6"],
};

/** Marks over and below the bars of a row. */
export const MARKS = {
  idle: ["compute idle", "c5"],
  exposed: ["exposed", "bad"],
  critical: ["critical path", "text"],
};

/**
 * The phase of a compute op by its name; "compute" where the name tells none.
 *
 * @param {string} name
 */
export function phaseOf(name) {
  return PHASES.find(({ test }) => test.test(name))?.phase ?? "compute";
}

/**
 * What a slice is drawn as: a key of TONES, or its kind where nobody named that.
 *
 * @param {Pick<Bar, "kind" | "name">} bar
 */
export function toneOf({ kind, name }) {
  return kind === "compute" ? phaseOf(name) : kind;
}

/** The words of a tone. */
export const wordsOf = (tone) => TONES[tone]?.[0] ?? tone.replaceAll("_", "-");

/** A colour as red, green and blue, 0 to 255. */
const parts = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** Black or white, whichever is read better on a colour. */
function inkOn(hex) {
  const [r, g, b] = parts(hex).map((part) => (part / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#10151b" : "#ffffff";
}

/** The colours of the theme as it is now. */
export function palette() {
  const tone = (name) => {
    const fill = colour(TONES[name]?.[1] ?? "c2");
    return { fill, ink: inkOn(fill) };
  };
  const known = new Map();
  return {
    tone(name) {
      if (!known.has(name)) known.set(name, tone(name));
      return known.get(name);
    },
    mark: Object.fromEntries(Object.entries(MARKS).map(([name, [, shade]]) => [name, colour(shade)])),
    text: colour("text"),
    faint: colour("faint"),
    line: colour("line"),
    card: colour("card"),
    bound: colour("c3"),
    chosen: colour("c2"),
  };
}
