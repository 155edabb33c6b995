// The state of a page stands in its address: a link shows what its sender saw.

import { saved, sent } from "../service/saved.js";

if (sent && !location.search) history.replaceState(null, "", sent + location.hash);

/**
 * The state, each value as text; `defaults` says which names there are.
 *
 * @template {string} Name
 * @param {Record<Name, string>} defaults
 * @returns {Record<Name, string>}
 */
export function read(defaults) {
  const query = new URLSearchParams(location.search);
  const values = Object.entries(defaults).map(([name, value]) => [name, query.get(name) ?? value]);
  return /** @type {Record<Name, string>} */ (Object.fromEntries(values));
}

/**
 * Change some of the state; null and "" leave a name out. The reader's Back is not filled with it.
 *
 * @param {Record<string, string | number | boolean | null | undefined>} changes
 */
export function write(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  if (url.href !== location.href) history.replaceState(null, "", url);
}

/**
 * The last part of the path: the id of what the page is about; as it stands where it is no text.
 *
 * @returns {string}
 */
export function idOfPage() {
  if (saved !== undefined) return saved;
  const last = location.pathname.split("/").at(-1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
