// What files of the reader's hold: a request of ours, names and bytes of parameters, or a trace.

/**
 * @typedef {object} Look
 * @property {{ path: string, body: object }} [request]
 * @property {File[]} [files]
 * @property {string} [name]
 * @property {string | null} [parameters]
 */

/** Longer texts than any request are not looked into [characters]. */
const LONGEST = 2 ** 28;

/** A request is posted to the kind of job that its fields belong to. */
function pathOf(request) {
  if ("policies" in request || "bandwidths_gbps" in request) return "/v1/sweeps";
  return "policy" in request || "plan" in request ? "/v1/simulations" : "/v1/plans";
}

/** A file as text, unpacked; null when it is no text or too long to be looked into. */
async function textOf(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = head[0] === 0x1f && head[1] === 0x8b;
  const bytes = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = bytes.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  const parts = [];
  let length = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return parts.join("");
      parts.push(value);
      length += value.length;
      const isOther = parts.length === 1 && !/^\s*[[{]/.test(value);
      if (isOther || length > LONGEST) {
        await reader.cancel();
        return null;
      }
    }
  } catch {
    return null; // no text, or damaged: the service says which
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A request with graph and cluster, and where it goes; null when it is something else. */
function requestIn(text) {
  if (!text.includes('"graph"') || !text.includes('"cluster"')) return null;
  const found = parsed(text);
  if (!found?.cluster || !found.graph) return null;
  // as import prints it
  const body = "report" in found ? { graph: found.graph, cluster: found.cluster } : found;
  return { path: pathOf(body), body };
}

/** Whether a text is a list of [name, bytes], or an object of them. */
function isParameters(text) {
  const found = /"ops"|"traceEvents"/.test(text.slice(0, 4096)) ? null : parsed(text);
  if (found === null || typeof found !== "object") return false;
  const pairs = Array.isArray(found) ? found : Object.entries(found);
  return (
    pairs.length > 0 &&
    pairs.every(
      (pair) =>
        Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string" && Number.isInteger(pair[1]),
    )
  );
}

/**
 * Look into files. Returns { request: { path, body } } where one file is a whole request, else
 * { files, name, parameters }: what is to be read, what to call it ("" where it has a name), and
 * the names and bytes of parameters as text.
 *
 * @param {File[]} given
 * @returns {Promise<Look>}
 */
export async function looked(given) {
  let parameters = null;
  let name = null;
  const files = [];
  for (const file of given) {
    const text = await textOf(file);
    if (text !== null && given.length === 1) {
      const request = requestIn(text);
      if (request) return { request };
      if (isOwn(text)) name = "";
    } else if (text !== null && isParameters(text)) {
      parameters = text;
      continue;
    }
    files.push(file);
  }
  return { files, name: name ?? (files.length ? called(files[0]) : ""), parameters };
}

/** Whether a text is a graph of ours, which may have a name inside. */
function isOwn(text) {
  return /"ops"\s*:/.test(text) && !text.includes('"traceEvents"');
}

/** What a graph is called after its file; a PipeDream `graph.txt` has no name of its own. */
function called(file) {
  const stem = file.name.split(".")[0];
  return stem === "graph" ? "" : stem.slice(0, 200);
}
