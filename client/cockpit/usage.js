// SPDX-License-Identifier: LGPL-2.1-or-later
// Calculates the GPU hours of users by day, from the events of the history and the present attachments.

/** @typedef {{uid: number, user: string, begin: number, end: number}} Hold */
/** @typedef {{user: string, uid: number, hours: number[], total: number}} UserHours */

/** Returns the midnights at which the last days begin, oldest first, and the following one.
 * @param {number} now @param {number} days */
export function midnights(now, days) {
    const today = new Date(now);
    return Array.from({length: days + 1}, (_unused, index) =>
        new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1 + index).getTime());
}

/** Returns the attachments that a `detached` event reports; none for a nested environment, whose GPUs count for its parent.
 * @param {Record<string, any>} event
 * @returns {Hold[]} */
export function holdsOf(event) {
    if (event.kind !== "detached" || event.parent || event.uid === undefined)
        return [];
    const end = event.time / 1000;
    const begin = event.since !== undefined ? event.since / 1000 : end - (event.held ?? 0) / 1000;
    const length = event.held !== undefined ? Math.min(event.held / 1000, end - begin) : end - begin;
    const devices = event.devices?.length ?? 1;
    return Array.from({length: devices}, () => ({uid: event.uid, user: event.user ?? String(event.uid), begin, end: begin + length}));
}

/** @param {import("./model.js").Machine} machine @param {number} now @param {(uid: number) => boolean} isShown
 * @returns {Hold[]} */
export function holdsNow(machine, now, isShown) {
    return machine.devices.flatMap(device => device.holders
        .filter(holder => holder.user && holder.since !== null && isShown(holder.uid))
        .map(holder => ({uid: holder.uid, user: holder.user, begin: /** @type {number} */ (holder.since), end: now})));
}

/** Returns the hours by user and day, the users with the most hours first.
 * @param {Hold[]} holds @param {number[]} bounds as midnights() returns them
 * @returns {UserHours[]} */
export function hoursByDay(holds, bounds) {
    /** @type {Map<number, UserHours>} */
    const users = new Map();
    for (const {uid, user, begin, end} of holds) {
        const row = users.get(uid) ?? {user, uid, hours: bounds.slice(1).map(() => 0), total: 0};
        for (let day = 0; day + 1 < bounds.length; ++day) {
            const hours = Math.max(0, Math.min(end, bounds[day + 1]) - Math.max(begin, bounds[day])) / 3_600_000;
            row.hours[day] += hours;
            row.total += hours;
        }
        users.set(uid, row);
    }
    return [...users.values()].filter(row => row.total > 0).sort((a, b) => b.total - a.total || a.uid - b.uid);
}

/** Returns the first users, and all others combined to one row.
 * @param {UserHours[]} rows @param {number} count @param {string} others their name */
export function withOthers(rows, count, others) {
    if (rows.length <= count)
        return rows;
    const rest = rows.slice(count - 1);
    const sum = {user: others, uid: -1, total: rest.reduce((total, row) => total + row.total, 0),
        hours: rest[0].hours.map((_unused, day) => rest.reduce((total, row) => total + row.hours[day], 0))};
    return [...rows.slice(0, count - 1), sum];
}

/** Returns a round number of hours, at least `hours`, for the top of a chart.
 * @param {number} hours */
export function niceTop(hours) {
    const step = 10 ** Math.floor(Math.log10(Math.max(hours, 1)));
    return [1, 2, 3, 4, 5, 6, 8, 10].map(factor => factor * step).find(top => top >= hours) ?? 10 * step;
}
