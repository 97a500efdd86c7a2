// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers as they come from the bus. A number that the service does not know is the maximum of its type.

/** @template T @typedef {T | null} Maybe */

/** A 64-bit number, whose maximum is -1 in Cockpit 287 and 18446744073709552000 in later ones.
 * @param {unknown} value
 * @returns {Maybe<number>} */
export function known64(value) {
    return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : null;
}

/** @param {unknown} value
 * @returns {Maybe<number>} */
export function known32(value) {
    return typeof value === "number" && value >= 0 && value < 0xffffffff ? value : null;
}

/** @param {unknown} value
 * @returns {Maybe<number>} */
export function knownInt(value) {
    return typeof value === "number" && value !== 0x7fffffff ? value : null;
}

/** A time in microseconds since the epoch as milliseconds; 0 is none.
 * @param {unknown} value
 * @returns {Maybe<number>} */
export function time(value) {
    const known = known64(value);
    return known ? known / 1000 : null;
}

/** The values of a dictionary of variants, as the bridge writes them: {t: signature, v: value}.
 * @param {Record<string, {t: string, v: any}>} dictionary
 * @returns {Record<string, any>} */
export function plain(dictionary) {
    return Object.fromEntries(Object.entries(dictionary).map(([name, value]) => [name, value.v]));
}

/** A dictionary of variants for a call; what is null or "" is left out.
 * @param {Record<string, [string, unknown]>} values */
export function variants(values) {
    return Object.fromEntries(Object.entries(values)
        .filter(([, [, value]]) => value !== null && value !== undefined && value !== "")
        .map(([name, [type, value]]) => [name, {t: type, v: value}]));
}
