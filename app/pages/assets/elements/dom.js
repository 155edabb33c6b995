// Elements made of values: whatever comes from users becomes text, never markup.

/** @typedef {Node | string | number | null | undefined | readonly any[]} Child */

/** @typedef {string | number | boolean | null | undefined | ((event: any) => unknown)} Attribute */

/** @typedef {Record<string, Attribute>} Attributes */

/**
 * Make an element. Attributes that are functions listen ("onclick"), those that are true or false
 * are there or not, null ones are left out; children are elements or text.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/**
 * Make an element of a drawing; else as {@link el}.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/**
 * Draw in an element, and again whenever its width has changed.
 *
 * @param {HTMLElement} host
 * @param {(width: number) => SVGElement} make
 */
export function drawn(host, make) {
  let wide = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === wide || host.clientWidth === 0) return;
    wide = host.clientWidth;
    fill(host, make(wide));
  }).observe(host);
}

/**
 * Put something in the place of what an element has.
 *
 * @template {Element} Host
 * @param {Host} host
 * @param {...Child} children
 * @returns {Host}
 */
export function fill(host, ...children) {
  host.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return host;
}

/**
 * The element with an id, which the template has.
 *
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element #${id}`);
  return found;
}

/**
 * Names and values, one beside the other.
 *
 * @param {Child[][]} pairs
 */
export function facts(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

/**
 * Say in the live region of the page what has changed, for who does not see it.
 *
 * @param {string} text
 */
export function say(text) {
  let region = document.getElementById("said");
  if (region === null) {
    region = el("div", { id: "said", class: "unseen", role: "status" });
    document.body.append(region);
  }
  region.textContent = text;
}
