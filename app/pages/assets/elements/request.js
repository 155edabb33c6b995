// A request as JSON: loaded, pasted, dropped or changed in a few fields, asked, and kept in the link.

import { complain, get, Problem, post } from "../service/api.js";
import { pageButton } from "../service/one-file.js";
import { saved } from "../service/saved.js";
import { el, fill, say } from "./dom.js";
import { blame, entry, forgive, labelled } from "./form.js";

/** @typedef {{ name: string, of: string, unit?: string, isNumber?: boolean }} QuickField */

/** @typedef {{ body: any, remark?: HTMLElement | null }} Solved */

/** @typedef {(request: any, host: HTMLElement, signal: AbortSignal) => Promise<Solved>} Solve */

/**
 * @typedef {object} RequestOptions
 * @property {string} path
 * @property {string} verb
 * @property {string} empty
 * @property {string} busy
 * @property {QuickField[]} [fields]
 * @property {(request: any) => any} [asked]
 * @property {Solve} [solve]
 * @property {() => Promise<any>} [given]
 * @property {(answer: any, request: any) => void | Promise<void>} show
 */

const KEY = "request=";

/** The request of the link; null where it has none. It stands behind the #, which no server is sent. */
function linked() {
  const found = location.hash.slice(1);
  if (!found.startsWith(KEY)) return null;
  try {
    return JSON.parse(decodeURIComponent(found.slice(KEY.length)));
  } catch {
    throw new Problem(400, { detail: "The request in the link cannot be read: some of it is missing." });
  }
}

/** What the service's own document has for a path: an example of a request, and its fields. */
async function described(path) {
  const document = await get("/openapi.json");
  const { schema, example } = document.paths[path].post.requestBody.content["application/json"];
  return { example, known: document.components.schemas[schema.$ref.split("/").at(-1)].properties };
}

/**
 * Fill form and result of a page whose answer comes while its reader waits.
 *
 * path: what is asked; verb: words of the button; empty, busy: what is said before and meanwhile;
 * fields: figures of the request that have a field of their own, by their names in it;
 * asked(request): what is sent; show(answer, request): shows the answer. solve(request, host, signal)
 * asks in another way, and says in the host how far that is: its body is null where nothing is to be
 * shown, its remark stands above the answer. given(): a request to begin with, where the page is of
 * one that was asked before.
 *
 * @param {HTMLElement} form
 * @param {HTMLElement} work
 * @param {HTMLElement} content
 * @param {RequestOptions} options
 */
