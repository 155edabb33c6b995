// Forms: labelled fields, each of which knows its place in the request, and the faults beside them.

import { el } from "./dom.js";

/** @import { Attributes } from "./dom.js" */
/** @import { FaultOut } from "interlace-api" */

/** @typedef {{ pointer?: string, hint?: string, unit?: string }} About */

let made = 0;

/** An id that no other element of the page has. */
function newId(kind) {
  made += 1;
  return `${kind}-${made}`;
}

/**
 * Label a control: pointer is its place in the request, hint stands below it, unit behind its name.
 *
 * @template {HTMLElement} Control
 * @param {string} name
 * @param {Control} control
 * @param {About} [about]
 * @returns {{ field: HTMLDivElement, control: Control }}
 */
export function labelled(name, control, { pointer = null, hint = null, unit = null } = {}) {
  const id = newId("input");
  control.id = id;
  const words = hint ? el("small", { id: `${id}-hint`, class: "faint" }, hint) : null;
  if (words) control.setAttribute("aria-describedby", words.id);
  const label = el("label", { for: id }, name, unit ? el("span", { class: "unit" }, ` [${unit}]`) : null);
  return { field: el("div", { class: "field", "data-pointer": pointer }, label, control, words), control };
}

/**
 * A labelled input; pointer is its place in the request, as faults name it (RFC 6901).
 * Returns { field, control }.
 *
 * @param {string} name
 * @param {Attributes} [attributes]
 * @param {About} [about]
 */
export function entry(name, attributes = {}, about = {}) {
  return labelled(name, el("input", { autocomplete: "off", ...attributes }), about);
}

/**
 * A labelled choice; options: [[value, text], ...], or [heading, [[value, text], ...]] for a group.
 *
 * @param {string} name
 * @param {(string | readonly any[])[][]} options
 * @param {string} value
 * @param {About} [about]
 */
export function choice(name, options, value, about = {}) {
  /** @type {(option: readonly any[]) => HTMLOptionElement} */
  const one = ([key, text]) => el("option", { value: key, selected: key === value }, text);
  const all = options.map(([key, text]) =>
    Array.isArray(text)
      ? text.length
        ? el("optgroup", { label: String(key) }, text.map(one))
        : null
      : one([key, text]),
  );
  return labelled(name, el("select", {}, all), about);
}

/**
 * A box to tick, with its label beside it.
 *
 * @param {string} name
 * @param {boolean} checked
 * @param {About} [about]
 */
export function box(name, checked, about = {}) {
  const id = newId("input");
  const control = el("input", { id, type: "checkbox", checked });
  return {
    field: el(
      "div",
      { class: "field box", "data-pointer": about.pointer ?? null },
      control,
      el("label", { for: id }, name),
    ),
    control,
  };
}

/**
 * The number in an input; null when it is empty.
 *
 * @param {{ control: HTMLInputElement }} entry
 */
export function numberIn({ control }) {
  return control.value.trim() === "" ? null : Number(control.value);
}

/**
 * The numbers in a text: "2, 4 8". What is no number stays text, for the service to name.
 *
 * @param {{ control: HTMLInputElement }} entry
 */
export function numbersIn({ control }) {
  return control.value
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((word) => (Number.isFinite(Number(word)) ? Number(word) : word));
}

/**
 * A name as a step of a pointer.
 *
 * @param {string} name
 */
export function step(name) {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Leave some of what describes a field, and add what is new. */
function describe(control, isLeft, ...more) {
  const ids = [
    ...(control.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && isLeft(id)),
    ...more,
  ];
  if (ids.length) control.setAttribute("aria-describedby", ids.join(" "));
  else control.removeAttribute("aria-describedby");
}

/**
 * Take away what was said of faults.
 *
 * @param {HTMLElement} form
 */
export function forgive(form) {
  for (const said of form.querySelectorAll(".fault")) said.remove();
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    describe(control, (id) => !id.startsWith("fault-"));
  }
}

/**
 * Say each fault beside the field that it is about, the one with the longest pointer; focus the first.
 *
 * @param {HTMLElement} form
 * @param {Pick<FaultOut, "pointer" | "detail">[]} faults
 */
export function blame(form, faults) {
  forgive(form);
  const all = /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-pointer]")]);
  const fields = all.filter((field) => !field.closest("[hidden]"));
  const size = (field) => field.dataset.pointer.length;
  let first = null;
  for (const { pointer, detail } of faults) {
    const about = fields
      .filter(
        (field) => pointer === field.dataset.pointer || pointer?.startsWith(`${field.dataset.pointer}/`),
      )
      .sort((a, b) => size(b) - size(a))[0];
    /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */
    const control = about?.querySelector("input, select, textarea");
    if (!control) continue;
    const said = el("p", { class: "fault", id: newId("fault") }, detail);
    about.append(said);
    control.setAttribute("aria-invalid", "true");
    describe(control, () => true, said.id);
    for (let up = about.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    first ??= control;
  }
  first?.focus();
}
