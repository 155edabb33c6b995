// What a gain is, and on what an answer rests, in the service's own sentences.

import { names } from "../service/names.js";
import { el } from "./dom.js";
import { percent } from "./format.js";

/** @import { Evidence } from "interlace-api" */

/**
 * What you run, in words.
 *
 * @param {{ over: string, bucket_cap_mb?: number | null }} gain
 */
export const named = ({ over, bucket_cap_mb: cap }) =>
  `${names.what_runs[over] ?? over}${cap ? ` (bucket_cap_mb ${cap})` : ""}`;

/**
 * How much less something takes than what you run.
 *
 * @param {{ gain: number | null, over: string, bucket_cap_mb?: number | null }} given
 */
export function less(given) {
  const { gain } = given;
  const name = named(given);
  if (gain === null) return `Nothing known against ${name}`;
  if (Math.abs(gain) < 0.0005) return `As long as ${name}`;
  return `${percent(Math.abs(gain))} ${gain > 0 ? "less" : "more"} than ${name}`;
}

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
