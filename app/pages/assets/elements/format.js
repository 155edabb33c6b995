// Numbers as people read them. Times come in microseconds, sizes in bytes; unknown is a dash.

export const UNKNOWN = "–";

/** The units of sizes, the greatest first. */
export const SIZES = [
  { unit: "TB", size: 1e12 },
  { unit: "GB", size: 1e9 },
  { unit: "MB", size: 1e6 },
  { unit: "kB", size: 1e3 },
];

/** Bytes of a GiB. */
export const GIB = 2 ** 30;

/** The units of memory, the greatest first. */
const MEMORY = [
  { unit: "GiB", size: GIB },
  { unit: "MiB", size: 2 ** 20 },
  { unit: "KiB", size: 2 ** 10 },
];

/**
 * A number with about four digits.
 *
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 4) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(2);
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return value.toLocaleString(
    "en",
    whole ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits },
  );
}

/**
 * A time [us] in the unit that suits it.
 *
 * @param {number | null | undefined} us
 */
export function time(us) {
  if (us === null || us === undefined) return UNKNOWN;
  const size = Math.abs(us);
  if (size >= 1e6) return `${number(us / 1e6)} s`;
  if (size >= 1e3) return `${number(us / 1e3)} ms`;
  return `${number(us)} us`;
}

/**
 * A size in the unit that suits it, by powers of ten, as bandwidths count.
 *
 * @param {number | null | undefined} value
 */
export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const { unit, size } of SIZES) {
    if (Math.abs(value) >= size) return `${number(value / size)} ${unit}`;
  }
  return `${value} B`;
}

/**
 * Memory in units of 1,024, as what it holds is counted.
 *
 * @param {number | null | undefined} value [bytes]
 */
export function memory(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const { unit, size } of MEMORY) {
    if (Math.abs(value) >= size) return `${number(value / size)} ${unit}`;
  }
  return `${value} B`;
}

/**
 * A share as a percentage.
 *
 * @param {number | null | undefined} share
 * @param {number} [digits]
 */
export function percent(share, digits = 1) {
  if (share === null || share === undefined) return UNKNOWN;
  if (share !== 0 && Math.abs(share) < 10 ** -(digits + 2) / 2) return "0 %";
  return `${(100 * share).toFixed(digits)} %`;
}

/**
 * A ratio: 1.058x.
 *
 * @param {number | null | undefined} ratio
 */
export function times(ratio) {
  return ratio === null || ratio === undefined ? UNKNOWN : `${ratio.toFixed(3)}x`;
}

/**
 * When something was, in the reader's own time zone.
 *
 * @param {string | null} text
 */
export function date(text) {
  return text
    ? new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" })
    : UNKNOWN;
}

/**
 * One thing or many: 1 tensor, 2 tensors.
 *
 * @param {number} many
 * @param {string} one
 * @param {string} [several]
 */
export function count(many, one, several = `${one}s`) {
  return `${number(many, 12)} ${many === 1 ? one : several}`;
}
