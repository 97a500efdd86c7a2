// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats limits for users.
import {bytes, duration} from "./format.js";
import {_} from "./i18n.js";
import {known64} from "./values.js";

/** @typedef {{key: string, label: string, allowed: number | null, used: number, usedText: string, allowedText: string,
 *   part: number | null}} Limit */

const LABELS = /** @type {Record<string, () => string>} */ ({
    MaxDevicesPerUser: () => _("GPUs"),
    MaxDevicesPerEnvironment: () => _("GPUs of one environment"),
    MaxEnvironmentsPerUser: () => _("Environments"),
    MaxProcessesPerUser: () => _("Processes on GPUs"),
    MaxGpuMemoryPerUser: () => _("GPU memory"),
    MaxGpuMemoryPerDevice: () => _("GPU memory on one GPU"),
    MaxPreemptibleDevices: () => _("GPUs on loan"),
    MaxLifetime: () => _("Age of an environment"),
    IdleTimeout: () => _("Idle time of a GPU"),
});

/** Returns the label of a limit. For a limit that this page does not know, it is made from the words of its name.
 * @param {string} key */
function labelOf(key) {
    return LABELS[key]?.() ?? key.replace(/([a-z])([A-Z])/g, "$1 $2");
}

/** Returns the limit whose name a refusal of the service has, or null.
 * @param {string} message @param {Record<string, [number, number]> | null} limits */
export const refusing = (message, limits) => limitRows(limits ?? {}).find(row => message.includes(`(${row.key})`)) ?? null;

/** @param {string} key @param {number} value */
function text(key, value) {
    if (/Memory/.test(key))
        return bytes(value);
    return /Lifetime|Timeout|Time$/.test(key) ? duration(value) : String(value);
}

/** @param {Record<string, [number, number]>} limits as GetLimits returns them
 * @returns {Limit[]} the limits that are set come first */
export function limitRows(limits) {
    const rows = Object.entries(limits).map(([key, [most, used]]) => {
        const allowed = known64(most);
        const now = known64(used) ?? 0;
        return {
            key, label: labelOf(key), allowed, used: now, usedText: text(key, now),
            allowedText: allowed === null ? "" : text(key, allowed),
            part: allowed === null ? null : allowed === 0 ? 1 : Math.min(1, now / allowed),
        };
    });
    const order = Object.keys(LABELS);
    const rank = (/** @type {Limit} */ row) => (order.indexOf(row.key) + 1 || order.length + 1) + (row.allowed === null ? 100 : 0);
    return rows.sort((a, b) => rank(a) - rank(b));
}
