// Fields of a page: what is chosen in them stands in the address.

import { el } from "./dom.js";
import { labelled } from "./form.js";

/**
 * A labelled choice; options: [[value, text], ...]. Returns { field, set(options, value), select }.
 *
 * @param {string} name
 * @param {string[][]} options
 * @param {string | number} value
 * @param {(value: string) => void} onchange
 */
export function choice(name, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) });
  const set = (given, chosen) => {
    select.replaceChildren(
      ...given.map(([key, text]) =>
        el("option", { value: key, selected: String(key) === String(chosen) }, text),
      ),
    );
  };
  set(options, value);
  return { field: labelled(name, select).field, set, select };
}

/**
 * Boxes to tick, one a name; off: the names that are not. Says which are off when that changes.
 *
 * @param {string} legend
 * @param {string[]} names
 * @param {Iterable<string>} off
 * @param {(left: string[]) => void} onchange
 */
export function boxes(legend, names, off, onchange) {
  const left = new Set(off);
  return el(
    "fieldset",
    { class: "boxes row" },
    el("legend", {}, legend),
    names.map((name) => {
      const box = el("input", {
        type: "checkbox",
        checked: !left.has(name),
        onchange: () => {
          if (box.checked) left.delete(name);
          else left.add(name);
          onchange([...left]);
        },
      });
      return el("label", {}, box, " ", name);
    }),
  );
}

/**
 * Several texts in one value of the address, and back; a text may have commas in it.
 *
 * @param {string[]} texts
 */
export function joined(texts) {
  return texts.length ? JSON.stringify(texts) : "";
}

/**
 * @param {string} text
 * @returns {string[]}
 */
export function parted(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return [];
  }
}
