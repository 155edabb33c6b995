// On what an answer rests, in the service's own sentences.

import { el } from "./dom.js";

/** @import { Evidence } from "interlace-api" */

/**
 * What was measured, and below which gain nothing follows; null where nothing was.
 *
 * @param {Evidence | null | undefined} evidence
 */
export function restsOn(evidence) {
  return evidence?.sentences.length
    ? el(
        "div",
        { class: "evidence" },
        evidence.sentences.map((each) => el("p", { class: "note" }, each)),
      )
    : null;
}
