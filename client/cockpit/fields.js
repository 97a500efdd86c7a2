// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of dialogs, and functions to read their values.
import {_, format} from "./i18n.js";
import {h} from "./vdom.js";

/** @param {string} tag @param {string} name @param {string} label @param {Record<string, any>} attributes @param {string} help */
function described(tag, name, label, attributes, help) {
    const id = `field-${name}`;
    return h("p", {key: name, class: "field"}, h("label", {for: id}, label),
        h(tag, {id, name, autocomplete: "off", "aria-describedby": help ? `${id}-help` : null, ...attributes}),
        help && h("small", {id: `${id}-help`}, help));
}

/** @param {string} name @param {string} label @param {Record<string, any>} [attributes] @param {string} [help] */
export const field = (name, label, attributes = {}, help = "") => described("input", name, label, attributes, help);

/** A field of several lines.
 * @param {string} name @param {string} label @param {string} help @param {Record<string, any>} [attributes] */
export const area = (name, label, help, attributes = {}) =>
    described("textarea", name, label, {rows: 3, spellcheck: "false", autocapitalize: "off", ...attributes}, help);

/** Fields that are seldom needed, at first closed.
 * @param {string} label @param {import("./vdom.js").Node[]} fields */
export const more = (label, fields) => h("details", {key: label}, h("summary", {}, label), ...fields);

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

/** Whether other requests may take the GPUs of an environment or job. */
export const preemptibleField = () => choice("preemptible", _("Others may take its GPUs"),
    [["", _("no")], ["park", _("yes, if it can be parked")], ["end", _("yes, and it ends if it cannot be parked")]]);

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
