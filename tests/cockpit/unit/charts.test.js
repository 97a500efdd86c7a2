// SPDX-License-Identifier: LGPL-2.1-or-later
import assert from "node:assert/strict";
import test from "node:test";
import {paths, pieces, summary, thinned} from "../../../client/cockpit/graph.js";
import {holdsNow, holdsOf, hoursByDay, midnights, niceTop, withOthers} from "../../../client/cockpit/usage.js";

const HOUR = 3_600_000;
const FRAME = {since: 0, until: 100, width: 100, height: 40, most: 100, gap: 10};

test("a graph has a gap where readings are missing", () => {
    const points = [0, 5, 10, 50, 55].map(when => ({when, value: 50}));
    assert.deepEqual(pieces(points, 10).map(piece => piece.length), [3, 2]);
    const {line, area} = paths(points, FRAME);
    assert.equal(line, "M0.0,20.0L5.0,20.0L10.0,20.0M50.0,20.0L55.0,20.0");
    assert.equal(area.match(/Z/g).length, 2);
});

test("one reading shows, and none is no path", () => {
    assert.equal(paths([{when: 50, value: 100}], FRAME).line, "M50.0,0.0L50.5,0.0");
    assert.deepEqual(paths([], FRAME), {line: "", area: ""});
});

test("values beyond the frame stay in it", () => {
    assert.equal(paths([{when: 0, value: -5}, {when: 1, value: 500}], FRAME).line, "M0.0,40.0L1.0,0.0");
});

test("of many readings peaks stay", () => {
    const points = Array.from({length: 1000}, (_unused, when) => ({when, value: when === 512 ? 100 : 1}));
    const few = thinned(points, 0, 1000, 50);
    assert.equal(few.length, 50);
    assert.ok(few.some(point => point.value === 100));
    assert.deepEqual(few.map(point => point.when), few.map(point => point.when).sort((a, b) => a - b));
});

test("the sum in words", () => {
    assert.equal(summary([]), null);
    assert.deepEqual(summary([{when: 0, value: 10}, {when: 1, value: 21}]), {mean: 16, peak: 21});
});

test("days begin at midnight", () => {
    const bounds = midnights(new Date(2026, 10, 25, 13, 0).getTime(), 7);
    assert.equal(bounds.length, 8);
    assert.equal(bounds[0], new Date(2026, 10, 19).getTime());
    assert.equal(bounds[7], new Date(2026, 10, 26).getTime());
});

const detached = {kind: "detached", time: 10 * HOUR * 1000, since: 4 * HOUR * 1000, held: 6 * HOUR * 1000, uid: 1001, user: "alice", devices: [0, 1]};

test("an event tells what was held, a child's nothing", () => {
    assert.deepEqual(holdsOf(detached), Array(2).fill({uid: 1001, user: "alice", begin: 4 * HOUR, end: 10 * HOUR}));
    assert.deepEqual(holdsOf({...detached, parent: "a"}), []);
    assert.deepEqual(holdsOf({...detached, kind: "attached"}), []);
    // The event reached the journal after the end of the attachment.
    assert.equal(holdsOf({...detached, held: 2 * HOUR * 1000})[0].end, 6 * HOUR);
});

test("hours are the days' in which they were", () => {
    const rows = hoursByDay([{uid: 1, user: "a", begin: -5 * HOUR, end: 30 * HOUR}, {uid: 2, user: "b", begin: 40 * HOUR, end: 90 * HOUR},
        {uid: 3, user: "c", begin: -9 * HOUR, end: -1 * HOUR}], [0, 24 * HOUR, 48 * HOUR]);
    assert.deepEqual(rows, [{uid: 1, user: "a", hours: [24, 6], total: 30}, {uid: 2, user: "b", hours: [0, 8], total: 8}]);
});

test("what is held now counts until now, for those who may be shown", () => {
    const holder = {uid: 1, user: "a", since: 0};
    const machine = {devices: [{holders: [holder, {uid: 2, user: "b", since: 0}]}, {holders: [{uid: 1, user: "", since: 0}]}]};
    assert.deepEqual(holdsNow(machine, HOUR, uid => uid === 1), [{uid: 1, user: "a", begin: 0, end: HOUR}]);
});

test("the users with the fewest hours are one", () => {
    const rows = [5, 4, 3, 2].map(total => ({uid: total, user: String(total), hours: [total], total}));
    assert.deepEqual(withOthers(rows, 3, "others").map(row => [row.user, row.total]), [["5", 5], ["4", 4], ["others", 5]]);
    assert.equal(withOthers(rows, 4, "others"), rows);
});

test("the top of a chart is round", () => {
    assert.deepEqual([0, 0.3, 1, 7, 11, 250].map(niceTop), [1, 1, 1, 8, 20, 300]);
});
