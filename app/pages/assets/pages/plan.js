// The page of a plan.

import { page } from "../iteration/iteration.js";
import { get } from "../service/api.js";
import { names } from "../service/names.js";
import { saved, sent } from "../service/saved.js";

const isProgram = (body) => body.program !== undefined;

/** What may be drawn beside a plan, what you run first; in a saved page what stood there, else that. */
function rivalsOf(body) {
  const every = isProgram(body) ? names.program_policies : [names.fifo, ...names.policies];
  const over = body.headline?.gains[0]?.over;
  const beside = new URLSearchParams(sent).get("beside") ?? over;
  if (saved !== undefined) return beside ? [beside] : [];
  return every.includes(over) ? [over, ...every.filter((name) => name !== over)] : every;
}

page({
  path: "/v1/plans",
  word: () => "plan",
  title: "Plan",
  fetchTrace: (body, rival) =>
    get(`/v1/plans/${body.id}/timeline.json${rival === null ? "" : `?beside=${encodeURIComponent(rival)}`}`),
  rivals: rivalsOf,
  formats: (body) => (isProgram(body) ? names.program_exports : names.exports),
});
