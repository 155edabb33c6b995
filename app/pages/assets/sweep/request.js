// One figure of a page's request at several values: each is asked, and drawn beside the others.

import { chart } from "../charts/chart.js";
import { curves, rowsOf } from "../charts/curves.js";
import { el, fill, say } from "../elements/dom.js";
import { choice, entry, numbersIn } from "../elements/form.js";
import { number } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { complain, post } from "../service/api.js";
import { saved } from "../service/saved.js";

/**
 * A figure of a request; set(request, value) changes it in a copy that it is given.
 *
 * @typedef {{ name: string, values: number[], set: (request: any, value: number) => void }} Knob
 */

/** @typedef {{ value: number, answer: any, fault: string }} Cell */

/**
 * @typedef {object} SweepOptions
 * @property {string} path
 * @property {any} request
 * @property {Knob[]} knobs
 * @property {string} axis
 * @property {(y: number) => string} show
 * @property {{ name: string, of: (answer: any) => number | null, isLimit?: boolean }[]} lines
 * @property {{ name: string, of: (answer: any) => string }[]} [more]
 */

/** Most values of a sweep. */
const MOST = 20;

/** Ask all values, one after the other; what is refused stands in its row. */
async function asked(path, request, { set }, values, signal, onmore) {
  /** @type {Cell[]} */
  const cells = [];
  for (const value of values) {
    const changed = structuredClone(request);
    set(changed, value);
    onmore(cells.length);
    try {
      cells.push({ value, answer: (await post(path, changed, { signal })).body, fault: "" });
    } catch (/** @type {any} */ error) {
      if (signal.aborted || !error.status || error.status >= 500) throw error;
      cells.push({ value, answer: null, fault: error.faults[0]?.detail ?? error.message });
    }
  }
  return cells;
}

function draw(host, name, cells, { axis, show, lines, more = [] }) {
  const ys = (line) => cells.map(({ answer }) => (answer === null ? null : line.of(answer)));
  const own = lines.filter((line) => !line.isLimit);
  const drawn = {
    xs: cells.map(({ value }) => value),
    lines: own.map((line, style) => ({ name: line.name, style, ys: ys(line) })),
    limits: lines.filter((line) => line.isLimit).map((line) => ({ name: line.name, ys: ys(line) })),
  };
  const [plot, rows] = [el("div"), el("div")];
  fill(host, plot, rows);
  chart(plot, {
    title: `Over ${name}`,
    description: "The table below has the same figures.",
    make: () => curves({ ...drawn, x: name, y: axis, show }),
    table: () => ({ columns: [name, "line", axis], rows: rowsOf(drawn) }),
  }).catch(complain);
  const text = (of) => ({ of, show: of, isText: true });
  table(
    rows,
    [
      { name, of: (cell) => cell.value, show: (cell) => number(cell.value) },
      ...lines.map((line) => ({
        name: line.name,
        of: (cell) => (cell.answer === null ? null : line.of(cell.answer)),
        show: (cell) => (cell.answer === null ? "–" : show(line.of(cell.answer))),
      })),
      ...more.map((each, i) => ({
        name: each.name,
        ...text((cell) =>
          cell.answer === null ? (i === more.length - 1 ? cell.fault : "–") : each.of(cell.answer),
        ),
      })),
    ],
    cells,
    { caption: `Each value of ${name}` },
  );
}

/**
 * Fill a section in which a figure is chosen and asked at several values; what was asked stands in the
 * address. A page as one file has none, as nobody answers there.
 *
 * @param {HTMLElement} host
 * @param {SweepOptions} options
 */
export function sweepOf(host, options) {
  host.hidden = saved !== undefined || options.knobs.length === 0;
  if (host.hidden) return;
  let left = new AbortController();
  const state = read({ over: "", values: "" });
  const found = (key) => options.knobs.find(({ name }) => name === key) ?? options.knobs[0];
  const over = choice(
    "Over",
    options.knobs.map(({ name }) => [name, name]),
    found(state.over).name,
  );
  const values = entry("Values", {
    value: (found(state.over).name === state.over && state.values) || found(state.over).values.join(", "),
  });
  over.control.addEventListener("change", () => {
    values.control.value = found(over.control.value).values.join(", ");
  });
  const result = el("div");
  async function run() {
    left.abort();
    left = new AbortController();
    const { signal } = left;
    const knob = found(over.control.value);
    const numbers = numbersIn(values)
      .map(Number)
      .sort((a, b) => a - b);
    if (!numbers.length || numbers.length > MOST || numbers.some(Number.isNaN)) {
      fill(result, el("p", { class: "note" }, `Values are 1 to ${MOST} numbers, such as 0.5, 1, 2.`));
      return;
    }
    write({ over: knob.name, values: values.control.value });
    const told = (done) =>
      fill(result, el("p", { class: "faint" }, `${done} of ${numbers.length} values are asked …`));
    const cells = await asked(options.path, options.request, knob, numbers, signal, told);
    draw(result, knob.name, cells, options);
    say("All values are asked.");
  }
  const start = () =>
    run().catch((error) => {
      if (error.name === "AbortError") return;
      fill(result);
      complain(error);
    });
  const form = el(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        start();
      },
    },
    el("div", { class: "fields wide" }, over.field, values.field),
    el("p", { class: "row" }, el("button", { type: "submit" }, "Sweep")),
  );
  fill(
    host,
    el("h2", {}, "The same at other figures"),
    el("p", {}, "One figure of the request is changed at a time; all else stays."),
    form,
    result,
  );
  if (state.over === over.control.value) start();
}
