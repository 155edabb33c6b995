// What a benchmark printed, as a cost model.

import { complain, post } from "../service/api.js";
import { choice, field } from "../elements/controls.js";
import { el, fill } from "../elements/dom.js";

const FITS = [["best", "the best of all"], ["linear", "linear"], ["piecewise", "piecewise"], ["table", "table"]];

/** Show the form; what is made has a page of its own. */
export function showForm(host, title) {
  fill(title, "Fit a cost model");
  const files = field("Files", { type: "file", multiple: true, required: true }, "Output of nccl-tests or of OSU's benchmarks, or a CSV with a header such as size(B),time(us).");
  const name = field("Name", { maxlength: 200, autocomplete: "off" });
  const workers = field("Workers", { type: "number", min: 1, step: 1, placeholder: "as the files say" });
  const gbps = field("Bandwidth [Gbit/s]", { type: "number", min: 0.001, step: "any", placeholder: "unknown" }, "Needed only to scale the cost to another one.");
  const fit = choice("Fit", FITS, "best", () => {});
  const button = el("button", { type: "submit", class: "main" }, "Fit");
  const submit = async () => {
    const texts = await Promise.all([...files.input.files].map((file) => file.text()));
    const { body } = await post("/v1/cost-models", {
      name: name.input.value.trim(),
      texts,
      fit: fit.select.value,
      ...(workers.input.value ? { workers: Number(workers.input.value) } : {}),
      ...(gbps.input.value ? { bandwidth_gbps: Number(gbps.input.value) } : {}),
    });
    location.assign(`/cost-models/${body.id}`);
  };
  fill(
    host,
    el(
      "form",
      { onsubmit: (event) => {
        event.preventDefault();
        button.disabled = true;
        submit().catch(complain).finally(() => { button.disabled = false; });
      } },
      el("div", { class: "fields tops" }, [files, name, workers, gbps, fit].map((one) => one.field)),
      el("p", {}, button),
    ),
  );
  host.hidden = false;
}
