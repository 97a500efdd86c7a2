// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts about the sensors of a device, other than its utilization.
import {watts} from "./format.js";
import {_, format} from "./i18n.js";
import {known32, known64, knownInt} from "./values.js";

/** Returns a text for each sensor whose value is known.
 * @param {Record<string, any>} p the properties of the device
 * @returns {string[]} */
export function conditionsOf(p) {
    const texts = [];
    const temperature = knownInt(p.Temperature);
    if (temperature !== null)
        texts.push(`${temperature} °C`);
    const power = known64(p.PowerUsage);
    const limit = known32(p.PowerLimit);
    if (power !== null)
        texts.push(limit === null ? watts(power) : format(_("$0 of $1"), watts(power), watts(limit)));
    return texts;
}
