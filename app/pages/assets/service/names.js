// The names of what the service can do, as the page brings them from it.

import { count, time } from "../elements/format.js";

/** Tables of names: algorithms (each with fields of its own), exports, fits, policies, readers and so on. */
export const names = JSON.parse(document.body.dataset.names);

/** What people call a policy; its name where nobody wrote another. */
export const label = (name) => names.labels[name] ?? name;

/** What people call the state of a job. */
export const stateOf = (state) => names.states[state] ?? state.replaceAll("_", " ");

/** What is proven of a plan, in words. */
export const provenOf = (status) => names.proven[status] ?? status;

/** A name as a title: "halving_doubling" is "Halving doubling". */
export function titled(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** What attains a lower bound, in a sentence; what: its tensors or ops. */
export function reason({ kind, tensors, release_us, tail_us }, what) {
  const words = {
    these: tensors.length && tensors.length <= 2 ? tensors.join(" and ") : count(tensors.length, what),
    release: time(release_us ?? 0),
    tail: time(tail_us ?? 0),
  };
  return (names.bounds[kind] ?? kind).replace(/\{(\w+)\}/g, (_, place) => words[place]);
}
