// SPDX-License-Identifier: LGPL-2.1-or-later
// The limits set by an administrator and the used part of each: those of the user, and for administrators those of all.
import {_, format} from "../i18n.js";
import {limitRows} from "../limits.js";
import {h} from "../vdom.js";
import {bar, row, section, table} from "./parts.js";

/** @typedef {Record<string, [number, number]>} Limits */

/** @param {import("../limits.js").Limit} limit */
const both = limit => format(_("$0 of $1"), limit.usedText, limit.allowedText);

/** @param {import("../limits.js").Limit} limit */
function limitView(limit) {
    return h("li", {key: limit.key},
        h("p", {class: "reading"}, h("span", {}, limit.label), h("span", {}, both(limit))),
        bar(limit.part ?? 0, limit.label, both(limit)));
}

/** @param {Limits} limits */
function mineView(limits) {
    const set = limitRows(limits).filter(limit => limit.allowed !== null);
    return set.length > 0 ? h("ul", {key: "limits", class: "limits", role: "list"}, ...set.map(limitView))
        : h("p", {key: "none", class: "nothing"}, _("No limits are set."));
}

/** Shows the limits that are set.
 * @param {Limits | null} limits */
export const mine = limits => section("limits", _("My limits"), [], [limits && mineView(limits)]);

/** @param {Map<string, Limits>} users */
export function everybody(users) {
    const all = [...users.entries()].map(([user, limits]) => ({user, rows: limitRows(limits)}));
    const always = ["MaxDevicesPerUser", "MaxEnvironmentsPerUser"];
    const shown = (all[0]?.rows ?? []).filter(({key}) => always.includes(key) ||
        all.some(({rows}) => rows.some(limit => limit.key === key && limit.allowed !== null)));
    const columns = [_("User"), ...shown.map(limit => limit.label)];
    const rows = all.map(({user, rows: limits}) => row(user, columns, [h("b", {}, user), ...shown.map(({key}) => {
        const limit = limits.find(each => each.key === key);
        return limit ? (limit.allowed === null ? limit.usedText : both(limit)) : "–";
    })]));
    return section("everybody", _("Limits of all users"), [],
        [rows.length > 0 ? table(_("Limits of all users"), columns, rows) : h("p", {class: "nothing"}, _("No user has an environment or limits."))], "wide");
}
