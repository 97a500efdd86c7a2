// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts numbers from the bus. The maximum of a type means that the service does not know the number.

/** @template T @typedef {T | null} Maybe */

/** Converts a 64-bit number, whose maximum is -1 in Cockpit 287 and 18446744073709552000 in later versions.
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

/** Converts a time in microseconds since the epoch to milliseconds; 0 means no time.
 * @param {unknown} value
 * @returns {Maybe<number>} */
export function time(value) {
    const known = known64(value);
    return known ? known / 1000 : null;
}

/** Returns the values of a dictionary of variants, which the bridge writes as {t: signature, v: value}.
 * @param {Record<string, {t: string, v: any}>} dictionary
 * @returns {Record<string, any>} */
export function plain(dictionary) {
    return Object.fromEntries(Object.entries(dictionary).map(([name, value]) => [name, value.v]));
}

/** Returns a dictionary of variants for a call. Values that are null or "" are omitted.
 * @param {Record<string, [string, unknown]>} values */
export function variants(values) {
    return Object.fromEntries(Object.entries(values)
        .filter(([, [, value]]) => value !== null && value !== undefined && value !== "")
        .map(([name, [type, value]]) => [name, {t: type, v: value}]));
}
