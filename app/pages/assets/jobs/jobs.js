// The jobs of all kinds, the newest first: filtered, a page at a time, and kept up to date.

import { el, fill, say } from "../elements/dom.js";
import { choice, entry } from "../elements/form.js";
import { count, date, percent, time, UNKNOWN } from "../elements/format.js";
import { read, write } from "../elements/state.js";
import { complain, events, get, post, remove } from "../service/api.js";
import { label, provenOf, stateOf } from "../service/names.js";
import { badge } from "../service/progress.js";

/** @import { JobEntry, JobList } from "interlace-api" */

/** Each kind: its word, where its jobs are (the page is at the same path without /v1). */
const KINDS = {
  plan: ["plan", "/v1/plans"],
  simulation: ["simulation", "/v1/simulations"],
  sweep: ["sweep", "/v1/sweeps"],
  import: ["import", "/v1/imports"],
  parameter_server: ["parameter servers", "/v1/predictions/parameter-server"],
  ranking: ["ranking", "/v1/shapes/rankings"],
};
const STATES = ["queued", "running", "succeeded", "failed", "cancelled", "timed_out"];
const ENDED = new Set(STATES.slice(2));

/** The list is asked for again so often while it is looked at [ms]. */
const AGAIN_MS = 5000;

/** So many jobs are followed at once: a browser keeps six connections to a host, for all its pages. */
const FOLLOWED = 2;

const NONE = { kind: "", state: "", tag: "", text: "", cursor: "" };

/**
 * What a kind of job has to tell beside its times.
 *
 * @param {JobEntry} job
 */
function result(job) {
  if (job.kind === "sweep") return job.cells === null ? UNKNOWN : count(job.cells, "cell");
  if (job.kind === "parameter_server") return job.rows === null ? UNKNOWN : count(job.rows, "row");
  if (job.kind === "ranking") return job.shape ?? UNKNOWN;
  if (job.kind === "import")
    return job.graph_id ? el("a", { href: `/graphs/${encodeURIComponent(job.graph_id)}` }, "graph") : UNKNOWN;
  if (job.kind === "simulation") return job.policy ? label(job.policy) : UNKNOWN;
  return job.status ? provenOf(job.status) : UNKNOWN;
}

/**
 * The iteration time: of the best so far while it is at work.
 *
 * @param {JobEntry} job
 */
function timeOf(job) {
  if (job.iteration_time_us !== null) return time(job.iteration_time_us);
  const best = ENDED.has(job.state) ? null : (job.progress?.incumbent_us ?? null);
  return best === null ? UNKNOWN : `${time(best)} so far`;
}

/**
 * How far a job is that has not ended.
 *
 * @param {JobEntry} job
 */
function far(job) {
  const at = job.progress;
  return job.state === "running" && at?.total ? ` ${percent((at.completed ?? 0) / at.total, 0)}` : "";
}

/** A cell; of cards its label says what the heading says of a table. */
function cell(kind, label, ...content) {
  const isUnknown = content.length === 1 && content[0] === UNKNOWN;
  return el(
    "td",
    {
      role: "cell",
      class: [kind, isUnknown ? "unknown" : null].filter(Boolean).join(" ") || null,
      "data-label": label,
    },
    content,
  );
}

/**
 * Show the list in an element; its filters stand in the address.
 *
 * @param {HTMLElement} host
 */
