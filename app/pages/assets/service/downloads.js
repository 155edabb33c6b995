// Files of the service, fetched with the reader's key and saved.

import { complain, download } from "./api.js";
import { el } from "../elements/dom.js";
import { fileName, save } from "../elements/save.js";

/** A button that saves a file of the service; about: what the file is called after. */
export function fileButton(text, path, about, ending) {
  return el(
    "button",
    { type: "button", onclick: () => download(path, { as: "blob" }).then((blob) => save(fileName(about, ending), blob)).catch(complain) },
    text,
  );
}
