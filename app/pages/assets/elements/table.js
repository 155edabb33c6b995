// Tables that sort, filter and select, a page of rows at a time: ten thousand rows stay usable.

import { el, fill } from "./dom.js";
import { count } from "./format.js";

/** @import { Child } from "./dom.js" */

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: Row) => any} of
 * @property {(row: Row) => Child} show
 * @property {string} [unit]
 * @property {boolean} [isText]
 */

/**
 * @template Row
 * @typedef {object} TableOptions
 * @property {string} caption
 * @property {(row: Row) => string} [key]
 * @property {(row: Row | null) => void} [onselect]
 * @property {(row: Row) => string} [filter]
 * @property {{ column: number, down: boolean }} [sort]
 * @property {string} [empty]
 */

const ROWS = 20;

/** Where there are no more, all are seen at a glance, and nothing is to be searched. */
const FEW = 8;

/**
 * Show rows in a table.
 *
 * columns: [{ name, of: row => value to sort by, show: row => text or element, unit?, isText? }];
 * one without a name holds what is done to a row, and is not sorted by.
 * options: caption, key: row => id, onselect: (row or null), filter: row => text that a search looks in,
 * sort: { column: index, down: bool }, empty: what is said when there are none.
 * Returns { select(id) } which marks a row, and turns to its page.
 *
 * @template Row
 * @param {HTMLElement} host
 * @param {Column<Row>[]} columns
 * @param {Row[]} rows
 * @param {TableOptions<Row>} options
 */
export function table(host, columns, rows, { caption, key, onselect, filter, sort = null, empty = "None." }) {
  let order = sort;
  let words = "";
  let page = 0;
  let chosen = null;

  const head = el("tr");
  const body = el("tbody");
  const foot = el("div", { class: "row pager" });
  const search =
    filter && rows.length > FEW
      ? el("input", {
          type: "search",
          placeholder: "Search",
          "aria-label": `Search in ${caption}`,
          oninput: () => {
            words = search.value.toLowerCase();
            page = 0;
            show();
          },
        })
      : null;

  function arranged() {
    const left = words ? rows.filter((row) => filter(row).toLowerCase().includes(words)) : [...rows];
    if (order) {
      const { of } = columns[order.column];
      const way = order.down ? -1 : 1;
      const rank = (value) => (value === null || value === undefined ? null : value);
      left.sort((a, b) => {
        const [x, y] = [rank(of(a)), rank(of(b))];
        if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // unknown stands last
        return way * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
      });
    }
    return left;
  }

  function show() {
    fill(
      head,
      columns.map((column, i) => {
        if (column.name === "") {
          return el("th", { scope: "col" }, el("span", { class: "unseen" }, "Actions"));
        }
        const isSorted = order?.column === i;
        return el(
          "th",
          {
            scope: "col",
            class: column.isText ? null : "number",
            "aria-sort": isSorted ? (order.down ? "descending" : "ascending") : null,
          },
          el(
            "button",
            {
              type: "button",
              class: "sort",
              onclick: () => {
                order =
                  isSorted && order.down === !column.isText
                    ? { column: i, down: !order.down }
                    : { column: i, down: isSorted ? !order.down : !column.isText };
                page = 0;
                show();
                head.children[i].querySelector("button").focus();
              },
            },
            column.name,
            column.unit ? el("span", { class: "unit" }, ` [${column.unit}]`) : null,
            el("span", { class: "way", "aria-hidden": "true" }, isSorted ? (order.down ? " ▾" : " ▴") : ""),
          ),
        );
      }),
    );
    const all = arranged();
    const pages = Math.max(1, Math.ceil(all.length / ROWS));
    page = Math.min(page, pages - 1);
    fill(
      body,
      all.slice(page * ROWS, (page + 1) * ROWS).map((row) => {
        const id = key ? key(row) : null;
        const isChosen = id !== null && id === chosen;
        const choose = () => {
          chosen = isChosen ? null : id;
          show();
          onselect(chosen === null ? null : row);
          /** @type {HTMLElement} */ (body.querySelector("[aria-selected=true]"))?.focus();
        };
        return el(
          "tr",
          onselect
            ? {
                tabindex: 0,
                "aria-selected": String(isChosen),
                onclick: (event) => {
                  if (!event.target.closest("a, button")) choose();
                },
                onkeydown: (event) => {
                  if (event.key === "Enter" || event.key === " ") {
                    event.preventDefault();
                    choose();
                  }
                },
              }
            : {},
          columns.map((column) => el("td", { class: column.isText ? null : "number" }, column.show(row))),
        );
      }),
      all.length
        ? null
        : el("tr", {}, el("td", { colspan: columns.length }, words ? "Nothing has that in it." : empty)),
    );
    fill(
      foot,
      pages > 1
        ? el(
            "button",
            {
              type: "button",
              disabled: page === 0,
              onclick: () => {
                page -= 1;
                show();
              },
            },
            "Before",
          )
        : null,
      el(
        "span",
        {},
        pages > 1
          ? `${page * ROWS + 1} to ${Math.min(all.length, (page + 1) * ROWS)} of ${count(all.length, "row")}`
          : count(all.length, "row"),
      ),
      pages > 1
        ? el(
            "button",
            {
              type: "button",
              disabled: page === pages - 1,
              onclick: () => {
                page += 1;
                show();
              },
            },
            "Next",
          )
        : null,
    );
  }

  fill(
    host,
    filter ? el("div", { class: "row" }, search) : null,
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      el("table", onselect ? { role: "grid" } : {}, el("caption", {}, caption), el("thead", {}, head), body),
    ),
    foot,
  );
  show();
  return {
    select(id) {
      chosen = id;
      if (id !== null) {
        let at = arranged().findIndex((row) => key(row) === id);
        if (at < 0 && words) {
          words = search.value = "";
          at = arranged().findIndex((row) => key(row) === id);
        }
        if (at >= 0) page = Math.floor(at / ROWS);
      }
      show();
    },
  };
}
