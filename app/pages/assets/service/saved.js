// A page that was saved as one file: what it shows is inside, and nobody is asked.

/** The id of what the file shows; undefined on the pages of a service. */
export const saved = document.body.dataset.saved;

/** The address's state when the file was saved, "?name=value"; "" on the pages of a service. */
export const sent = document.body.dataset.state ?? "";

/** The element with what the service had at a path, whatever its query; null where there is none. */
const elementOf = (path) =>
  document.querySelector(`script[data-path="${CSS.escape(path.replace(/\?.*/, ""))}"]`);

/**
 * What the file has inside for a path, as an answer; null where it has nothing.
 *
 * @param {string} path
 */
export function inside(path) {
  const found = elementOf(path);
  return found && new Response(found.textContent, { headers: { "Content-Type": "application/json" } });
}

/**
 * The address of a script that the file has packed inside.
 *
 * @param {string} path
 */
export async function unpacked(path) {
  const packed = Uint8Array.from(atob(elementOf(path).textContent), (c) => c.charCodeAt(0));
  const script = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const content = await new Response(script).blob();
  return URL.createObjectURL(content.slice(0, content.size, "text/javascript"));
}
