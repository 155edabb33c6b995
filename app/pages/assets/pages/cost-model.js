// A cost model: what was measured, each fit over the sizes, and how far each is off.

import { chart } from "../charts/chart.js";
import { costCurves, residuals, rowsOfCurves, rowsOfResiduals } from "../charts/cost-curves.js";
import { boxes, choice, joined, parted } from "../elements/controls.js";
import { byId, el, facts, fill } from "../elements/dom.js";
import { bytes, date, number, percent } from "../elements/format.js";
import { idOfPage, read, write } from "../elements/state.js";
import { table } from "../elements/table.js";
import { showForm } from "../forms/cost-model.js";
import { complain, get } from "../service/api.js";

/** @import { CostCurvesAnswer, CostModelOut } from "interlace-api" */

const id = idOfPage();

try {
  if (id === "new") showForm(byId("new"), byId("title"));
  else await show(id);
} catch (error) {
  complain(error);
}

async function show(model_id) {
  const at = `/v1/cost-models/${encodeURIComponent(model_id)}`;
  /** @type {[CostModelOut, CostCurvesAnswer]} */
  const [kept, drawn] = await Promise.all([get(at), get(`${at}/curves`)]);
  document.title = `${kept.name || "Cost model"} – Interlace`;
  fill(byId("title"), `Cost model ${kept.name || kept.id}`);
  summarise(kept, drawn);
  byId("content").hidden = false;

  const state = read({ kind: "", off: "" });
  const kindOf = (name) => drawn.kinds.find((one) => one.kind === name) ?? drawn.kinds[0];
  const names = [...new Set(drawn.kinds.flatMap((one) => one.curves.map((curve) => curve.algorithm)))];
  const off = new Set(parted(state.off));
  const shown = () => {
    const kind = kindOf(state.kind);
    return {
      ...kind,
      curves: kind.curves
        .map((curve, style) => ({ ...curve, style }))
        .filter((curve) => !off.has(curve.algorithm)),
    };
  };
  const about = kept.name || "cost model";
  const charts = [
    chart(byId("curves"), {
      title: `Time of a launch: ${about}`,
      description:
        "Measured times as points with their least and most, each fit as a line; " +
        "sizes that were not measured are shaded.",
      height: 440,
      make: () => costCurves(shown()),
      table: () => rowsOfCurves(shown()),
    }),
  ];
  const isMeasured = drawn.kinds.some((kind) => kind.measured.length);
  byId("errors").hidden = kept.fits.length === 0;
  if (isMeasured) {
    charts.push(
      chart(byId("residuals"), {
        title: `Error by size: ${about}`,
        description: "What each fit says, less what was measured, as a share of that, at each measured size.",
        height: 300,
        make: () => residuals(shown()),
        table: () => rowsOfResiduals(shown()),
      }),
    );
  }
  fill(
    byId("controls"),
    drawn.kinds.length > 1
      ? el(
          "div",
          { class: "fields" },
          choice(
            "Collective",
            drawn.kinds.map(({ kind }) => [kind, kind]),
            kindOf(state.kind).kind,
            (kind) => {
              state.kind = kind;
              write({ kind });
              redraw();
            },
          ).field,
        )
      : null,
    names.length > 1
      ? boxes("Fits", names, off, (left) => {
          off.clear();
          for (const name of left) off.add(name);
          write({ off: joined(left) });
          redraw();
        })
      : null,
  );
  if (kept.fits.length) listFits(kept.fits);
  await Promise.all(charts);
  function redraw() {
    for (const one of charts) one.then((drawn) => drawn.redraw()).catch(complain);
  }
}

/**
 * Which fit is used, and what it is made of.
 *
 * @param {CostModelOut} kept
 * @param {CostCurvesAnswer} drawn
 */
