// What a benchmark printed, as a cost model.

import { el, fill } from "../elements/dom.js";
import { choice, entry } from "../elements/form.js";
import { complain, post } from "../service/api.js";
import { names } from "../service/names.js";

const FITS = [["best", "the best of all"], ...names.fits.map((name) => [name, name])];

/** How a pickle begins; it is sent as a data URL. */
const PICKLE = 0x80;

/**
 * Read a file as the text that a service takes.
 *
 * @param {File} file
 * @returns {Promise<string>}
 */
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== PICKLE) return file.text();
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return `data:application/octet-stream;base64,${btoa(letters.join(""))}`;
}

/**
 * Show the form; what is made has a page of its own.
 *
 * @param {HTMLElement} host
 * @param {HTMLElement} title
 */
export function showForm(host, title) {
  fill(title, "Fit a cost model");
  const files = entry(
    "Files",
    { type: "file", multiple: true, required: true },
    {
      hint:
        "Output of nccl-tests, OSU, Intel MPI Benchmarks, oneCCL or mscclpp-test; logs of NCCL Inspector, " +
        "PyTorch's flight recorder or DeepSpeed; or a CSV with a header such as size(B),time(us).",
    },
  );
  const name = entry("Name", { maxlength: 200, autocomplete: "off" });
  const workers = entry("Workers", { type: "number", min: 1, step: 1, placeholder: "as the files say" });
  const gbps = entry(
    "Bandwidth [Gbit/s]",
    { type: "number", min: 0.001, step: "any", placeholder: "unknown" },
    { hint: "Needed only to scale the cost to another one." },
  );
  const fit = choice("Fit", FITS, "best");
  const button = el("button", { type: "submit", class: "main" }, "Fit");
  const submit = async () => {
    const texts = await Promise.all([...files.control.files].map(textOf));
    const { body } = await post("/v1/cost-models", {
      name: name.control.value.trim(),
      texts,
      fit: fit.control.value,
      ...(workers.control.value ? { workers: Number(workers.control.value) } : {}),
      ...(gbps.control.value ? { bandwidth_gbps: Number(gbps.control.value) } : {}),
    });
    location.assign(`/cost-models/${body.id}`);
  };
  fill(
    host,
    el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          button.disabled = true;
          submit()
            .catch(complain)
            .finally(() => {
              button.disabled = false;
            });
        },
      },
      el(
        "div",
        { class: "fields tops" },
        [files, name, workers, gbps, fit].map((one) => one.field),
      ),
      el("p", {}, button),
    ),
  );
  host.hidden = false;
}