export async function ask(
  form,
  work,
  content,
  { path, verb, empty, busy, fields = [], asked = (request) => request, solve, given, show },
) {
  if (saved !== undefined) {
    const request = await get(`${path}/request`);
    const source = el("pre", {}, el("code", {}, JSON.stringify(request, null, 2)));
    fill(form, el("details", {}, el("summary", {}, "The request as JSON"), source));
    content.hidden = false;
    await show(await get(path), request);
    return;
  }
  let left = new AbortController();
  const text = el("textarea", { rows: 14, spellcheck: "false", class: "source", oninput: spread });
  const quick = fields.map((field) => ({
    ...field,
    ...entry(field.name, { oninput: () => change(field) }, { pointer: `/${field.of}`, unit: field.unit }),
  }));
  const file = el("input", { type: "file", accept: ".json", class: "unseen", tabindex: -1 });
  file.setAttribute("aria-label", "A request as JSON");
  file.addEventListener("change", () => load(file.files[0]));
  const source = el("details", {}, el("summary", {}, "The request as JSON"));
  source.append(labelled(`Body of POST ${path}`, text, { pointer: "" }).field);
  /** @type {Record<string, any>} */
  let inside = {};
  const page = pageButton(path.split("/").at(-1), "", () => inside);
  const own = el(
    "form",
    { ondragover: (event) => event.preventDefault(), ondrop: dropped },
    quick.length
      ? el(
          "div",
          { class: "fields quick" },
          quick.map(({ field }) => field),
        )
      : null,
    source,
    el(
      "p",
      { class: "row" },
      el("button", { type: "submit", class: "main" }, verb),
      el("button", { type: "button", onclick: () => example().catch(complain) }, "Load the example"),
      el("button", { type: "button", onclick: () => file.click() }, "Open a file"),
      file,
      page,
    ),
  );
  fill(form, own);
  own.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });

  function set(request) {
    text.value = JSON.stringify(request, null, 2);
    spread();
  }

  /** Show in the fields what the text has; what is no plain value stays in the text alone. */
  function spread() {
    let request = {};
    try {
      request = JSON.parse(text.value);
    } catch {
      // said when it is sent
    }
    for (const { of, control } of quick) {
      const value = request?.[of];
      control.disabled = value !== null && typeof value === "object";
      control.value = control.disabled ? "in the JSON below" : (value ?? "");
    }
  }

  /** @param {QuickField} field */
  function change({ of, isNumber = false }) {
    const { control } = quick.find((field) => field.of === of);
    let request;
    try {
      request = JSON.parse(text.value);
    } catch {
      return;
    }
    const value = control.value.trim();
    if (value === "") delete request[of];
    else request[of] = isNumber && Number.isFinite(Number(value)) ? Number(value) : value;
    text.value = JSON.stringify(request, null, 2);
  }

  async function load(chosen) {
    if (!chosen) return;
    text.value = await chosen.text();
    spread();
    run();
  }

  function dropped(event) {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    load(event.dataTransfer.files[0]).catch(complain);
  }

  async function example() {
    set((await about).example);
    await run();
  }

  /** Say in empty fields what is taken, and what else there is. */
  async function suggest() {
    const { known } = await about;
    for (const { of, control, field } of quick) {
      control.placeholder = known[of]?.default ?? "";
      if (!known[of]?.enum) continue;
      const choices = el("datalist", { id: `${control.id}-choices` });
      fill(
        choices,
        known[of].enum.map((value) => el("option", { value })),
      );
      control.setAttribute("list", choices.id);
      field.append(choices);
    }
  }

  /** isGiven: the page is of this very request, and so is its address. */
  async function run(isGiven = false) {
    left.abort();
    left = new AbortController();
    const { signal } = left;
    forgive(own);
    document.getElementById("problems").replaceChildren();
    let request;
    try {
      request = JSON.parse(text.value);
    } catch (/** @type {any} */ error) {
      blame(own, [{ pointer: "", detail: `This is no JSON: ${error.message}` }]);
      return;
    }
    const link = `${KEY}${encodeURIComponent(JSON.stringify(request))}`;
    const home = path.slice("/v1".length);
    if (!isGiven) history.replaceState(null, "", `${home}${location.search}#${link}`);
    const stop = () => {
      left.abort();
      fill(work, el("p", { class: "faint" }, "It was stopped; nothing of it is kept."));
    };
    content.hidden = true;
    page.hidden = true;
    fill(
      work,
      el(
        "section",
        { class: "card job" },
        el("p", {}, busy),
        el("progress", { "aria-label": "It is being computed" }),
        el("p", {}, el("button", { type: "button", onclick: stop }, "Stop")),
      ),
    );
    say(busy);
    try {
      const { body, remark } = await (solve
        ? solve(asked(request), work, signal)
        : post(path, asked(request), { signal }).then((answer) => ({ body: answer.body, remark: null })));
      if (signal.aborted) return;
      fill(work, remark);
      if (body === null) return;
      content.hidden = false;
      inside = { [path]: body, [`${path}/request`]: request };
      page.hidden = false;
      await show(body, request);
      say("The answer is there.");
    } catch (/** @type {any} */ error) {
      if (signal.aborted) return;
      fill(work);
      content.hidden = true;
      complain(error);
      if (error.faults?.length) {
        blame(own, error.faults);
      }
    }
  }

  page.hidden = true;
  const about = described(path);
  suggest().catch(complain);
  const before = given ? await given() : linked();
  if (before !== null) {
    set(before);
    await run(Boolean(given));
    return;
  }
  fill(work, el("p", { class: "faint" }, empty));
  set((await about).example);
}
