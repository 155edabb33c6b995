// What if: workers, bandwidth, start-up or some tensors were others. The same plan, and it made anew.

import { el, fill, say } from "../elements/dom.js";
import { percent, time } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { complain, get, post } from "../service/api.js";
import { names } from "../service/names.js";
import { follow } from "../service/progress.js";
import { runsAt } from "./chosen-timeline.js";
import { comparison } from "./summary.js";

/** @import { Iteration } from "./iteration.js" */

const FIELDS = { workers: "", gbps: "", startup: "", match: "", change: "remove", factor: "0.5" };
const CHANGES = {
  remove: "are gone",
  bytes: "have so many times the bytes",
  duration: "take so many times as long",
  chunks: "end blocks that are cut in so many chunks",
  ...Object.fromEntries(names.compressions.map((name) => [name, `are sent as ${name}`])),
};
/** Changes that come with a figure. */
const FACTORS = ["bytes", "duration", "chunks"];
const [KEEP, ANEW] = ["keep", "anew"];

/** The cluster with other figures; a channel with workers or a bandwidth of its own keeps them. */
function clusterOf(cluster, { workers, gbps, startup }) {
  return {
    ...cluster,
    ...(workers === "" ? {} : { workers: Number(workers) }),
    ...(gbps === "" ? {} : { bandwidth_gbps: Number(gbps) }),
    ...(startup === "" ? {} : { startup_us: Number(startup) }),
  };
}

/** The change of the graph, if there is one. */
function changesOf({ match, change, factor }) {
  if (match === "") return [];
  if (change === "remove") return [{ match, remove: true }];
  if (names.compressions.includes(change)) return [{ match, compression: change }];
  if (change === "chunks") return [{ match, chunks: { count: Number(factor) } }];
  return [{ match, [change === "bytes" ? "bytes_factor" : "duration_factor"]: Number(factor) }];
}

/** A plan or a simulation as an explicit plan: what to launch, in order. */
function explicit({ buckets, schedule }) {
  return {
    buckets: buckets.map(({ id, tensors }) => ({ id, tensors })),
    schedule: { parts: schedule.parts.map(({ bucket, bytes }) => ({ bucket, bytes })) },
  };
}

/** The request of a simulation of the same launches, or of the same policy, under what is changed. */
function simulated(asked, body, values, isPlan) {
  const { graph, graph_id, options } = asked;
  const cluster = clusterOf(asked.cluster, values);
  const what = body.policy ? { policy: asked.policy } : { plan: explicit(body) };
  const barrier = isPlan ? (options?.barrier ?? false) : (asked.barrier ?? false);
  return { ...(graph_id ? { graph_id } : { graph }), cluster, ...what, barrier, what_if: changesOf(values) };
}

/** The request of a plan under what is changed. */
function planned(asked, values, isPlan) {
  const { graph, graph_id } = asked;
  const options = isPlan ? asked.options : { barrier: asked.barrier ?? false };
  return {
    ...(graph_id ? { graph_id } : { graph }),
    cluster: clusterOf(asked.cluster, values),
    ...(options ? { options } : {}),
    what_if: changesOf(values),
  };
}

/**
 * What the panel shows: its fields, the ways that were asked for, what came of each, and which is drawn.
 * @typedef {object} Shown
 * @property {Record<string, string>} values
 * @property {string[]} ways
 * @property {Record<string, { ended: any, kind: string, other: any }>} found
 * @property {string | null} drawn
 */

/** The iteration time of an answer, of the changed graph where one was asked for [us]. */
const timeOf = (answer) => (answer.what_if ?? answer).iteration_time_us;

/**
 * Show the panel. path: the API's of what the page is about; times: the element of the comparison;
 * timeline: of chosen-timeline.js, whose rival the changed run takes the place of.
 *
 * @param {HTMLElement} host
 * @param {Iteration} body
 * @param {{ path: string, times: HTMLElement, timeline: any }} page
 */
