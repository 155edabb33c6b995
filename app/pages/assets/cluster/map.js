// A cluster as a tree of switches with the nodes of each, and how much of each link is used.

import { drawn, el, fill, svg } from "../elements/dom.js";
import { count, number, percent, times } from "../elements/format.js";
import { table } from "../elements/table.js";
import { fitting } from "../timeline/surface.js";

/** @import { AllocationRow, DrawnCluster } from "interlace-api" */

/** Pixels of a line of text, a node, what is between, and a step of the tree. */
const [LINE, NODE, GAP] = [22, 26, 4];
/** Shares of a link's time from which it is drawn so, and slow-downs of jobs. */
const USES = [
  { from: 1, name: "full", said: "its whole time or more" },
  { from: 0.75, name: "much", said: "75 to 100 %" },
  { from: 0.4, name: "half", said: "40 to 75 %" },
  { from: 0.0005, name: "little", said: "less than 40 %" },
  { from: -1, name: "unused", said: "unused" },
];
const SLOWED = [
  { from: 1.5, name: "slow", said: "1.5x or more" },
  { from: 1.05, name: "slower", said: "1.05x to 1.5x" },
  { from: -1, name: "even", said: "as if alone" },
];
/** Above so many nodes those are drawn one by one whose switch has nodes of the job. */
const MOST = 1500;
const level = (levels, value) => levels.find(({ from }) => value >= from);

/** A letter for each job: a to z, then aa, ab ... */
const letter = (i) => (i < 26 ? "" : letter(Math.floor(i / 26) - 1)) + String.fromCharCode(97 + (i % 26));

/** What is drawn of a cluster under a row: uses of links, slow-downs and letters of jobs. */
function stateOf(cluster, row) {
  const use = new Map(cluster.links.map((link) => [link.name, [link.use, link.use]]));
  for (const each of row.links) use.set(each.link, [each.before, each.use]);
  const jobs = new Map(row.jobs.slice(1).map((job, i) => [job.name, { ...job, letter: letter(i) }]));
  const up = new Map(
    cluster.links.filter((link) => link.level !== "domain").map((link) => [link.below, link]),
  );
  const nodes = new Map(cluster.nodes.map((node) => [node.name, node]));
  return { use, jobs, up, nodes, slot: new Map(row.nodes.map((name, i) => [name, i])) };
}

const arrow = ([before, after]) =>
  percent(before, 0) === percent(after, 0)
    ? percent(after, 0)
    : `${percent(before, 0)} → ${percent(after, 0)}`;

/** The line of a node for who points at it. */
function nodeSaid(node, { jobs, slot, use, up }) {
  const on = node.jobs.map(
    (name) => `${name} (${jobs.get(name).letter}) at ${times(jobs.get(name).slowdown)}`,
  );
  if (slot.has(node.name)) on.push(`the new job, slot ${slot.get(node.name)}`);
  const link = up.get(node.name);
  const used = link ? `; its link ${arrow(use.get(link.name))} of ${number(link.capacity_gbps)} Gbit/s` : "";
  return `${node.name}: ${on.join(", ") || (node.is_free ? "free" : "not offered")}${used}`;
}

/** A node: letter of its job, or the place of the new job's slot; a bar of its link's use below. */
function nodeOf(node, x, y, state) {
  const { jobs, slot, use, up } = state;
  const isNew = slot.has(node.name);
  const [first] = node.jobs;
  const kind = isNew
    ? "new"
    : first
      ? level(SLOWED, jobs.get(first).slowdown).name
      : node.is_free
        ? "free"
        : "closed";
  const word = isNew
    ? String(slot.get(node.name))
    : first
      ? `${jobs.get(first).letter}${node.jobs.length > 1 ? "+" : ""}`
      : "";
  const link = up.get(node.name);
  const used = link ? use.get(link.name)[1] : 0;
  const bar = level(USES, used);
  return svg(
    "g",
    {},
    svg("title", {}, nodeSaid(node, state)),
    svg("rect", { class: `node ${kind}`, x: x + 0.5, y: y + 0.5, width: NODE - 1, height: NODE - 7, rx: 3 }),
    word
      ? svg(
          "text",
          { class: `word ${kind}`, x: x + NODE / 2, y: y + (NODE - 6) / 2, "text-anchor": "middle" },
          word,
        )
      : null,
    link
      ? svg("line", {
          class: `use ${bar.name}`,
          x1: x,
          x2: x + NODE * Math.max(Math.min(used, 1), 0.04),
          y1: y + NODE - 3,
          y2: y + NODE - 3,
          "stroke-width": 3,
        })
      : null,
  );
}

/** What a switch says of itself. */
function switchSaid(one, { use, up, nodes }, isFolded) {
  const link = up.get(one.name);
  const free = one.nodes.filter((name) => nodes.get(name).is_free).length;
  const has = isFolded ? `, ${count(one.nodes.length, "node")}, ${number(free)} free` : "";
  return link
    ? `${one.name}, to ${link.above}: ${arrow(use.get(link.name))} of ` +
        `${number(link.capacity_gbps)} Gbit/s${has}`
    : `${one.name}${has}`;
}

