// Files of the service, fetched with the reader's key and saved.

import { el } from "../elements/dom.js";
import { save } from "../elements/save.js";
import { complain, download } from "./api.js";

/**
 * A button that cannot be pressed again while it works.
 *
 * @param {string} text
 * @param {() => Promise<void>} work
 */
export function workButton(text, work) {
  const button = el(
    "button",
    {
      type: "button",
      onclick: async () => {
        button.disabled = true;
        try {
          await work();
        } catch (error) {
          complain(error);
        } finally {
          button.disabled = false;
        }
      },
    },
    text,
  );
  return button;
}

/**
 * A button that saves a file of the service under a name; path() is asked for when it is pressed.
 *
 * @param {string} text
 * @param {() => string} path
 * @param {string} name
 */
export function fileButton(text, path, name) {
  return workButton(text, async () => save(name, await download(path(), { as: "blob" })));
}
