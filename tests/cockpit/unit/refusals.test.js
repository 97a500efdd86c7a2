// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences for refused requests.
import assert from "node:assert/strict";
import test from "node:test";
import {clock} from "../../../client/cockpit/format.js";
import {machineOf} from "../../../client/cockpit/model.js";
import {refusalOf} from "../../../client/cockpit/refusals.js";
import {Store} from "../../../client/cockpit/store.js";
import {device, environment, waiter} from "./support.js";

const HELD = {Attachments: [["a", 0, 1]]};
const COMMAND = "No available devices; GPU 0 is held by bob (environment 7) since 26/11/2026 11:30:37";

function state(devices, {waiting = 0, order = "fifo", limits = null} = {}) {
    const store = new Store();
    store.load(Object.fromEntries(devices));
    store.manager.Policy = {Order: {t: "s", v: order}};
    const queue = Array.from({length: waiting}, (_unused, index) => waiter(index + 1, `w${index}`, 1001, 1));
    return {machine: machineOf({store, processes: [], queue, history: new Map(), uid: 1003}), limits};
}

const refused = (name, request, from, message = COMMAND) => {
    const {sentence, question} = refusalOf(Object.assign(new Error(message), {name}), {count: 1, model: "", share: false, ...request}, from);
    return [sentence, question].filter(Boolean).join(" ");
};

test("too few free GPUs are a sentence and a choice, from the bus and from genvctl", () => {
    const full = [device(0, HELD), device(1, HELD)];
    for (const name of ["dev.genv.Error.DeviceUnavailable", "DeviceUnavailable"])
        assert.equal(refused(name, {}, state(full)), "No GPU is free. Wait in the queue? You would be first.");
    assert.equal(refused("DeviceUnavailable", {model: "Tesla T4"}, state(full)), "No Tesla T4 is free. Wait in the queue? You would be first.");
    assert.equal(refused("DeviceUnavailable", {count: 2}, state([...full, device(2)])),
        "Too few GPUs are free: 1 of 2. Wait in the queue? You would be first.");
    assert.equal(refused("DeviceUnavailable", {}, state([device(0)], {waiting: 1})),
        "The free GPUs are kept for requests in the queue. Wait in the queue? You would be second.");
    // Between the refusal and the sentence, a GPU may become free.
    assert.match(refused("DeviceUnavailable", {}, state([device(0)])), /^These GPUs are not available now\. Wait/);
});

test("the place is the one behind all who wait, and none is promised in a fair order", () => {
    const places = [0, 1, 2, 3, 10].map(waiting => refused("DeviceUnavailable", {}, state([device(0, HELD)], {waiting})).split("? ")[1]);
    assert.deepEqual(places, ["You would be first.", "You would be second.", "You would be third.", "You would be number 4.", "You would be number 11."]);
    assert.match(refused("DeviceUnavailable", {}, state([device(0, HELD)], {waiting: 2, order: "fair"})), /\? 2 requests wait\.$/);
});

test("the first in the queue hears when leases end", () => {
    const end = Date.now() + 90 * 60 * 1000;
    const said = (devices, ends, request = {}) => {
        const holders = ends.map((moment, index) => environment(`e${index}`, 1001, "bob", {Attached: [[index, moment * 1000]]}));
        const held = ends.map((_end, index) => device(index, {Attachments: [[`e${index}`, 0, 1]]}));
        return refused("DeviceUnavailable", request, state([...held, ...devices, ...holders])).split("? ")[1];
    };
    const at = moment => `You would be first, about ${clock(moment, Date.now())}.`;
    assert.equal(said([], [end, 0]), at(end), "a holder without a lease may leave later");
    assert.equal(said([], [end + 60_000, end]), at(end));
    assert.equal(said([device(2)], [end + 60_000, end], {count: 2}), at(end), "one of them is free already");
    assert.equal(said([], [end + 60_000, end], {count: 2}), at(end + 60_000));
    assert.equal(said([], [end, 0], {count: 2}), "You would be first.");
    assert.equal(said([device(1, {Health: "failed"})], [0]), "You would be first.");
    assert.equal(refused("DeviceUnavailable", {}, state([device(0, {Attachments: [["e0", 0, 1]]}),
        environment("e0", 1001, "bob", {Attached: [[0, end * 1000]]})], {waiting: 1})).split("? ")[1], "You would be second.");
});

test("waiting is not offered for more than the machine has", () => {
    for (const name of ["dev.genv.Error.NotEnoughDevices", "DeviceUnavailable"])
        assert.equal(refused(name, {count: 3}, state([device(0), device(1)])), "This machine has only 2 GPUs.");
    assert.equal(refused("NotEnoughDevices", {count: 2, model: "H100"}, state([device(0), device(1, {Model: "NVIDIA H100"})])),
        "This machine has only 1 GPU of this model.");
});

test("a limit is named with its use", () => {
    const limits = {MaxDevicesPerUser: [3, 1], MaxLifetime: [86_400, 0]};
    const message = "a user may have 3 devices, and this would make 5 (MaxDevicesPerUser)";
    assert.equal(refused("QuotaExceeded", {count: 4}, state([device(0)], {limits}), message), "This is over your limit. GPUs: 1 of 3.");
    assert.equal(refused("QuotaExceeded", {count: 3}, state([device(0)], {limits}), message),
        "This is over your limit. GPUs: 1 of 3. Wait in the queue? You would be first.");
    assert.equal(refused("QuotaExceeded", {}, state([device(0)], {limits}), "an environment may last 1d, and this would make 2d (MaxLifetime)"),
        "This is over your limit. Age of an environment: 0s of 1d.");
    assert.equal(refused("QuotaExceeded", {}, state([device(0)]), message), "This is over one of your limits.");
});

test("what needs consent can be waited for, what needs a right cannot", () => {
    assert.match(refused("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", {share: true}, state([device(0, HELD)])),
        /^Nobody has agreed to share enough GPUs\. Wait in the queue\?/);
    assert.equal(refused("AccessDenied", {}, state([device(0)])), "You are not allowed to do this. Ask an administrator.");
});

test("another failure is the service's own sentence", () => {
    assert.equal(refused("dev.genv.Error.NotAttached", {}, state([]), "environment 7 holds no device"), "environment 7 holds no device");
    // A lease that may not be extended asks for no GPU.
    assert.equal(refused("dev.genv.Error.DeviceUnavailable", {count: 0}, state([device(0, HELD)]), "a request waits for GPU 0"), "a request waits for GPU 0");
    assert.equal(refusalOf("text", {count: 0, model: "", share: false}, state([])).sentence, "text");
});
