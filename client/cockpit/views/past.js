// SPDX-License-Identifier: LGPL-2.1-or-later
// The past: GPU hours by user and day, and the last events.
import {clock, gpuTime, number, weekday} from "../format.js";
import {DAYS} from "../history.js";
import {_} from "../i18n.js";
import {sentence} from "../sentences.js";
import {holdsNow, hoursByDay, midnights, niceTop, withOthers} from "../usage.js";
import {h} from "../vdom.js";
import {section} from "./parts.js";

/** @typedef {import("./cards.js").Context & {history: import("../history.js").History, uid: number}} Context */

const USERS = 6;
const WIDTH = 560;
const HEIGHT = 150;
const LEFT = 34;

/** @param {number} value @param {number} top */
const heightOf = (value, top) => value / top * HEIGHT;

/** @param {import("../usage.js").UserHours[]} rows @param {number[]} bounds @param {number} top */
function bars(rows, bounds, top) {
    const column = (WIDTH - LEFT) / (bounds.length - 1);
    return bounds.slice(0, -1).flatMap((day, index) => {
        let y = HEIGHT;
        const parts = rows.map((user, rank) => {
            const height = heightOf(user.hours[index], top);
            y -= height;
            return h("rect", {key: `${day} ${user.uid}`, class: `user user-${rank}`, x: LEFT + index * column + column * 0.18, y, width: column * 0.64, height});
        });
        return [...parts, h("text", {key: `day ${day}`, x: LEFT + (index + 0.5) * column, y: HEIGHT + 16, "text-anchor": "middle"}, weekday(day))];
    });
}

/** @param {number} top */
function scale(top) {
    return [0, 0.5, 1].flatMap(part => {
        const y = HEIGHT - part * HEIGHT;
        return [h("path", {key: `line ${part}`, class: "base", d: `M${LEFT},${y}H${WIDTH}`}),
            h("text", {key: `text ${part}`, x: LEFT - 6, y: y + 4, "text-anchor": "end"}, number(top * part, 1))];
    });
}

/** @param {import("../usage.js").UserHours[]} rows @param {number[]} bounds */
function numbers(rows, bounds) {
    return h("table", {class: "hidden", "aria-label": _("GPU hours by user and day")},
        h("thead", {}, h("tr", {}, h("th", {scope: "col"}, _("User")), ...bounds.slice(0, -1).map(day => h("th", {scope: "col"}, weekday(day))))),
        h("tbody", {}, ...rows.map(user => h("tr", {key: user.uid}, h("th", {scope: "row"}, user.user),
            ...user.hours.map(each => h("td", {}, gpuTime(each)))))));
}

/** Returns the reason why there is nothing to show, or null if there is something.
 * @param {import("../history.js").History} history */
function trouble(history) {
    if (history.problem)
        return h("p", {key: "problem", class: "nothing"}, history.problem);
    return history.isRead ? null : h("p", {key: "reading", class: "nothing"}, _("Reading the history…"));
}

/** @param {Context} context */
export function usage({history, machine, now, uid}) {
    const bounds = midnights(now, DAYS);
    const shown = (/** @type {number} */ owner) => history.everybody || owner === uid;
    const rows = withOthers(hoursByDay([...history.holds.filter(hold => shown(hold.uid)), ...holdsNow(machine, now, shown)], bounds), USERS, _("others"));
    const top = niceTop(Math.max(...bounds.slice(1).map((_unused, day) => rows.reduce((sum, row) => sum + row.hours[day], 0)), 0));
    const chart = [
        h("svg", {key: "chart", class: "chart", viewBox: `0 -8 ${WIDTH} ${HEIGHT + 32}`, "aria-hidden": "true"}, ...scale(top), ...bars(rows, bounds, top)),
        h("ul", {key: "legend", class: "legend", "aria-hidden": "true"}, ...rows.map((user, rank) =>
            h("li", {key: user.uid}, h("svg", {class: "swatch", viewBox: "0 0 10 10"}, h("rect", {class: `user user-${rank}`, width: 10, height: 10, rx: 2})),
                `${user.user} ${gpuTime(user.total)}`))),
        numbers(rows, bounds),
    ];
    const title = history.everybody ? _("GPU hours, last 7 days") : _("My GPU hours, last 7 days");
    return section("usage", title, [], [trouble(history),
        ...rows.length > 0 ? chart : history.isRead ? [h("p", {key: "none", class: "nothing"}, _("No GPU was attached."))] : []]);
}

/** @param {Context} context */
export function events({history, now}) {
    const title = history.everybody ? _("Recent events") : _("My recent events");
    // The tooltip is the service's own sentence, which has ids and the text of an error.
    const rows = history.events.map(event => h("li", {key: event.cursor, title: event.message},
        h("time", {datetime: new Date(event.time / 1000).toISOString()}, clock(event.time / 1000, now)), h("span", {}, sentence(event))));
    const list = h("ol", {key: "events", class: "events", role: "list", tabindex: 0, "aria-label": title}, ...rows);
    const none = history.isRead && h("p", {key: "none", class: "nothing"}, _("No events in the last day."));
    return section("events", title, [], [trouble(history), rows.length > 0 ? list : none], "wide");
}
