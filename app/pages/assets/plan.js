// The page of a plan: first the job until it has ended, then what it answered.

import { complain } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { follow, outcome } from "./progress.js";
import { idOfPage } from "./state.js";

follow("/v1/plans", idOfPage(), byId("content")).then((body) => fill(byId("content"), outcome(body, body.iteration_time_us !== null), el("p", { class: "summary" }, body.summary)), complain);
