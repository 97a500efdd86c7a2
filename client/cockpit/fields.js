// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of dialogs, and functions to read their values.
import {_, format} from "./i18n.js";
import {h} from "./vdom.js";

/** @param {string} name @param {string} label @param {Record<string, any>} [attributes] */
export function field(name, label, attributes = {}) {
    const id = `field-${name}`;
    return h("p", {key: name, class: "field"}, h("label", {for: id}, label), h("input", {id, name, autocomplete: "off", ...attributes}));
}

/** @param {string} name @param {string} label @param {boolean} checked @param {string} [help] */
export function check(name, label, checked, help = "") {
    const id = `field-${name}`;
    return h("p", {key: name, class: "field check"},
        h("input", {id, name, type: "checkbox", checked, "aria-describedby": help ? `${id}-help` : null}),
        h("label", {for: id}, label),
        help && h("small", {id: `${id}-help`}, help));
}

/** @param {string} name @param {string} label @param {[string, string][]} options value and text */
export function choice(name, label, options) {
    const id = `field-${name}`;
    return h("p", {key: name, class: "field"},
        h("label", {for: id}, label),
        h("select", {id, name}, ...options.map(([value, text]) => h("option", {key: value, value}, text))));
}

/** @param {string} name */
const unitOf = name => `${name}Unit`;

/** A number with a menu of units.
 * @param {string} name @param {string} label @param {Record<string, any>} attributes of the number
 * @param {[string, string][]} units value and text @param {string} unit the chosen one */
function amount(name, label, attributes, units, unit) {
    const id = `field-${name}`;
    return h("p", {key: name, class: "field"},
        h("label", {for: id}, label),
        h("span", {class: "amount"},
            h("input", {id, name, type: "number", min: 1, max: 999_999, autocomplete: "off", ...attributes}),
            h("select", {name: unitOf(name), "aria-label": format(_("$0: unit"), label)},
                ...units.map(([value, text]) => h("option", {key: value, value, selected: value === unit}, text)))));
}

const SECONDS = /** @type {Record<string, number>} */ ({min: 60, h: 3600, d: 86_400});

/** @param {string} name @param {string} label @param {Record<string, any>} attributes of the number of hours */
export const timeField = (name, label, attributes) =>
    amount(name, label, attributes, [["min", _("minutes")], ["h", _("hours")], ["d", _("days")]], "h");

/** @param {string} name @param {string} label @param {Record<string, any>} attributes of the number of GiB */
export const memoryField = (name, label, attributes) => amount(name, label, attributes, [["mib", "MiB"], ["gib", "GiB"]], "gib");

/** @param {FormData} form @param {string} name */
export const textOf = (form, name) => String(form.get(name) ?? "").trim();

/** @param {FormData} form @param {string} name */
export const numberOf = (form, name) => Number(textOf(form, name)) || 0;

/** Returns the seconds of a timeField(), or null for an empty field.
 * @param {FormData} form @param {string} name */
export function timeOf(form, name) {
    const count = numberOf(form, name);
    return count === 0 ? null : count * SECONDS[textOf(form, unitOf(name))];
}

/** Returns the text of a memoryField() for genvctl, or "" for an empty field.
 * @param {FormData} form @param {string} name */
export function memoryOf(form, name) {
    const count = numberOf(form, name);
    return count === 0 ? "" : `${count}${textOf(form, unitOf(name))}`;
}
