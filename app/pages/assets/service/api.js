// The public API as scripts ask it: JSON, problems, events, and the reader's API key.

import { el } from "../elements/dom.js";
import { inside, saved } from "./saved.js";

/** @import { FaultOut, ProblemDetails } from "interlace-api" */

/** @typedef {{ signal?: AbortSignal }} Signalled */

const KEY = "interlace-key";

/** What the service refused, as it says it (RFC 9457). */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The service answered ${status}.`);
    this.status = status;
    this.code = body.code ?? null;
    this.faults = body.errors ?? [];
  }
}

export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return { "X-Interlace-Request": "1", ...(key ? { Authorization: `Bearer ${key}` } : {}), ...more };
}

/** The answer; null where it is to be asked anew, with another key than the one that was sent. */
async function checked(response, sent) {
  if (response.ok) return response;
  let body = {};
  try {
    body = await response.json();
  } catch {
    // no problem of the service's: a proxy's page, say
  }
  const problem = new Problem(response.status, body);
  if (response.status === 401) {
    if (sessionStorage.getItem(KEY) !== sent) return null;
    if (!isDeclined && (await askForKey(problem.message))) return null;
  }
  throw problem;
}

/** Ask, and again with a key where one is needed. */
async function ask(path, options) {
  if (saved !== undefined) {
    const found = inside(path);
    if (found === null) throw new Problem(404, { detail: "This file does not have that inside." });
    return found;
  }
  for (;;) {
    const sent = sessionStorage.getItem(KEY);
    const response = await checked(
      await fetch(path, { ...options, headers: headers(options.headers) }),
      sent,
    );
    if (response !== null) return response;
  }
}

/**
 * GET something as JSON.
 *
 * @param {string} path
 * @param {Signalled} [options]
 * @returns {Promise<any>} what the OpenAPI document says; the caller knows which
 */
export async function get(path, { signal } = {}) {
  return (await ask(path, { signal })).json();
}

/**
 * GET something as text or, with `as: "blob"`, as a file.
 *
 * @param {string} path
 * @param {Signalled & { as?: "text" | "blob" }} [options]
 */
export async function download(path, { as = "text", signal } = {}) {
  return (await ask(path, { signal }))[as]();
}

/**
 * POST JSON, or files as a form; returns the body, and where it stays if the answer says so.
 *
 * @param {string} path
 * @param {object} [body]
 * @param {Signalled & { more?: Record<string, string> }} [options]
 * @returns {Promise<{ body: any, location: string | null, status: number }>}
 */
export async function post(path, body, { signal, more = {} } = {}) {
  const isForm = body instanceof FormData;
  const response = await ask(path, {
    method: "POST",
    signal,
    body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
    headers: { ...(isForm || body === undefined ? {} : { "Content-Type": "application/json" }), ...more },
  });
  return { body: await response.json(), location: response.headers.get("Location"), status: response.status };
}

/**
 * DELETE something.
 *
 * @param {string} path
 */
export async function remove(path) {
  await ask(path, { method: "DELETE" });
}

/**
 * Whether nobody answered but, perhaps, what stands before the service: it may be there again soon.
 *
 * @param {any} error
 */
export function isAway(error) {
  return !(error instanceof Problem) || [502, 503, 504].includes(error.status);
}

/**
 * Follow server-sent events (fetch, since EventSource sends no key); yields each event's data.
 * A connection that is lost is made again after a second, from the last event on; onaway is
 * told so, true when it is lost and false when it is there again.
 *
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(isLost: boolean) => void} [onaway]
 * @returns {AsyncGenerator<{ event: string, data: any }>}
 */
export async function* events(path, signal, onaway = () => {}) {
  let last = null;
  let isLost = false;
  while (!signal.aborted) {
    try {
      const more = { Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) };
      const response = await ask(path, { signal, headers: more });
      if (isLost) onaway(false);
      isLost = false;
      if (response.status === 204) return;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let buffer = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        buffer += value;
        for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
          const lines = buffer.slice(0, end).split("\n");
          buffer = buffer.slice(end + 2);
          const of = (name) =>
            lines
              .filter((line) => line.startsWith(`${name}:`))
              .map((line) => line.slice(name.length + 1).trim());
          last = of("id").at(-1) ?? last;
          const data = of("data").join("\n");
          if (data) yield { event: of("event").at(-1) ?? "message", data: JSON.parse(data) };
        }
      }
    } catch (error) {
      if (signal.aborted || !isAway(error)) throw error;
      isLost = true;
      onaway(true);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/**
 * A problem as people read it: the sentence, and each fault with its place.
 *
 * @param {any} error
 */
export function shown(error) {
  const faults = (error.faults ?? []).filter((fault) => fault.pointer || fault.detail !== error.message);
  const hidden = faults.length - 20;
  return el(
    "div",
    { class: "problem" },
    el(
      "p",
      {},
      error instanceof Problem
        ? error.message
        : error instanceof TypeError && /fetch/i.test(error.message)
          ? "The service does not answer."
          : String(error.message ?? error),
    ),
    faults.length
      ? el(
          "ul",
          {},
          faults
            .slice(0, 20)
            .map((fault) =>
              el(
                "li",
                {},
                fault.pointer ? el("code", {}, fault.pointer) : null,
                fault.pointer ? ": " : "",
                fault.detail ?? "",
              ),
            ),
          hidden > 0 ? el("li", {}, `and ${hidden} more`) : null,
        )
      : null,
  );
}

/**
 * Show a problem at the top of the page, in the place of the last one.
 *
 * @param {any} error
 */
export function complain(error) {
  if (error?.name === "AbortError") return;
  const host = document.getElementById("problems");
  host.replaceChildren(shown(error));
  host.scrollIntoView({ block: "nearest" });
  if (!(error instanceof Problem)) console.warn(error);
}

let asked = null;

/** Whether the reader would give no key: who is asked again and again can use nothing of the page. */
let isDeclined = false;

/**
 * Ask the reader for an API key; whether one was given.
 *
 * @param {string} [why]
 * @returns {Promise<boolean>}
 */
export function askForKey(why = "Calls are made with this API key.") {
  asked ??= new Promise((resolve) => {
    const input = el("input", {
      id: "key-text",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
      oninput: () => input.setCustomValidity(""),
    });
    const close = (isGiven) => {
      dialog.close();
      dialog.remove();
      asked = null;
      isDeclined = !isGiven;
      dispatchEvent(new Event("keychange"));
      resolve(isGiven);
    };
    const dialog = el(
      "dialog",
      { "aria-labelledby": "key-title", oncancel: () => close(false) },
      el("h2", { id: "key-title" }, "API key"),
      el("p", {}, why, " It is kept in this tab only, until it is closed."),
      el("label", { for: "key-text" }, "Key"),
      input,
      el(
        "p",
        { class: "row" },
        el(
          "button",
          {
            type: "button",
            class: "main",
            onclick: () => {
              const text = input.value.trim();
              input.setCustomValidity(
                /^[!-~]*$/.test(text) ? "" : "A key has letters, digits and marks of ASCII, without spaces.",
              );
              if (!input.reportValidity()) return;
              sessionStorage.setItem(KEY, text);
              close(true);
            },
          },
          "Use it",
        ),
        el(
          "button",
          {
            type: "button",
            onclick: () => {
              sessionStorage.removeItem(KEY);
              close(false);
            },
          },
          "Forget it",
        ),
      ),
    );
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") /** @type {HTMLElement} */ (dialog.querySelector("button.main")).click();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asked;
}
