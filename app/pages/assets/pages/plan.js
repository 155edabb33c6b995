// The page of a plan.

import { page } from "../iteration/iteration.js";
import { get } from "../service/api.js";

const isProgram = (body) => body.program !== undefined;

page({
  path: "/v1/plans",
  word: () => "plan",
  title: "Plan",
  fetchTrace: (body, rival) =>
    get(`/v1/plans/${body.id}/timeline.json${rival === null ? "" : `?beside=${encodeURIComponent(rival)}`}`),
  rivals: (body, names) => (isProgram(body) ? names.programRivals : names.rivals),
  formats: (body, names) => (isProgram(body) ? names.programFormats : names.formats),
});
