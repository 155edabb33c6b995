// What is said of a ranked shape, wherever it is shown.

/** @import { ShapeAnswer, ShapeRow } from "interlace-api" */

/**
 * Time of a step [us]: with what measured steps tell besides, where there are any.
 *
 * @param {ShapeRow} row
 */
export function timeOf(row) {
  return row.predicted_us ?? row.time_us;
}

/**
 * Exposed communication of all groups [us].
 *
 * @param {ShapeRow} row
 */
export function exposedOf(row) {
  return row.exposed.reduce((sum, { us }) => sum + us, 0);
}

/**
 * All shapes that an answer names: the ranked ones, then those of the front that are not among them.
 *
 * @param {ShapeAnswer} answer
 * @returns {ShapeRow[]}
 */
export function namedIn(answer) {
  const names = new Set(answer.best.map((row) => row.name));
  return [...answer.best, ...answer.front.filter((row) => !names.has(row.name))];
}
