// A job until it ends: what it is at, how the gap closes, and how to cancel it.

import { chart, colour, plain } from "../charts/chart.js";
import { el, facts, fill, say } from "../elements/dom.js";
import { count, percent, time } from "../elements/format.js";
import { complain, events, get, isAway, Problem, post, shown } from "./api.js";
import { stateOf } from "./names.js";

/** @import { JobError } from "interlace-api" */

const ENDED = new Set(["succeeded", "failed", "cancelled", "timed_out"]);

/** The phases of all kinds of jobs as people read them. */
const PHASES = {
  policies: "simulates the policies",
  bound: "looks for a lower bound",
  search: "searches for a better plan",
  slots: "places the plan in slots",
  what_if: "plans what was changed",
  explanation: "looks for what limits it",
  bounds: "looks for a lower bound of each shape",
  simulation: "simulates shapes that may be among the best",
  plans: "plans the communication inside the best",
  again: "plans it anew",
  import: "reads the files",
};

/**
 * The word for a state, in its colour.
 *
 * @param {string} state
 */
export function badge(state) {
  return el("span", { class: `badge ${state}` }, stateOf(state));
}

/**
 * Why a job that has ended has no answer, or not all of one; null when all is well.
 * hasAnswer: whether the page shows what was in hand.
 *
 * @param {{ state: string, error: JobError | null }} body
 * @param {boolean} [hasAnswer]
 */
export function outcome(body, hasAnswer = false) {
  if (body.state === "cancelled") {
    const what = hasAnswer ? "It shows the best that was in hand by then." : "Nothing was in hand by then.";
    return el("p", { class: "note outcome" }, badge("cancelled"), ` This was cancelled. ${what}`);
  }
  if (body.state === "succeeded" || body.error === null) return null;
  return el(
    "div",
    { class: "outcome" },
    el("p", {}, badge(body.state)),
    shown(new Problem(body.error.status, body.error)),
  );
}

/** When something of a job was, since it began [s]. */
function since(job) {
  const at = job.progress?.heartbeat_at;
  return at && job.started_at ? Math.max(0, (Date.parse(at) - Date.parse(job.started_at)) / 1000) : 0;
}

/** @typedef {{ best: string, bound: string, each: string, time: string }} JobWords */

/** What is said of a job that looks for a plan. */
const OF_PLANS = { best: "Best plan", bound: "Lower bound", each: "step", time: "Iteration time" };

/** The curve of the best so far and of the bound, which a list of points feeds. */
function curves(host, points, words) {
  let drawn = null;
  let isWaiting = false;
  const make = () => {
    const line = (name, of, tone) => ({
      type: "scatter",
      mode: "lines+markers",
      line: { shape: "hv", color: colour(tone) },
      marker: { size: 5 },
      name,
      x: points.map((point) => point.s),
      y: points.map((point) => (of(point) === null ? null : of(point) / 1000)),
      hovertemplate: "%{y} ms after %{x} s",
    });
    return {
      traces: [
        line(words.best.toLowerCase(), (point) => point.incumbent, "c1"),
        line("lower bound", (point) => point.bound, "c3"),
      ],
      layout: {
        xaxis: { title: { text: plain("time [s]") }, rangemode: "tozero" },
        yaxis: { title: { text: plain(`${words.time.toLowerCase()} [ms]`) }, range: range() },
        legend: { orientation: "h", y: 1.15 },
      },
    };
  };
  /** From the top down to the bound, but so that the last gap is seen. */
  const range = () => {
    const last = points.at(-1);
    const top = Math.max(...points.map((point) => point.incumbent));
    const low = Math.min(...points.map((point) => point.bound ?? point.incumbent));
    const bottom =
      last.bound === null
        ? low
        : Math.max(low, last.incumbent - 20 * Math.max(last.incumbent - last.bound, 1e-3 * top));
    const margin = 0.05 * (top - bottom) || 0.01 * top;
    return [(bottom - margin) / 1000, (top + margin) / 1000];
  };
  const table = () => ({
    columns: ["time_s", "incumbent_us", "lower_bound_us"],
    rows: points.map((point) => [point.s, point.incumbent, point.bound]),
  });
  return async () => {
    if (isWaiting) return;
    isWaiting = true;
    await new Promise((resolve) => setTimeout(resolve, drawn ? 200 : 0)); // however fast it goes
    isWaiting = false;
    if (drawn) {
      (await drawn).redraw();
    } else {
      drawn = chart(host, {
        make,
        title: `${words.best} and lower bound over time`,
        description:
          `${words.time} of the best so far falls, the lower bound rises, ` +
          "until they meet or time is over.",
        table,
        height: 280,
      });
      await drawn;
    }
  };
}