function summarise(kept, drawn) {
  const { model, fits } = kept;
  const used = fits[0];
  const sentence = used
    ? [
        `Plans use the fit ${used.algorithm}${kinds(fits)}: it is off by `,
        `${percent(used.errors.median)} in the median and ${percent(used.errors.worst)} at most.`,
      ]
    : `Plans use the figures that were given, by the algorithm ${model.algorithm}.`;
  const curve = model.piecewise;
  fill(
    byId("summary"),
    el("p", { class: "lead" }, sentence),
    kept.notes.map((note) => el("p", { class: "note" }, note)),
    facts([
      ["Id, for cluster.cost_model", el("code", {}, kept.id)],
      ["Made", date(kept.created_at)],
      ["Samples", kept.samples ? number(kept.samples, 12) : null],
      ["Workers", model.workers === null ? `unknown; drawn for ${drawn.workers}` : String(model.workers)],
      ["Bandwidth", model.bandwidth_gbps === null ? null : `${number(model.bandwidth_gbps)} Gbit/s`],
      [
        "Line",
        model.us_per_byte === null
          ? null
          : `${number(model.constant_us)} us + ${number(model.us_per_byte * 1e6)} us per MB`,
      ],
      [
        "Curve",
        curve
          ? [
              `from ${bytes(curve.threshold_bytes)} on `,
              `${number(curve.constant_us)} us + ${number(curve.us_per_byte * 1e6)} us per MB; `,
              `below it ${number(curve.log_us)} us for each doubling; `,
              `never under ${number(curve.least_us)} us`,
            ]
          : null,
      ],
      ["Table", model.table.length ? `${number(model.table.length, 6)} sizes` : null],
      ["Start-up on top", model.startup_us ? `${number(model.startup_us)} us` : null],
    ]),
    el("p", {}, el("a", { href: "/cost-models/new" }, "Fit another one")),
  );
}

/** Of which collectives a model has a fit, where there are several. */
function kinds(fits) {
  const found = [...new Set(fits.map((fit) => fit.kind))];
  return found.length > 1 ? ` of each of ${found.join(", ")}; the first` : "";
}

/**
 * @param {CostModelOut["fits"]} fits
 */
function listFits(fits) {
  const several = new Set(fits.map((fit) => fit.kind)).size > 1;
  const share = (name, of) => ({ name, of, show: (row) => percent(of(row), 2) });
  table(
    byId("fits"),
    [
      { name: "collective", of: (fit) => fit.kind, show: (fit) => fit.kind, isText: true },
      { name: "fit", of: (fit) => fit.algorithm, show: (fit) => fit.algorithm, isText: true },
      {
        name: "used",
        of: (fit) => (isUsed(fit) ? "yes" : "no"),
        show: (fit) => (isUsed(fit) ? "yes" : "no"),
        isText: true,
      },
      share("median error", (fit) => fit.errors.median),
      share("worst error", (fit) => fit.errors.worst),
      share("median, sizes left out", (fit) => fit.validated?.median ?? null),
      share("worst, sizes left out", (fit) => fit.validated?.worst ?? null),
    ],
    fits,
    { caption: "Fits" },
  );
  const decades = fits.flatMap((fit) => fit.errors.decades.map((decade) => ({ ...decade, fit })));
  table(
    byId("decades"),
    [
      { name: "collective", of: (row) => row.fit.kind, show: (row) => row.fit.kind, isText: true },
      { name: "fit", of: (row) => row.fit.algorithm, show: (row) => row.fit.algorithm, isText: true },
      { name: "from", of: (row) => row.from_bytes, show: (row) => bytes(row.from_bytes) },
      { name: "samples", of: (row) => row.count, show: (row) => String(row.count) },
      share("median error", (row) => row.median),
      share("worst error", (row) => row.worst),
    ],
    decades,
    {
      caption: "Errors by size, ten times as many bytes from row to row",
      filter: (row) => `${row.fit.kind} ${row.fit.algorithm}`,
    },
  );
  function isUsed(fit) {
    return several || fit === fits[0];
  }
}
