// SPDX-License-Identifier: LGPL-2.1-or-later
// Small parts shared by several views.
import {h} from "../vdom.js";

/** @param {string} text @param {() => void} onclick @param {string} label the text for screen readers, which begins with `text`
 * @param {string} [style] */
export const button = (text, onclick, label, style = "link") =>
    h("button", {key: text, type: "button", class: style, onclick, "aria-label": label === text ? null : label}, text);

/** Shows the used part of something.
 * @param {number} part from 0 to 1 @param {string} label @param {string} text */
export function bar(part, label, text) {
    const percent = Math.round(part * 100);
    return h("svg", {class: percent >= 100 ? "bar full" : percent >= 90 ? "bar high" : "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none",
        role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent, "aria-valuetext": text},
    h("rect", {class: "track", width: 100, height: 4}),
    h("rect", {class: "fill", width: Math.max(part > 0 ? 0.5 : 0, part * 100), height: 4}));
}

/** A table that becomes a list of blocks on a narrow screen.
 * @param {string} label @param {string[]} columns the last may be "" for buttons @param {import("../vdom.js").Node[]} rows */
export function table(label, columns, rows) {
    return h("table", {"aria-label": label},
        h("thead", {}, h("tr", {}, ...columns.map(column => h("th", {scope: "col"}, column)))),
        h("tbody", {}, ...rows));
}

/** @param {string | number} key @param {string[]} columns
 * @param {(import("../vdom.js").Child | import("../vdom.js").Child[])[]} cells */
export const row = (key, columns, cells) => h("tr", {key},
    ...cells.map((cell, index) => h("td", {"data-label": columns[index] || null, class: columns[index] ? null : "buttons"},
        h("div", {}, ...Array.isArray(cell) ? cell : [cell]))));

/** @param {string} id @param {string} title @param {import("../vdom.js").Child[]} tools @param {import("../vdom.js").Child[]} content
 * @param {string} [style] */
export const section = (id, title, tools, content, style = "") =>
    h("section", {key: id, id, class: `panel ${style}`, "aria-labelledby": `${id}-title`},
        h("header", {}, h("h2", {id: `${id}-title`}, title), h("div", {class: "tools"}, ...tools)), ...content);
