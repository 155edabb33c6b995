// A page with its answers as one file of HTML, which any browser opens without the service.

import { fileName, save } from "../elements/save.js";
import { download } from "./api.js";
import { workButton } from "./downloads.js";
import { saved } from "./saved.js";

/**
 * A button that saves the page as it stands; null in a page that was saved.
 *
 * page: the name of its script; id: of what it shows; answers(): all that it asks for, by path.
 *
 * @param {string} page
 * @param {string} id
 * @param {() => Record<string, any> | Promise<Record<string, any>>} answers
 */
export function pageButton(page, id, answers) {
  if (saved !== undefined) return null;
  return workButton("Save as one file", async () => {
    const [text, inside] = await Promise.all([download(`/one-file/${page}.html`), answers()]);
    const whole = new DOMParser().parseFromString(text, "text/html");
    whole.title = document.title;
    whole.getElementById("title").textContent = document.getElementById("title").textContent;
    whole.querySelector("noscript .lead").textContent =
      document.querySelector(".summary, .lead")?.textContent ?? "";
    Object.assign(whole.body.dataset, { saved: id, state: location.search });
    for (const [path, value] of Object.entries(inside)) {
      const script = whole.createElement("script");
      script.type = "application/json";
      script.dataset.path = path;
      script.textContent = JSON.stringify(value).replaceAll("<", "\\u003c"); // it ends no script
      whole.body.append(script);
    }
    const name = document.getElementById("title").textContent;
    save(fileName(name, "html"), `<!doctype html>\n${whole.documentElement.outerHTML}\n`, "text/html");
  });
}
