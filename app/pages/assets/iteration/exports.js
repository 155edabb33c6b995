// What a plan or a simulation is taken along as: its request, its timeline, other tools' files.

import { el, fill } from "../elements/dom.js";
import { time } from "../elements/format.js";
import { save } from "../elements/save.js";
import { get } from "../service/api.js";
import { fileButton, workButton } from "../service/downloads.js";
import { saved } from "../service/saved.js";

/** @import { ExportOut } from "interlace-api" */

const folded = (text) => text.split("/").at(-1);

/**
 * Show what there is, and in a saved page what is inside; place is the API's path, formats the names of
 * exports, beside the rival or null, page the button that saves the page.
 *
 * @param {HTMLElement} host
 * @param {{
 *   place: string,
 *   formats: string[],
 *   beside: () => string | null,
 *   page: HTMLElement | null,
 * }} options
 */
export function files(host, { place, formats, beside, page }) {
  const notes = el("div", { "aria-live": "polite" });
  const format = el(
    "select",
    { id: "format" },
    formats.map((name) => el("option", {}, name)),
  );

  async function exported() {
    /** @type {ExportOut} */
    const found = await get(`${place}/export?format=${encodeURIComponent(format.value)}`);
    fill(
      notes,
      el(
        "p",
        {},
        `As ${found.format} it takes ${time(found.iteration_time_us)}; `,
        `the plan takes ${time(found.plan_time_us)}.`,
      ),
      found.notes.map((note) => el("p", { class: "note" }, note)),
      el(
        "p",
        { class: "row" },
        found.files.map((file) =>
          el(
            "button",
            {
              type: "button",
              onclick: () =>
                save(
                  folded(file.name),
                  file.text ?? new Blob([Uint8Array.from(atob(file.base64), (c) => c.charCodeAt(0))]),
                ),
            },
            `Save ${file.name}`,
          ),
        ),
      ),
    );
  }

  const query = () => (beside() === null ? "" : `?beside=${encodeURIComponent(beside())}`);
  const perfetto = el(
    "a",
    { href: "https://ui.perfetto.dev", rel: "noreferrer", target: "_blank" },
    "Perfetto",
  );
  const inside = [
    fileButton("Answer", () => place, "answer.json"),
    fileButton("Timeline for Perfetto", () => `${place}/timeline.json${query()}`, "timeline.json"),
  ];
  const head = el("h2", {}, "Take it along");
  if (saved !== undefined) {
    fill(host, head, el("p", { class: "row" }, inside, perfetto));
    return;
  }
  fill(
    host,
    head,
    el(
      "p",
      { class: "row" },
      page,
      fileButton("Request", () => `${place}/request`, "request.json"),
      inside,
      el("a", { href: `/compare?a=${place.slice("/v1/".length)}` }, "Compare with another answer"),
      perfetto,
    ),
    el(
      "div",
      { class: "row" },
      el("label", { for: "format" }, "Files for another tool"),
      format,
      workButton("Export", exported),
    ),
    notes,
  );
}
