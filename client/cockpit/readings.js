// SPDX-License-Identifier: LGPL-2.1-or-later
// The utilization of the last hour: the readings stored by the service, and those that this page has received since.
import {known32, time} from "./values.js";

export const HOUR = 3_600_000;

/** @typedef {{when: number, value: number}} Point */

export class Readings {
    constructor() {
        /** @type {Map<number, Point[]>} by index of the device, oldest first */
        this.points = new Map();
        /** The time of the newest row in microseconds, to request later ones. */
        this.last = 0;
    }

    /** @param {number} index @param {Point} point @param {number} now */
    add(index, point, now) {
        const points = this.points.get(index) ?? [];
        if ((points.at(-1)?.when ?? 0) >= point.when)
            return;
        points.push(point);
        while (points.length > 0 && points[0].when < now - HOUR)
            points.shift();
        this.points.set(index, points);
    }

    /** Adds rows of ListReadings.
     * @param {number[][]} rows @param {number} now */
    addRows(rows, now) {
        for (const [index, when, , utilization] of rows) {
            const value = known32(utilization);
            this.last = Math.max(this.last, when);
            if (value !== null)
                this.add(index, {when: when / 1000, value}, now);
        }
    }

    /** Adds the current readings of the devices.
     * @param {import("./store.js").Store} store @param {number} now */
    addCurrent(store, now) {
        for (const {properties} of store.devices.values()) {
            const when = time(properties.SampledAt);
            const value = known32(properties.Utilization);
            if (when !== null && value !== null)
                this.add(properties.Index, {when, value}, now);
        }
    }
}
