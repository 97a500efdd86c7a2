// SPDX-License-Identifier: LGPL-2.1-or-later
// Translations by Cockpit, whose po.js this page loads first. Outside a browser, texts are not translated.

/** @returns {any} */
const cockpit = () => /** @type {any} */ (globalThis).cockpit;

/** @param {string} text */
export const _ = text => cockpit()?.gettext(text) ?? text;

/** Replaces $0, $1 and so on.
 * @param {string} text
 * @param {...unknown} values */
export function format(text, ...values) {
    return text.replace(/\$(\d)/g, (_match, index) => String(values[Number(index)] ?? ""));
}

/** Selects a text by a number, which replaces $0.
 * @param {string} one
 * @param {string} many
 * @param {number} count */
export function plural(one, many, count) {
    const text = cockpit()?.ngettext(one, many, count) ?? (count === 1 ? one : many);
    return format(text, count);
}

/** Returns the language tag of the page in the form that browsers use, such as "de" or "pt-BR". */
export const language = () => (cockpit()?.language ?? "en").replace("_", "-");