/**
 * Show a job in an element until it has ended, and give its body, with its answer, when it has.
 *
 * path: of its kind, as "/v1/plans"; id: its own. The element is empty afterwards. A job that had
 * ended before is not shown at all. Throws what the service refuses: 404 when it was deleted.
 * words: what is said of its kind; signal: lets it go, without a change to the element.
 *
 * @param {string} path
 * @param {string} id
 * @param {HTMLElement} host
 * @param {{ words?: JobWords, signal?: AbortSignal }} [options]
 * @returns {Promise<any>} what the OpenAPI document says of its kind
 */
export async function follow(path, id, host, { words = OF_PLANS, signal } = {}) {
  const place = `${path}/${encodeURIComponent(id)}`;
  let body = await get(place, { signal });
  if (ENDED.has(body.state)) return body;

  const points = [];
  const state = el("p", { class: "row" });
  const bar = el("progress", { "aria-label": "How far it is" });
  const figures = el("div");
  const picture = el("div");
  const cancel = el(
    "button",
    {
      type: "button",
      id: "cancel",
      onclick: async () => {
        cancel.disabled = true;
        cancel.textContent = "Ends with what it has";
        try {
          await post(`${place}/cancel`);
        } catch (error) {
          cancel.disabled = false;
          cancel.textContent = "Cancel";
          complain(error);
        }
      },
    },
    "Cancel",
  );
  fill(
    host,
    el(
      "section",
      { class: "card job", "aria-label": "The job at work" },
      state,
      bar,
      figures,
      picture,
      el("p", { class: "row" }, cancel),
    ),
  );
  const redraw = curves(picture, points, words);
  let told = "";

  function show(job) {
    const at = job.progress;
    const phase = at?.phase ? (PHASES[at.phase] ?? at.phase.replaceAll("_", " ")) : null;
    const doing = job.state === "queued" ? "It waits for its turn." : phase ? `It ${phase}.` : "It begins.";
    fill(
      state,
      badge(job.state),
      el("span", {}, doing),
      job.attempts > 1 ? el("span", { class: "faint" }, `Attempt ${job.attempts}.`) : null,
    );
    if (doing !== told) say(doing);
    told = doing;
    if (at?.total) {
      bar.max = at.total;
      bar.value = at.completed ?? 0;
    } else bar.removeAttribute("value");
    const hasBest = at && at.incumbent_us !== null;
    const best = hasBest ? time(at.incumbent_us) : null;
    const all = at?.total ? count(at.total, words.each).replace(/ .*/, "") : null;
    fill(
      figures,
      at
        ? facts([
            [
              "Done",
              all
                ? `${count(at.completed ?? 0, words.each)} of ${all}`
                : at.completed === null
                  ? null
                  : count(at.completed, words.each),
            ],
            [words.best, at.incumbent && best ? `${at.incumbent}, ${best}` : best],
            [words.bound, at.lower_bound_us === null ? null : time(at.lower_bound_us)],
            ["Gap", at.gap === null ? null : percent(at.gap, 2)],
          ])
        : null,
    );
    if (!hasBest) return;
    const point = { s: since(job), incumbent: at.incumbent_us, bound: at.lower_bound_us };
    const last = points.at(-1);
    if (last && last.s > point.s) points.length = 0; // it began anew
    const [a, b] = points.slice(-2);
    const isSame = (one) => one?.incumbent === point.incumbent && one?.bound === point.bound;
    if (isSame(a) && isSame(b)) points.pop(); // a level needs its two ends alone
    points.push(point);
    redraw().catch(complain);
  }

  const away = (isLost) =>
    isLost
      ? fill(state, badge(body.state), el("span", {}, "The service does not answer; it is asked again."))
      : show(body);

  /** The job as it is; while the service is away it is asked again and again. */
  async function again() {
    for (;;) {
      try {
        return await get(place, { signal });
      } catch (error) {
        if (!isAway(error)) throw error;
        away(true);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }

  const left = new AbortController();
  signal?.addEventListener("abort", () => left.abort());
  try {
    show(body);
    while (!ENDED.has(body.state)) {
      for await (const { data } of events(`${place}/events`, left.signal, away)) {
        body = { ...body, ...data };
        if (ENDED.has(data.state)) break;
        show(data);
      }
      signal?.throwIfAborted();
      body = await again(); // with its answer; or the server went and another goes on
    }
  } finally {
    left.abort();
    if (!signal?.aborted) fill(host);
  }
  say(`It has ended: ${stateOf(body.state)}.`);
  return body;
}
