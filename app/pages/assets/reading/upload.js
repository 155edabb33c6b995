// The place where files are dropped or chosen, and what becomes of them.

import { el, fill, say } from "../elements/dom.js";
import { choice, entry, labelled, numberIn } from "../elements/form.js";
import { bytes, count } from "../elements/format.js";
import { complain, post } from "../service/api.js";
import { names, titled } from "../service/names.js";
import { asFile, dropped, inFolder, pasted } from "./dropped.js";
import { looked } from "./files.js";
import { reported } from "./report.js";

/** Formats that are read, as people call them. */
const TITLES = {
  kineto: "PyTorch profiler (Kineto)",
  pytorch_et: "PyTorch execution trace",
  chakra: "Chakra",
  horovod: "Horovod timeline",
  tensorflow: "TensorFlow",
  xla: "JAX (XLA)",
  hlo: "HLO text (JAX, nothing has run)",
  nsys: "Nsight Systems (SQLite)",
  dlc: "SketchDLC",
  pipedream: "PipeDream graph.txt",
  dnn_partitioning: "DNN partitioning",
  astra_text: "ASTRA-sim text",
  flexflow: "FlexFlow task graph",
  schedule_simulator: "schedule-simulator network",
};

/**
 * Where the page of something of the API is.
 *
 * @param {string} location
 */
export function pageOf(location) {
  return new URL(location, document.baseURI).pathname.replace(/^\/v1/, "");
}

/**
 * Show the place in an element.
 *
 * @param {HTMLElement} host
 */
export function upload(host) {
  const format = choice(
    "Format",
    [["", "what it looks like"], ...names.readers.map((name) => [name, TITLES[name] ?? titled(name)])],
    "",
  );
  const step = entry(
    "Step",
    { type: "number", min: 0, placeholder: "of median length" },
    { hint: "Counted from 0." },
  );
  const rank = entry(
    "Rank",
    { type: "number", min: 0, placeholder: "the slowest" },
    { hint: "Which of the files, from 0." },
  );
  const device = entry(
    "Device",
    { maxlength: 256, placeholder: "h100" },
    { hint: `Of HLO text without times: ${names.devices.join(", ")}, or tflops=…,memory_gbs=….` },
  );
  const name = entry("Name", { maxlength: 256, placeholder: "after the file" });
  const sizes = entry(
    "Names and bytes of parameters",
    { type: "file", accept: ".json,.gz" },
    {
      hint:
        "JSON [[name, bytes], …] in the order of registration: it splits the buckets of a trace. " +
        "It may be dropped along, too.",
    },
  );
  const input = el("input", {
    type: "file",
    multiple: true,
    class: "unseen",
    id: "files",
    onchange: () => begin([...input.files]),
  });
  const folder = el("input", {
    type: "file",
    webkitdirectory: true,
    class: "unseen",
    id: "folder",
    onchange: () => begin(inFolder(folder.files)),
  });
  const source = labelled(
    "A graph, a request or a trace as JSON",
    el("textarea", { rows: 8, spellcheck: "false", class: "source" }),
  );
  const doing = el("p", { role: "status", class: "doing" });
  const zone = el(
    "div",
    { class: "drop" },
    el(
      "p",
      { class: "lead" },
      "Drop the files of a training step here, of all ranks together, or their folder, paste JSON, or",
    ),
    el(
      "p",
      {},
      input,
      el("label", { for: "files", class: "button main" }, "Choose files"),
      " ",
      folder,
      el("label", { for: "folder", class: "button" }, "Choose a folder"),
    ),
    el(
      "p",
      { class: "faint" },
      "A trace of the PyTorch profiler (rank*.json.gz), Chakra, Horovod, TensorFlow, JAX and others; ",
      "HLO text, for a device that is named below; a graph, a compiled graph or a request of ",
      "Interlace. They are read at once.",
    ),
    doing,
  );
  const read = el("div");
  let isBusy = false;

  // wherever on the page they are dropped: else the browser would open them
  const over = (isOver) => (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    zone.classList.toggle("over", isOver);
    if (event.type === "drop") dropped(event.dataTransfer).then(begin).catch(complain);
  };
  document.addEventListener("dragover", over(true));
  document.addEventListener("dragleave", over(false));
  document.addEventListener("drop", over(false));
  document.addEventListener("paste", (event) => {
    if (/** @type {Element} */ (event.target).closest("input, textarea")) return; // there it is text
    const files = pasted(event.clipboardData);
    if (!files.length) return;
    event.preventDefault();
    begin(files);
  });

  async function begin(files) {
    if (!files.length || isBusy) return;
    isBusy = input.disabled = folder.disabled = true;
    document.getElementById("problems").replaceChildren();
    try {
      fill(
        doing,
        `Sends ${count(files.length, "file")}, ${bytes(files.reduce((sum, file) => sum + file.size, 0))} …`,
      );
      await send(files);
    } catch (error) {
      complain(error);
      fill(doing);
    } finally {
      isBusy = input.disabled = folder.disabled = false;
      input.value = folder.value = "";
    }
  }

  async function send(given) {
    const { request, files, name: own, parameters } = await looked(given);
    if (request) {
      const { location } = await post(`${request.path}?wait=0`, request.body);
      window.location.assign(pageOf(location));
      return;
    }
    if (!files.length)
      throw new Error("These are names and bytes of parameters; drop the trace along with them.");
    const query = new URLSearchParams({ wait: "0", name: name.control.value || own });
    const told = {
      format: format.control.value || null,
      step: numberIn(step),
      rank: numberIn(rank),
      device: device.control.value.trim() || null,
    };
    for (const [field, value] of Object.entries(told)) if (value !== null) query.set(field, String(value));
    const form = new FormData();
    for (const file of files) form.append("files", file, file.name);
    const chosen = sizes.control.files[0];
    const text = chosen ? await chosen.text() : parameters;
    if (text !== null) form.append("parameters", text);
    // anew, so that it is a job of its own with a page of its own
    const { body, location } = await post(`/v1/graphs?${query}`, form, {
      more: { "Cache-Control": "no-store" },
    });
    if (location) window.location.assign(pageOf(location));
    else {
      fill(doing, "There is nothing to plan in these files.");
      say("There is nothing to plan in these files.");
      reported(read, body.report);
    }
  }

  fill(
    host,
    el("h2", {}, "Read a trace or a graph"),
    zone,
    el(
      "details",
      {},
      el("summary", {}, "Paste JSON"),
      source.field,
      el("button", { type: "button", onclick: () => begin([asFile(source.control.value)]) }, "Read it"),
    ),
    el(
      "details",
      {},
      el("summary", {}, "More about the files"),
      el(
        "div",
        { class: "fields" },
        format.field,
        step.field,
        rank.field,
        device.field,
        name.field,
        sizes.field,
      ),
    ),
    read,
  );
}
