// SPDX-License-Identifier: LGPL-2.1-or-later
import assert from "node:assert/strict";
import test from "node:test";
import {age, bytes, clock, duration} from "../../../client/cockpit/format.js";
import {memoryOf, timeOf} from "../../../client/cockpit/fields.js";
import {limitRows} from "../../../client/cockpit/limits.js";
import {known32, known64, knownInt, time, variants} from "../../../client/cockpit/values.js";

test("an unknown number is none, in each form that Cockpit gives it", () => {
    for (const value of [-1, 18446744073709552000, undefined, null])
        assert.equal(known64(value), null);
    assert.equal(known64(85_899_345_920), 85_899_345_920);
    assert.equal(known32(4294967295), null);
    assert.equal(known32(-1), null);
    assert.equal(known32(0), 0);
    assert.equal(knownInt(2147483647), null);
    assert.equal(knownInt(-5), -5);
    assert.equal(time(0), null);
    assert.equal(time(1_795_261_288_175_877), 1_795_261_288_175.877);
});

test("options that are not given are left out of a call", () => {
    assert.deepEqual(variants({count: ["u", 0], model: ["s", ""], lifetime: ["t", null]}), {count: {t: "u", v: 0}});
});

test("bytes", () => {
    assert.equal(bytes(0), "0 B");
    assert.equal(bytes(512 * 2 ** 20), "512 MiB");
    assert.equal(bytes(9.5 * 2 ** 30), "9.5 GiB");
    assert.equal(bytes(80 * 2 ** 30), "80 GiB");
    assert.equal(bytes(null), "unknown");
});

test("a duration has two units at most", () => {
    for (const [seconds, text] of [[0, "0s"], [59, "59s"], [90, "1min 30s"], [3600, "1h"], [5400, "1h 30min"], [86400 + 3600, "1d 1h"], [3601, "1h"]])
        assert.equal(duration(seconds), text);
});

test("the time of a day has 24 hours", () => {
    const now = new Date(2026, 10, 26, 12, 0).getTime();
    assert.equal(clock(new Date(2026, 10, 26, 14, 30).getTime(), now), "14:30");
    assert.equal(clock(new Date(2026, 10, 27, 0, 5).getTime(), now), "Fri 00:05");
});

test("an age has no seconds", () => {
    assert.equal(age(0, 59_000), "less than 1min");
    assert.equal(age(0, 61_000), "1min");
    assert.equal(age(0, 3_661_000), "1h 1min");
});

test("limits that are set come first, with how much of them is used", () => {
    const rows = limitRows({MaxGpuMemoryPerUser: [-1, 2 ** 33], MaxDevicesPerUser: [4, 1], IdleTimeout: [1800, 60], MaxNewThing: [-1, 3]});
    assert.deepEqual(rows.map(row => row.key), ["MaxDevicesPerUser", "IdleTimeout", "MaxGpuMemoryPerUser", "MaxNewThing"]);
    assert.deepEqual(rows.map(row => row.part), [0.25, 1 / 30, null, null]);
    assert.equal(rows[1].allowedText, "30min");
    assert.equal(rows[2].usedText, "8 GiB");
    assert.equal(rows[2].allowedText, "");
    assert.equal(rows[3].label, "Max New Thing");
});

test("a limit of nothing is full", () => assert.equal(limitRows({MaxDevicesPerUser: [0, 0]})[0].part, 1));

test("a number and the unit of a menu are an amount", () => {
    const form = new Map(Object.entries({lifetime: "90", lifetimeUnit: "min", timeout: " 2 ", timeoutUnit: "d", memory: "8", memoryUnit: "gib", none: "", noneUnit: "h"}));
    assert.equal(timeOf(form, "lifetime"), 5400);
    assert.equal(timeOf(form, "timeout"), 172_800);
    assert.equal(timeOf(form, "none"), null);
    assert.equal(memoryOf(form, "memory"), "8gib");
    assert.equal(memoryOf(form, "none"), "");
});
