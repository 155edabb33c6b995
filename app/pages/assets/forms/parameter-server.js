// From profiled steps of a trace of parameter servers to a prediction.

import { el, fill } from "../elements/dom.js";
import { blame, entry, forgive, numberIn, numbersIn } from "../elements/form.js";
import { pageOf } from "../reading/upload.js";
import { complain, Problem, post } from "../service/api.js";

/** @import { ProfiledStepBody } from "interlace-api" */

/**
 * Show the form of steps, as an import tells them.
 *
 * @param {HTMLElement} host
 * @param {ProfiledStepBody[]} steps
 * @param {string} name
 */
export function serverForm(host, steps, name) {
  const workers = entry("Workers", { value: "1, 2, 4, 8, 16" }, { pointer: "/workers" });
  const bandwidths = entry("Bandwidths", { value: "10" }, { unit: "Gbit/s", pointer: "/bandwidths_gbps" });
  const batch = entry(
    "Batch",
    { type: "number", min: 1, step: 1, value: 32 },
    { hint: "Examples of a worker's step.", pointer: "/batch_size" },
  );
  const form = el(
    "form",
    {
      novalidate: true,
      "aria-label": "Predict training through parameter servers",
      onsubmit: async (event) => {
        event.preventDefault();
        forgive(form);
        try {
          const body = {
            name,
            steps,
            workers: numbersIn(workers),
            bandwidths_gbps: numbersIn(bandwidths),
            batch_size: numberIn(batch),
          };
          const { location } = await post("/v1/predictions/parameter-server?wait=0", body);
          window.location.assign(pageOf(location));
        } catch (error) {
          complain(error);
          if (error instanceof Problem) blame(form, error.faults);
        }
      },
    },
    el("div", { class: "fields" }, workers.field, bandwidths.field, batch.field),
    el("p", {}, el("button", { type: "submit", class: "main" }, "Predict")),
  );
  fill(
    host,
    el("h2", {}, "Through parameter servers"),
    el(
      "p",
      {},
      "The files are of training through parameter servers: ",
      `${steps.length === 1 ? "one profiled step" : `${steps.length} profiled steps`}.`,
    ),
    form,
  );
}
