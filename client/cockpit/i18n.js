// SPDX-License-Identifier: LGPL-2.1-or-later
// Translations by Cockpit, whose po.js this page loads first; outside a browser the texts stay as they are.

/** @returns {any} */
const cockpit = () => /** @type {any} */ (globalThis).cockpit;

/** @param {string} text */
export const _ = text => cockpit()?.gettext(text) ?? text;

/** Fills in $0, $1 and so on.
 * @param {string} text
 * @param {...unknown} values */
export function format(text, ...values) {
    return text.replace(/\$(\d)/g, (_match, index) => String(values[Number(index)] ?? ""));
}

/** A text that counts; $0 is the number.
 * @param {string} one
 * @param {string} many
 * @param {number} count */
export function plural(one, many, count) {
    const text = cockpit()?.ngettext(one, many, count) ?? (count === 1 ? one : many);
    return format(text, count);
}

/** The language of the page as browsers call it, such as "de" or "pt-BR". */
export const language = () => (cockpit()?.language ?? "en").replace("_", "-");