function drawing(cluster, row, width) {
  const state = stateOf(cluster, row);
  const depth = new Map();
  const isLarge = cluster.nodes.length > MOST;
  const indent = width < 600 ? 18 : 30;
  const under = new Map(cluster.switches.map((one) => [one.name, []]));
  for (const one of cluster.switches) if (one.above !== null) under.get(one.above).push(one);
  const links = [];
  const rest = [];
  let y = 4;
  const places = new Map();
  const put = (one) => {
    const deep = one.above === null ? 0 : depth.get(one.above) + 1;
    depth.set(one.name, deep);
    const x = deep * indent + 6;
    const middle = y + LINE / 2;
    places.set(one.name, { x, middle });
    const link = state.up.get(one.name);
    if (link) {
      const [, used] = state.use.get(link.name);
      const bar = level(USES, used);
      const from = places.get(one.above);
      links.unshift(
        svg(
          "g",
          {},
          svg("title", {}, switchSaid(one, state, false)),
          svg("polyline", {
            class: `use ${bar.name}`,
            points: `${from.x} ${from.middle + 6} ${from.x} ${middle} ${x - 6} ${middle}`,
            "stroke-width": 1.5 + 4.5 * Math.min(used, 1),
          }),
        ),
      );
    }
    const isFolded = isLarge && !one.nodes.some((name) => state.slot.has(name));
    const words = switchSaid(one, state, isFolded && one.nodes.length > 0);
    rest.push(
      svg("circle", { class: "switch", cx: x, cy: middle, r: 5 }),
      svg("text", { x: x + 12, y: middle, class: "name" }, fitting(words, width - x - 14, 12.5)),
    );
    y += LINE;
    if (one.nodes.length && !isFolded) {
      const left = x + 12;
      const across = Math.max(1, Math.floor((width - left) / (NODE + GAP)));
      one.nodes.forEach((name, i) => {
        const at = [left + (i % across) * (NODE + GAP), y + Math.floor(i / across) * (NODE + GAP)];
        rest.push(nodeOf(state.nodes.get(name), at[0], at[1], state));
      });
      y += Math.ceil(one.nodes.length / across) * (NODE + GAP) + 4;
    }
    under.get(one.name).forEach(put);
  };
  cluster.switches.filter((one) => one.above === null).forEach(put);
  const switches = count(cluster.switches.length, "switch", "switches");
  const said = `${count(cluster.nodes.length, "node")} below ${switches}; the table has each link.`;
  return svg(
    "svg",
    {
      class: "cluster-map",
      width,
      height: y + 4,
      viewBox: `0 0 ${width} ${y + 4}`,
      role: "img",
      "aria-label": said,
    },
    links,
    rest,
  );
}

/** What colours and words mean. */
function legend(row) {
  const swatch = (kind, said) => el("li", {}, el("span", { class: `patch ${kind}` }), said);
  return [
    el(
      "ul",
      { class: "legend", "aria-label": "Links" },
      el("li", { class: "faint" }, "A link is used:"),
      [...USES].reverse().map(({ name, said }) => swatch(`use-${name}`, said)),
    ),
    el(
      "ul",
      { class: "legend", "aria-label": "Nodes" },
      swatch("new", "the new job, by slot"),
      row.jobs.length > 1
        ? [...SLOWED].reverse().map(({ name, said }) => swatch(name, `a job ${said}`))
        : null,
      swatch("free", "free"),
      swatch("closed", "not offered"),
    ),
    row.jobs.length > 1
      ? el(
          "ul",
          { class: "legend", "aria-label": "Jobs that run" },
          row.jobs
            .slice(1)
            .map((job, i) =>
              el("li", {}, el("strong", {}, letter(i)), ` ${job.name} ${times(job.slowdown)}`),
            ),
        )
      : null,
  ];
}

/**
 * Draw the cluster with a node set taken: what each link carries before and then, whom it slows.
 *
 * @param {HTMLElement} host
 * @param {DrawnCluster} cluster
 * @param {AllocationRow} row
 */
export function drawCluster(host, cluster, row) {
  const place = el("div", { class: "drawn" });
  const links = el("div");
  const changed = new Map(row.links.map((each) => [each.link, each]));
  const rows = cluster.links.map((link) => ({
    ...link,
    before: changed.get(link.name)?.before ?? link.use,
    after: changed.get(link.name)?.use ?? link.use,
  }));
  fill(
    host,
    el("h2", {}, "The cluster with it"),
    el(
      "p",
      {},
      "Switches and their nodes, and the share of time for which each link up is used, " +
        "before and with the job.",
    ),
    place,
    legend(row),
    el("details", {}, el("summary", {}, "Each link"), links),
  );
  drawn(place, (width) => drawing(cluster, row, width));
  table(
    links,
    [
      { name: "link", of: (each) => each.name, show: (each) => each.name, isText: true },
      { name: "Gbit/s", of: (each) => each.capacity_gbps, show: (each) => number(each.capacity_gbps) },
      { name: "used before", of: (each) => each.before, show: (each) => percent(each.before) },
      { name: "with the job", of: (each) => each.after, show: (each) => percent(each.after) },
    ],
    rows,
    {
      caption: "Use of each link, the fullest first",
      sort: { column: 3, down: true },
      filter: (each) => each.name,
    },
  );
}
