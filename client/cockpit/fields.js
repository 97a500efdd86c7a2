// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of dialogs, and functions to read their values.
import {parseDuration} from "./format.js";
import {_, format} from "./i18n.js";
import {h} from "./vdom.js";

/** @param {string} name @param {string} label @param {Record<string, any>} [attributes] @param {string} [help] */
export function field(name, label, attributes = {}, help = "") {
    const id = `field-${name}`;
    return h("p", {key: name, class: `field field-${name}`},
        h("label", {for: id}, label),
        h("input", {id, name, autocomplete: "off", "aria-describedby": help ? `${id}-help` : null, ...attributes}),
        help && h("small", {id: `${id}-help`}, help));
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

/** @param {FormData} form @param {string} name */
export const textOf = (form, name) => String(form.get(name) ?? "").trim();

/** @param {FormData} form @param {string} name */
export const numberOf = (form, name) => Number(textOf(form, name)) || 0;

/** Returns seconds, or null for an empty field.
 * @param {FormData} form @param {string} name */
export function timeOf(form, name) {
    const text = textOf(form, name);
    const seconds = text === "" ? null : parseDuration(text);
    if (text !== "" && !seconds)
        throw new Error(format(_("\"$0\" is not a time: write it as 30min, 2h or 1d."), text));
    return seconds;
}
