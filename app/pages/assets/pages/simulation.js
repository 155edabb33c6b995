// The page of a simulation: a policy of today, or an explicit plan.

import { page } from "../iteration/iteration.js";
import { get, post } from "../service/api.js";
import { label, names } from "../service/names.js";
import { follow } from "../service/progress.js";
import { saved, sent } from "../service/saved.js";

const PATH = "/v1/simulations";

/** The trace of the simulation; with a rival, that of the same request under its policy as well. */
async function traceOf(body, rival) {
  const own = await get(`${PATH}/${body.id}/timeline.json`);
  if (rival === null || saved !== undefined) return own;
  const { plan, ...asked } = await get(`${PATH}/${body.id}/request`);
  const { body: begun } = await post(PATH, { ...asked, policy: rival, jitter: null, what_if: [] });
  const ended = await follow(PATH, begun.id, document.createElement("div"));
  const other = await get(`${PATH}/${ended.id}/timeline.json`);
  return {
    ...own,
    traceEvents: [
      ...own.traceEvents,
      ...other.traceEvents.map((event) => ({ ...event, pid: event.pid + 1 })),
    ],
  };
}

page({
  path: PATH,
  word: (body) => (body.policy ? label(body.policy.policy) : "plan"),
  title: "Simulation",
  fetchTrace: traceOf,
  rivals: (body) =>
    saved === undefined
      ? ["none", ...names.policies.filter((name) => name !== body.policy?.policy)]
      : [new URLSearchParams(sent).get("beside") ?? "none"],
  formats: () => names.exports,
});
