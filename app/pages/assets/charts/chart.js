// Charts by plotly, in the page's colours, each with its files: PNG, SVG and CSV.

import { el, fill } from "../elements/dom.js";
import { csv, fileName, save } from "../elements/save.js";
import { complain } from "../service/api.js";
import { saved, unpacked } from "../service/saved.js";

/**
 * @typedef {object} ChartOptions
 * @property {() => { traces: object[], layout: object, config?: object }} make
 * @property {string} title
 * @property {string} description
 * @property {() => { columns: string[], rows: (string | number | boolean | null)[][] }} [table]
 * @property {number} [height]
 */

let loading = null;

const PLOTLY = "/assets/plotly.min.js";

/** Load a script, and return what it defines. */
const loaded = (src) =>
  new Promise((resolve, reject) => {
    const script = el("script", {
      src,
      onload: () => resolve(/** @type {any} */ (window).Plotly),
      onerror: () => reject(new Error("The charts' library was not loaded.")),
    });
    document.head.append(script);
  });

/**
 * The charts' library, loaded when the first chart is drawn.
 *
 * @returns {Promise<any>}
 */
export function plotly() {
  loading ??= saved === undefined ? loaded(PLOTLY) : unpacked(PLOTLY).then(loaded);
  return loading;
}

/**
 * A colour of the page by its name in style.css.
 *
 * @param {string} name
 */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * Text as plotly shows it as it is: its titles, names and labels would read tags in it.
 *
 * @param {unknown} text
 */
export function plain(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Colours for what is compared; the colour-blind tell them apart. */
export function colours() {
  return ["c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(colour);
}

/** What all charts' layouts have. */
function themed(layout) {
  const text = colour("text");
  const grid = colour("line");
  const axis = (given) => ({
    gridcolor: grid,
    zerolinecolor: grid,
    linecolor: grid,
    automargin: true,
    ...given,
  });
  const axes = Object.fromEntries(
    Object.keys({ xaxis: 0, yaxis: 0, ...layout })
      .filter((name) => /^[xy]axis\d*$/.test(name))
      .map((name) => [name, axis(layout[name])]),
  );
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: text, family: "system-ui, sans-serif", size: 13 },
    margin: { l: 8, r: 8, t: 8, b: 8 },
    legend: { orientation: "h", y: -0.2 },
    hoverlabel: { font: { family: "system-ui, sans-serif" } },
    ...layout,
    ...axes,
  };
}

/**
 * Draw a chart in an element.
 *
 * make: () => ({ traces, layout, config? }), called again when the theme changes;
 * title: what it shows, also of its files; description: the same in words, for who does not see it;
 * table: () => ({ columns, rows }), what is drawn as numbers, for the CSV; height in CSS pixels.
 * Returns { plot, redraw(), tools } where plot is plotly's element and tools the row of buttons.
 *
 * @param {HTMLElement} host
 * @param {ChartOptions} options
 * @returns {Promise<{ plot: any, redraw: () => Promise<void>, tools: HTMLElement }>}
 */
export async function chart(host, { make, title, description, table, height = 360 }) {
  const plot = el("div", { class: "plot", style: `height:${height}px` });
  const tools = el("div", { class: "row tools" });
  const words = el("p", { class: "unseen" }, description);
  fill(
    host,
    el(
      "figure",
      { class: "chart", role: "group", "aria-label": title },
      el("figcaption", {}, el("span", {}, title), tools),
      plot,
      words,
    ),
  );
  const library = await plotly();

  const redraw = async () => {
    const { traces, layout, config = {} } = make();
    await library.react(plot, traces, themed(layout), {
      responsive: true,
      displaylogo: false,
      displayModeBar: false,
      ...config,
    });
  };
  const picture = async (format) => {
    const url = await library.toImage(plot, {
      format,
      width: Math.max(900, plot.clientWidth),
      height: Math.max(height, plot.clientHeight),
      scale: format === "png" ? 2 : 1,
      setBackground: (_, graph) => graph,
    });
    const content = url.slice(url.indexOf(",") + 1);
    if (format === "svg") save(fileName(title, format), decodeURIComponent(content), "image/svg+xml");
    else
      save(
        fileName(title, format),
        new Blob([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], { type: "image/png" }),
      );
  };
  const tool = (name, work) =>
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `${title} as ${name}`,
        onclick: () => Promise.resolve(work()).catch(complain),
      },
      name,
    );
  tools.append(
    tool("PNG", () => picture("png")),
    tool("SVG", () => picture("svg")),
  );
  if (table) {
    tools.append(
      tool("CSV", () => {
        const { columns, rows } = table();
        save(fileName(title, "csv"), csv(columns, rows), "text/csv");
      }),
    );
  }
  await redraw();
  addEventListener("themechange", () => redraw().catch(complain));
  return { plot, redraw, tools };
}