export function jobList(host) {
  let asked = read(NONE);
  let jobs = [];
  let next = null;
  const before = []; // cursors of the pages that were turned
  const rows = new Map(); // id: its row, and what that shows
  const streams = new Map(); // id: what ends the stream of a job
  const isEmpty = () => Object.values(asked).every((value) => value === "");

  const kind = choice(
    "Kind",
    [["", "all"], ...Object.entries(KINDS).map(([key, [word]]) => [key, word])],
    asked.kind,
  );
  const state = choice("State", [["", "all"], ...STATES.map((each) => [each, stateOf(each)])], asked.state);
  const tag = entry("Tag", { type: "search", value: asked.tag });
  const text = entry("Name", { type: "search", value: asked.text, placeholder: "a part of it" });
  const body = el("tbody", { role: "rowgroup" });
  const foot = el("div", { class: "row pager" });
  const empty = el("div", { class: "empty", hidden: true });
  const late = el(
    "p",
    { class: "note", hidden: true },
    "The service does not answer; this is what it said last.",
  );
  const head = ["Name", "Kind", "State", "Iteration time", "Gap", "Answer", "Tags", "Begun", ""].map(
    (name, i) =>
      el(
        "th",
        { scope: "col", role: "columnheader", class: i === 3 || i === 4 ? "number" : null },
        name || el("span", { class: "unseen" }, "Actions"),
      ),
  );
  const region = el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Jobs, the newest first" },
    el(
      "table",
      { class: "jobs", role: "table" },
      el("caption", { class: "unseen" }, "Jobs, the newest first"),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
      body,
    ),
  );
  const filters = el(
    "form",
    {
      class: "fields",
      role: "search",
      "aria-label": "Which jobs",
      onsubmit: (event) => event.preventDefault(),
    },
    kind.field,
    state.field,
    text.field,
    tag.field,
  );
  fill(host, filters, late, region, empty, foot);

  const again = () => load().catch(complain);
  async function filter() {
    const found = {
      kind: kind.control.value,
      state: state.control.value,
      tag: tag.control.value.trim(),
      text: text.control.value.trim(),
    };
    asked = { ...found, cursor: "" };
    before.length = 0;
    write(asked);
    await again();
    say(`${count(jobs.length, "job")} listed.`);
  }
  for (const { control } of [kind, state, tag, text]) control.addEventListener("change", filter);
  let typing = null;
  for (const { control } of [tag, text])
    control.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(filter, 300);
    });
  async function turn(cursor) {
    asked = { ...asked, cursor };
    write(asked);
    await again();
    region.focus();
  }

  async function act(job, name, work) {
    for (const button of rows.get(job.id)?.row.querySelectorAll("button") ?? []) button.disabled = true;
    try {
      await work();
      say(`${job.name || job.id}: ${name}.`);
    } catch (error) {
      complain(error);
    }
    rows.delete(job.id);
    await again();
    if (document.activeElement === document.body) region.focus();
  }

  function rowOf(job) {
    const [word, path] = KINDS[job.kind];
    const place = `${path}/${encodeURIComponent(job.id)}`;
    const name = job.name || job.id;
    const cancel = () => act(job, "cancelled", () => post(`${place}/cancel`));
    const forget = () =>
      confirm(`Delete ${word} “${name}” and its answer?`) && act(job, "deleted", () => remove(place));
    return el(
      "tr",
      { "data-id": job.id, role: "row" }, // said, since narrow pages show rows as cards
      cell(
        "name",
        null,
        el("a", { href: place.slice("/v1".length) }, name),
        job.error ? el("div", { class: "faint" }, job.error.detail) : null,
      ),
      cell(null, null, word),
      cell("state", null, badge(job.state), far(job)),
      cell("number", null, timeOf(job)),
      cell(
        "number",
        "gap",
        percent(job.gap ?? (ENDED.has(job.state) ? null : (job.progress?.gap ?? null)), 2),
      ),
      cell(null, null, result(job)),
      cell(
        "tags",
        null,
        job.tags.map((each) =>
          el(
            "button",
            {
              type: "button",
              class: "quiet",
              "aria-label": `Jobs with the tag ${each}`,
              onclick: () => {
                tag.control.value = each;
                filter();
              },
            },
            each,
          ),
        ),
      ),
      cell("when", null, el("time", { datetime: job.created_at }, date(job.created_at))),
      cell(
        "acts",
        null,
        ENDED.has(job.state)
          ? null
          : el(
              "button",
              { type: "button", class: "quiet", "aria-label": `Cancel ${word} ${name}`, onclick: cancel },
              "Cancel",
            ),
        el(
          "button",
          { type: "button", class: "quiet", "aria-label": `Delete ${word} ${name}`, onclick: forget },
          "Delete",
        ),
      ),
    );
  }

  /** Put the rows in place; those that stay as they are keep their elements, and so their focus. */
  function show() {
    const shown = jobs.map((job) => {
      const { heartbeat_at: _, ...at } = job.progress ?? {};
      const told = JSON.stringify({ ...job, progress: at });
      const known = rows.get(job.id);
      if (known?.told === told) return known.row;
      const row = rowOf(job);
      if (known?.row.contains(document.activeElement)) {
        const at = [...known.row.querySelectorAll("a, button")].indexOf(document.activeElement);
        const next = /** @type {HTMLElement} */ (row.querySelectorAll("a, button")[at] ?? region);
        queueMicrotask(() => next.focus());
      }
      if (known && known.state !== job.state && ENDED.has(job.state))
        say(`${job.name || job.id}: ${stateOf(job.state)}.`);
      rows.set(job.id, { row, told, state: job.state });
      return row;
    });
    if (shown.length !== body.children.length || shown.some((row, i) => row !== body.children[i])) {
      const active = /** @type {HTMLElement} */ (document.activeElement);
      const focused = body.contains(active) ? active : null;
      body.replaceChildren(...shown);
      focused?.focus();
    }
    region.hidden = jobs.length === 0;
    empty.hidden = jobs.length > 0;
    filters.hidden = jobs.length === 0 && isEmpty();
    fill(
      empty,
      isEmpty()
        ? [
            el("p", { class: "lead" }, "Nothing was asked yet."),
            el(
              "p",
              {},
              "Drop a trace above, or press an example: its plan is there within seconds, ",
              "and stays in this list.",
            ),
          ]
        : el(
            "p",
            {},
            "No job is like that. ",
            el(
              "button",
              {
                type: "button",
                class: "quiet",
                onclick: () => {
                  for (const { control } of [kind, state, tag, text]) control.value = "";
                  filter();
                },
              },
              "Show all",
            ),
          ),
    );
    fill(
      foot,
      asked.cursor
        ? el("button", { type: "button", onclick: () => turn(before.pop() ?? "") }, "Newer")
        : null,
      next
        ? el(
            "button",
            {
              type: "button",
              onclick: () => {
                before.push(asked.cursor);
                turn(next);
              },
            },
            "Older",
          )
        : null,
    );
    follow();
  }

  /** Follow those at work by their own events; the others are seen when the list is asked again. */
  function follow() {
    const wanted = document.hidden
      ? []
      : jobs
          .filter((job) => !ENDED.has(job.state))
          .sort((a, b) => Number(b.state === "running") - Number(a.state === "running"))
          .slice(0, FOLLOWED)
          .map((job) => job.id);
    for (const [id, left] of streams)
      if (!wanted.includes(id)) {
        streams.delete(id);
        left.abort();
      }
    for (const id of wanted) if (!streams.has(id)) listen(jobs.find((job) => job.id === id));
  }

  async function listen({ id, kind: which }) {
    const left = new AbortController();
    streams.set(id, left);
    try {
      for await (const { data } of events(
        `${KINDS[which][1]}/${encodeURIComponent(id)}/events`,
        left.signal,
      )) {
        if (ENDED.has(data.state)) break; // its answer is in the list alone
        jobs = jobs.map((job) => (job.id === id ? { ...job, ...data } : job));
        show();
      }
    } catch {
      // it was deleted, or the page has let it go: the list tells
    }
    if (left.signal.aborted) return;
    left.abort();
    await again();
    streams.delete(id);
  }

  let turnOf = 0;
  async function load() {
    turnOf += 1;
    const mine = turnOf;
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ""));
    /** @type {JobList} */
    const found = await get(`/v1/jobs?${query}`);
    if (mine !== turnOf) return; // something else was asked meanwhile
    late.hidden = true;
    ({ jobs, next_cursor: next } = found);
    for (const id of rows.keys()) if (!jobs.some((job) => job.id === id)) rows.delete(id);
    show();
  }

  let isLate = false;
  async function keep() {
    if (document.hidden || isLate) return;
    isLate = true;
    await load().catch((error) => (late.hidden = error.status === 401)); // the next time, perhaps
    isLate = false;
  }
  setInterval(keep, AGAIN_MS);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) follow();
    else keep();
  });
  addEventListener("keychange", again);
  again();
}
