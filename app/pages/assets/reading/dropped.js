// What is dropped or pasted, as files: several, whole folders, or text.

/** In the order of their names, in which 2 stands before 10: ranks are counted by it. */
const inOrder = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });

/** Whether a file or folder is one that systems keep for themselves. */
const isHidden = ({ name }) => name.startsWith(".");

/** All files below an entry of a drop, those of folders in order. */
async function filesBelow(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break; // it gives a hundred at a time
    found.push(...some);
  }
  const below = [];
  for (const each of found.filter((one) => !isHidden(one)).sort(inOrder))
    below.push(...(await filesBelow(each)));
  return below;
}

/**
 * The files of a drop, and of its folders. The event's data are there only while it is handled, so entries
 * are taken before anything is waited for.
 *
 * @param {DataTransfer} data
 * @returns {Promise<File[]>}
 */
export async function dropped(data) {
  const plain = [...data.files];
  const entries = [...data.items].map((item) => (item.kind === "file" ? item.webkitGetAsEntry() : null));
  if (!entries.some((entry) => entry?.isDirectory)) return plain;
  const found = [];
  for (const entry of entries) if (entry) found.push(...(await filesBelow(entry)));
  return found;
}

/**
 * The files of a chosen folder.
 *
 * @param {FileList} files
 */
export const inFolder = (files) => [...files].filter((file) => !isHidden(file)).sort(inOrder);

/**
 * What is pasted: files, or JSON as a file; [] where it is neither.
 *
 * @param {DataTransfer} data
 * @returns {File[]}
 */
export function pasted(data) {
  if (data.files.length) return [...data.files];
  const text = data.getData("text/plain");
  return /^\s*[[{]/.test(text) ? [asFile(text)] : [];
}

/** A text as the file that it would be. */
export const asFile = (text) => new File([text], "graph.json", { type: "application/json" });
