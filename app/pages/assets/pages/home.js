// The home page: files to read, ready examples, and what was asked lately.

import { byId, el, fill } from "../elements/dom.js";
import { jobList } from "../jobs/jobs.js";
import { costModelList, graphList } from "../jobs/stored.js";
import { pageOf, upload } from "../reading/upload.js";
import { complain, get, post } from "../service/api.js";
import { names } from "../service/names.js";

/** @import { ExampleList } from "interlace-api" */

async function examples(host) {
  /** @type {ExampleList} */
  const { examples: found } = await get("/v1/examples");
  const doing = el("p", { role: "status", class: "doing" });
  const buttons = found.map(({ name, description, url }) =>
    el(
      "button",
      { type: "button", class: "example", "data-example": name, onclick: () => plan(name, url) },
      el("strong", {}, names.examples[name] ?? name),
      el("span", { class: "faint" }, description.replaceAll("`", "")),
    ),
  );

  async function plan(name, url) {
    for (const button of buttons) button.disabled = true;
    fill(doing, `Plans ${names.examples[name] ?? name} …`);
    try {
      const { location } = await post("/v1/plans?wait=0", await get(url));
      window.location.assign(pageOf(location));
    } catch (error) {
      complain(error);
    } finally {
      fill(doing);
      for (const button of buttons) button.disabled = false;
    }
  }
  fill(
    host,
    el(
      "ul",
      { class: "examples" },
      buttons.map((button) => el("li", {}, button)),
    ),
    doing,
  );
}

upload(byId("upload"));
jobList(byId("jobs-list"));
for (const work of [
  examples(byId("examples-list")),
  graphList(byId("graphs")),
  costModelList(byId("cost-models")),
])
  work.catch(complain);