export async function whatIf(host, body, { path, times, timeline }) {
  const place = `${path}/${body.id}`;
  const isPlan = path === "/v1/plans";
  const isProgram = body.program !== undefined;
  const { whatif, ...given } = read({ ...FIELDS, whatif: "" });
  const results = el("div", { id: "whatif-results", "aria-live": "polite" });
  const waiting = el("div");
  const own = body.request.cluster;
  const input = (name, label, hint, more = {}) => [
    el("label", { for: `whatif-${name}` }, label),
    el("input", {
      id: `whatif-${name}`,
      name,
      value: given[name],
      placeholder: hint === null || hint === undefined ? "" : String(hint),
      autocomplete: "off",
      ...more,
    }),
  ];
  const figure = (name, label, hint, min) =>
    el("div", {}, input(name, label, hint, { type: "number", min, step: "any" }));
  const change = el(
    "select",
    { id: "whatif-change", name: "change" },
    Object.entries(CHANGES).map(([name, text]) =>
      el("option", { value: name, selected: name === given.change }, text),
    ),
  );
  const factor = figure("factor", "times", "0.5", 0);
  const undoing = el("button", { type: "button", id: "undo", disabled: true, onclick: undo }, "Undo");
  const form = el(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        run(isProgram ? ANEW : KEEP);
      },
    },
    el(
      "div",
      { class: "fields" },
      figure("workers", "Workers", own.workers, 1),
      figure("gbps", "Bandwidth [Gbit/s]", own.bandwidth_gbps, 0),
      figure("startup", "Start-up of a launch [us]", own.startup_us, 0),
      el("div", {}, input("match", "Ops named (pattern)", "grad:fc*", { spellcheck: "false" })),
      el("div", {}, el("label", { for: "whatif-change" }, "these ops"), change),
      factor,
    ),
    el(
      "p",
      { class: "row" },
      isProgram
        ? null
        : el("button", { type: "submit", class: "main" }, body.policy ? "Apply" : "Apply to this plan"),
      el(
        "button",
        { type: isProgram ? "submit" : "button", id: "anew", onclick: isProgram ? null : () => run(ANEW) },
        "Plan anew",
      ),
      undoing,
      el("button", { type: "button", id: "clear", onclick: clear }, "Clear"),
    ),
    own.cost_model
      ? el(
          "p",
          { class: "faint" },
          "The cluster has a cost model: a start-up comes on top of it, ",
          "and other workers or bandwidths need one that may be extrapolated.",
        )
      : null,
  );
  const show = () => (factor.hidden = !FACTORS.includes(change.value));
  change.addEventListener("change", show);
  show();
  fill(host, el("h2", {}, "What if"), form, waiting, results);

  let asked = null;
  let round = 0;
  /** @type {Shown} */
  let shown = { values: FIELDS, ways: [], found: {}, drawn: null };
  /** @type {Shown[]} */
  const past = [];

  /** Go on to something else, from which one may come back. */
  function step(next) {
    past.push(shown);
    undoing.disabled = false;
    shown = next;
  }

  /** Show again what is to be shown: fields, address, figures and the run beside. */
  async function restore() {
    round += 1;
    form.removeAttribute("aria-busy");
    document.getElementById("problems").replaceChildren();
    const { values, found, drawn } = shown;
    for (const [name, text] of Object.entries(values)) {
      const field = /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
      field.value = text;
    }
    show();
    note();
    timeline?.compare(drawn === null ? null : found[drawn].other);
    await tell();
  }

  /** Note in the address what is shown. */
  function note() {
    const { values, ways } = shown;
    const hasFactor = values.match && FACTORS.includes(values.change);
    write({
      ...values,
      change: values.match ? values.change : null,
      factor: hasFactor ? values.factor : null,
      whatif: ways.join("."),
    });
  }

  async function undo() {
    shown = past.pop();
    undoing.disabled = past.length === 0;
    if (undoing.disabled) form.querySelector("input").focus(); // what is disabled has no focus
    say(`Undone. ${shown.ways.length ? "" : "Nothing is changed."}`);
    try {
      await restore();
      for (const way of shown.ways) if (!shown.found[way]) await work(way); // it was left for another
    } catch (error) {
      complain(error);
    }
  }

  function clear() {
    step({ values: FIELDS, ways: [], found: {}, drawn: null });
    restore().catch(complain);
  }

  /** Ask for a job and wait for its end. */
  async function ask(kind, request) {
    const { body: begun } = await post(kind, request);
    const ended = await follow(kind, begun.id, waiting);
    if (ended.iteration_time_us === null) throw new Error(ended.error?.detail ?? `It was ${ended.state}.`);
    return ended;
  }

  /** The run to draw in the rival's place. */
  async function drawn(kind, ended, label) {
    const isChanged = ended.what_if !== null;
    if (kind === "/v1/plans")
      return {
        ...(await runsAt(`${kind}/${ended.id}/timeline.json`))[0],
        isOther: true,
        label: isChanged ? `${label}, without the change of ops` : label,
      };
    return {
      ...(await runsAt(`${kind}/${ended.id}/timeline.json${isChanged ? "?what_if=true" : ""}`)).at(-1),
      isOther: true,
      label,
    };
  }

  /** Ask for a way under what the fields say, as a step that can be undone. */
  async function run(way) {
    if (!form.reportValidity()) return;
    const values = Object.fromEntries(
      [...new FormData(form)].map(([name, text]) => [name, String(text).trim()]),
    );
    const isSame = JSON.stringify(values) === JSON.stringify(shown.values);
    const { ways, found, drawn } = isSame ? shown : { ways: [], found: {}, drawn: null };
    if (!ways.includes(way)) step({ values, ways: [...ways, way], found, drawn });
    await work(way);
  }

  /** Work out a way of what is shown. */
  async function work(way) {
    note();
    round += 1;
    const mine = round;
    const { values } = shown;
    form.setAttribute("aria-busy", "true");
    say("It is being worked out.");
    try {
      asked ??= await get(`${place}/request`);
      const kind = way === ANEW ? "/v1/plans" : "/v1/simulations";
      const ended = await ask(
        kind,
        way === ANEW ? planned(asked, values, isPlan) : simulated(asked, body, values, isPlan),
      );
      const label = way === ANEW ? "planned anew" : body.policy ? "changed" : "this plan, changed";
      const other = await drawn(kind, ended, label);
      if (mine !== round) return; // something else was asked meanwhile
      shown = { ...shown, found: { ...shown.found, [way]: { ended, kind, other } }, drawn: way };
      timeline?.compare(other);
      await tell();
    } catch (error) {
      if (mine === round) complain(error);
    } finally {
      if (mine === round) form.removeAttribute("aria-busy");
    }
  }

  /** Say before and after, and draw both. */
  async function tell() {
    const { found } = shown;
    if (!Object.keys(found).length) {
      fill(results);
      await comparison(times, body);
      return;
    }
    const before = body.iteration_time_us;
    const page = { "/v1/plans": "/plans", "/v1/simulations": "/simulations" };
    const line = (way, name) => {
      if (!found[way]) return null;
      const { ended, kind } = found[way];
      const after = timeOf(ended);
      const less = before - after;
      const change =
        less === 0
          ? "as long as before"
          : `${time(Math.abs(less))} ${less > 0 ? "less" : "more"} (${percent(Math.abs(less) / before)})`;
      return el(
        "li",
        {},
        el("strong", {}, `${name}: ${time(after)}`),
        `, ${change}. `,
        el("a", { href: `${page[kind]}/${ended.id}` }, kind === "/v1/plans" ? "Its plan" : "Its simulation"),
      );
    };
    fill(
      results,
      el(
        "ul",
        {},
        el("li", {}, `Before: ${time(before)}`),
        line(KEEP, body.policy ? "Changed" : "This plan, changed"),
        line(ANEW, "Planned anew"),
      ),
      found[ANEW]?.ended.what_if
        ? el(
            "p",
            { class: "faint" },
            "The changed ops count in the time of the new plan; its timeline is that of the ops as they are.",
          )
        : null,
    );
    const bar = (way, name) =>
      found[way]
        ? [{ name, value: timeOf(found[way].ended), text: time(timeOf(found[way].ended)), tone: "c4" }]
        : [];
    await comparison(times, body, [
      ...bar(KEEP, body.policy ? "changed" : "this plan, changed"),
      ...bar(ANEW, "planned anew"),
    ]);
  }

  const ways = [KEEP, ANEW].filter((way) => whatif.split(".").includes(way));
  if (ways.length) shown = { ...shown, values: given, ways };
  for (const way of ways) await work(way);
}
