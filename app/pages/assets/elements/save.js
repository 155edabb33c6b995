// Files that the reader takes along.

import { el } from "./dom.js";

/**
 * Save text or a blob as a file.
 *
 * @param {string} name
 * @param {string | Blob} content
 * @param {string} [type]
 */
export function save(name, content, type = "text/plain") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Rows as CSV. What a spreadsheet would run as a formula is quoted, as the service does it.
 *
 * @param {string[]} columns
 * @param {(string | number | boolean | null | undefined)[][]} rows
 */
export function csv(columns, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/**
 * A name for a file, of what it is about.
 *
 * @param {string} text
 * @param {string} ending
 */
export function fileName(text, ending) {
  return `${
    text
      .replace(/[^\w.-]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "interlace"
  }.${ending}`;
}
