// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats values.
import {_, format, language, plural} from "./i18n.js";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @param {number} value @param {number} digits after the decimal point */
export function number(value, digits) {
    return value.toLocaleString(language(), {maximumFractionDigits: digits, useGrouping: false});
}

/** @param {number | null} count */
export function bytes(count) {
    if (count === null)
        return _("unknown");
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (count >= 1024 && unit < units.length - 1) {
        count /= 1024;
        ++unit;
    }
    return `${number(count, count < 10 && unit > 2 ? 1 : 0)} ${units[unit]}`;
}

/** @param {number | null} value */
export const percent = value => value === null ? "–" : `${value} %`;

/** Formats seconds in their two largest units, in a form that can be typed.
 * @param {number} seconds */
export function duration(seconds) {
    const rest = Math.max(0, Math.floor(seconds));
    /** @type {[string, number][]} */
    const parts = [["d", Math.floor(rest / DAY)], ["h", Math.floor(rest % DAY / HOUR)],
        ["min", Math.floor(rest % HOUR / MINUTE)], ["s", rest % MINUTE]];
    const first = parts.findIndex(([, count]) => count > 0);
    if (first < 0)
        return "0s";
    // Seconds are shown only below ten minutes.
    const shown = parts.slice(first, first + 2).filter(([unit, count]) => count > 0 && (unit !== "s" || rest < 10 * MINUTE));
    return shown.map(([unit, count]) => `${count}${unit}`).join(" ");
}

/** Formats how long something has lasted, without seconds, which would change all the time.
 * @param {number} from @param {number} now both in milliseconds */
export function age(from, now) {
    const seconds = (now - from) / 1000;
    return seconds < MINUTE ? _("less than 1min") : duration(seconds - seconds % MINUTE);
}

/** @param {number} when milliseconds @param {number} now */
export function clock(when, now) {
    const date = new Date(when);
    /** @type {Intl.DateTimeFormatOptions} */
    const style = date.toDateString() === new Date(now).toDateString()
        ? {hour: "2-digit", minute: "2-digit", hourCycle: "h23"}
        : {weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
    if (Math.abs(now - when) > 6 * DAY * 1000)
        Object.assign(style, {weekday: undefined, day: "numeric", month: "short"});
    return date.toLocaleString(language(), style);
}

/** @param {number} when milliseconds */
export const weekday = when => new Date(when).toLocaleDateString(language(), {weekday: "short"});

/** Formats GPU time in minutes or hours.
 * @param {number} hours */
export const gpuTime = hours => hours < 1 ? `${Math.round(hours * 60)} min` : `${hours.toLocaleString(language(), {minimumFractionDigits: 1, maximumFractionDigits: 1})} h`;

/** @param {number} milliwatts */
export const watts = milliwatts => `${Math.round(milliwatts / 1000)} W`;

/** @param {number} count */
export const gpus = count => plural("$0 GPU", "$0 GPUs", count);

/** @param {number[]} indices */
export function gpuList(indices) {
    return indices.length === 0 ? "–" : format(indices.length === 1 ? _("GPU $0") : _("GPUs $0"), indices.join(", "));
}

const ISOLATION = /** @type {Record<string, () => string>} */ ({
    none: () => _("no isolation"), watch: () => _("isolation counts attempts"), user: () => _("isolated by the kernel"),
});

/** @param {string} mode */
export const isolationOf = mode => ISOLATION[mode]?.() ?? mode;

/** Returns the name chosen by the user, or the id.
 * @param {{name: string, id: string}} environment */
export const nameOf = environment => environment.name || environment.id;
