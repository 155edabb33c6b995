// The first thing that an answer says: figures beside each other, each with what is to be known of it.

import { el } from "./dom.js";

/** @import { Child } from "./dom.js" */

/**
 * One of the figures; kind: "today", "plan" or "bound", by which it is marked.
 *
 * @param {string} kind
 * @param {Child} name
 * @param {Child} value
 * @param {Child} [note]
 */
export function figure(kind, name, value, note = null) {
  return el(
    "div",
    { class: `figure ${kind}` },
    el("div", { class: "name" }, name),
    el("div", { class: "value" }, value),
    note ? el("div", { class: "doubt" }, note) : null,
  );
}
