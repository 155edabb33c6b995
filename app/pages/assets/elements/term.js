// A word of an answer with its sentence of the glossary, and a link to all of them.

import { names } from "../service/names.js";
import { saved } from "../service/saved.js";
import { el } from "./dom.js";

let made = 0;

/** Where the page of the glossary has a term. */
export const anchorOf = (name) => name.replaceAll(" ", "-");

/**
 * A term as a link, in a saved page as text, that tells its meaning when pointed at or focused; the text
 * alone where the glossary has no such term.
 *
 * @param {string} name
 * @param {string} [text]
 */
export function term(name, text = name) {
  const said = names.glossary[name];
  if (!said) return text;
  made += 1;
  const id = `term-${made}`;
  return el(
    "span",
    { class: "term" },
    saved === undefined
      ? el("a", { href: `/help#${anchorOf(name)}`, "aria-describedby": id }, text)
      : el("span", { tabindex: 0, "aria-describedby": id }, text),
    el("span", { class: "told", role: "tooltip", id }, said),
  );
}

addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.documentElement.classList.add("untold"); // until the pointer or the focus moves on
  const again = () => document.documentElement.classList.remove("untold");
  addEventListener("pointermove", again, { once: true });
  addEventListener("focusin", again, { once: true });
});
