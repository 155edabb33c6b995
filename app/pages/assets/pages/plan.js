// The page of a plan.

import { page } from "../iteration/iteration.js";
import { get } from "../service/api.js";
import { names } from "../service/names.js";

const isProgram = (body) => body.program !== undefined;

page({
  path: "/v1/plans",
  word: () => "plan",
  title: "Plan",
  fetchTrace: (body, rival) =>
    get(`/v1/plans/${body.id}/timeline.json${rival === null ? "" : `?beside=${encodeURIComponent(rival)}`}`),
  rivals: (body) => (isProgram(body) ? names.program_policies : [names.fifo, ...names.policies]),
  formats: (body) => (isProgram(body) ? names.program_exports : names.exports),
});
