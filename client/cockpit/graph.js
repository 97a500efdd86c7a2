// SPDX-License-Identifier: LGPL-2.1-or-later
// Calculates the paths of graphs, as text for SVG.

/** @typedef {{when: number, value: number}} Point */

/** Splits points into pieces: if readings are missing for longer than `gap`, a new piece begins.
 * @param {Point[]} points by time
 * @param {number} gap milliseconds
 * @returns {Point[][]} */
export function pieces(points, gap) {
    /** @type {Point[][]} */
    const found = [];
    for (const point of points) {
        const last = found.at(-1);
        const previous = last?.at(-1);
        if (last && previous && point.when - previous.when <= gap)
            last.push(point);
        else
            found.push([point]);
    }
    return found;
}

/** Returns at most `columns` points, the highest of each column, so that peaks stay visible.
 * @param {Point[]} points
 * @param {number} since @param {number} until @param {number} columns */
export function thinned(points, since, until, columns) {
    /** @type {Map<number, Point>} */
    const highest = new Map();
    for (const point of points) {
        if (point.when < since || point.when > until)
            continue;
        const column = Math.min(columns - 1, Math.floor((point.when - since) / (until - since) * columns));
        const known = highest.get(column);
        if (!known || known.value < point.value)
            highest.set(column, point);
    }
    return [...highest.entries()].sort(([a], [b]) => a - b).map(([, point]) => point);
}

/** Returns the line of a graph and the area below it. Values range from 0 to `most`.
 * @param {Point[]} points by time
 * @param {{since: number, until: number, width: number, height: number, most: number, gap: number}} frame */
export function paths(points, {since, until, width, height, most, gap}) {
    /** @param {Point} point */
    const place = point => {
        const x = (point.when - since) / (until - since) * width;
        const y = height - Math.min(1, Math.max(0, point.value / most)) * height;
        return [x.toFixed(1), y.toFixed(1)];
    };
    let line = "";
    let area = "";
    for (const piece of pieces(points, gap)) {
        const places = piece.map(place);
        if (places.length === 1) // a single point would be invisible
            places.push([(Number(places[0][0]) + 0.5).toFixed(1), places[0][1]]);
        const steps = places.map(([x, y]) => `${x},${y}`).join("L");
        line += `M${steps}`;
        area += `M${places[0][0]},${height}L${steps}L${places[places.length - 1][0]},${height}Z`;
    }
    return {line, area};
}

/** @param {Point[]} points */
export function summary(points) {
    if (points.length === 0)
        return null;
    const values = points.map(point => point.value);
    const sum = values.reduce((a, b) => a + b, 0);
    return {mean: Math.round(sum / values.length), peak: Math.max(...values)};
}
