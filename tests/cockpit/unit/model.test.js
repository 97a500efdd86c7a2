// SPDX-License-Identifier: LGPL-2.1-or-later
import assert from "node:assert/strict";
import test from "node:test";
import {attachedOf, machineOf, models, totals} from "../../../client/cockpit/model.js";
import {Readings} from "../../../client/cockpit/readings.js";
import {DEVICE, ENVIRONMENT, MANAGER, OBJECTS, PROPERTIES, Store} from "../../../client/cockpit/store.js";
import {device, environment, waiter} from "./support.js";

const CAROL = 1003;

function machine(objects, {processes = [], queue = [], history = new Map()} = {}) {
    const store = new Store();
    store.load(Object.fromEntries(objects));
    return machineOf({store, processes, queue, history, uid: CAROL});
}

const process = (pid, uid, user, where, index) => ({pid, uid, user, environment: where, name: "python3", devices: [[index, 2 ** 30, 4294967295]]});

test("a device is somebody's, one's own, used from outside, Slurm's, lost or free", () => {
    const found = machine([
        device(0, {Attachments: [["a", 0, 5_000_000]]}), device(1, {Attachments: [["c", 2 ** 30, 5_000_000], ["a", 2 ** 30, 5_000_000]]}),
        device(2, {Free: false}), device(3, {ReservedFor: "slurm"}), device(4, {Health: "lost"}), device(5),
        environment("a", 1001, "alice", {Name: "training"}), environment("c", CAROL, "carol"),
    ], {processes: [process(7, 1002, "bob", "", 2)]});
    assert.deepEqual(found.devices.map(each => each.state), ["held", "mine", "outside", "slurm", "lost", "free"]);
    assert.equal(found.devices[0].holders[0].user, "alice");
    assert.equal(found.devices[0].holders[0].name, "training");
    assert.equal(found.devices[1].holders[0].share, 2 ** 30);
    assert.equal(found.devices[2].outsiders[0].user, "bob");
    assert.equal(found.devices[2].processes[0].utilization, null);
    assert.deepEqual(totals(found), {gpus: 6, free: 1, outside: 1, waiting: 0});
    assert.deepEqual(found.mine.map(each => each.id), ["c"]);
});

test("a GPU with a fault is not counted as free", () => {
    assert.equal(totals(machine([device(0), device(1, {Health: "stale"}), device(2, {Health: "xid-79"})])).free, 1);
});

test("what the service says is free is counted, and memory of no process is a use from outside", () => {
    const found = machine([device(0, {Free: false, UnaccountedMemory: 37 * 2 ** 30}), device(1), device(2, {Free: false})]);
    assert.deepEqual(found.devices.map(each => each.state), ["outside", "free", "free"]);
    assert.deepEqual(totals(found), {gpus: 3, free: 1, outside: 1, waiting: 0});
    assert.equal(found.devices[0].unaccounted, 37 * 2 ** 30);
});

test("a process of an environment within the holder is no outsider", () => {
    const found = machine([device(0, {Attachments: [["a", 0, 1]]}), environment("a", 1001, "alice"), environment("b", 1001, "alice", {Parent: "a"})],
        {processes: [process(7, 1001, "alice", "b", 0), process(8, 1001, "alice", "", 0)]});
    assert.deepEqual(found.devices[0].outsiders.map(each => each.pid), [8]);
});

test("each attachment has its own lease", () => {
    const found = machine([device(0, {Attachments: [["a", 0, 1]]}), device(1, {Attachments: [["a", 0, 1]]}),
        environment("a", 1001, "alice", {Devices: [0, 1], Attached: [[0, 9_000_000], [1, 0]], Expires: 9_000_000})]);
    assert.deepEqual(found.devices.map(each => each.holders[0].expires), [9000, null]);
});

test("unknown readings are none", () => {
    const [found] = machine([device(0, {UsedMemory: -1, Utilization: 4294967295, Temperature: 2147483647, PowerUsage: 18446744073709552000})]).devices;
    assert.deepEqual([found.used, found.utilization, found.conditions], [null, null, []]);
});

test("the power is told with its limit if that is known", () => {
    const found = machine([device(0, {Temperature: 40, PowerUsage: 90_400, PowerLimit: 300_000}), device(1, {Temperature: -1, PowerUsage: 90_400, PowerLimit: 4294967295})]);
    assert.deepEqual(found.devices.map(each => each.conditions), [["40 °C", "90 W of 300 W"], ["-1 °C", "90 W"]]);
});

test("places of the queue are counted and named", () => {
    const found = machine([environment("a", 1001, "alice", {Name: "late"})], {queue: [waiter(7, "a", 1001, 2), waiter(9, "x", 1009, 1)]});
    assert.deepEqual(found.queue.map(({place, user, name, count}) => [place, user, name, count]), [[1, "alice", "late", 2], [2, "1009", "", 1]]);
});

test("an earlier service parks nothing, and a later one says what is parked", () => {
    const [old, moving, parked] = machine([environment("a", CAROL, "carol"),
        environment("b", CAROL, "carol", {Created: 2_000_000, State: "parking", ParkedDevices: [], ParkedMemory: 0, ParkedSince: 0,
            ParkingProgress: [3 * 2 ** 30, 12 * 2 ** 30], ParkingProblem: ""}),
        environment("c", CAROL, "carol", {Created: 3_000_000, State: "parked", ParkedDevices: [[2, 5], [3, 7]], ParkedMemory: 2 ** 30,
            ParkedSince: 5_000_000, ParkingProgress: [0, 0], ParkingProblem: "GPU 2 is full"})]).environments;
    assert.deepEqual(old.parking, {can: false, state: "active", gpus: [], memory: 0, since: null, moved: 0, total: 0, problem: "",
        reason: "", takenBy: ""});
    assert.deepEqual([moving.parking.can, moving.parking.moved, moving.parking.total], [true, 3 * 2 ** 30, 12 * 2 ** 30]);
    assert.deepEqual(parked.parking, {can: true, state: "parked", gpus: [2, 3], memory: 2 ** 30, since: 5000, moved: 0, total: 0, problem: "GPU 2 is full",
        reason: "", takenBy: ""});
});

test("requests say what is parked for them, and parked environments when they go on", () => {
    const taking = [["b", "training", "alice", 2 ** 30, 5_200_000], ["c", "", "dave", 2 ** 30, 5_200_000]];
    const {queue, environments} = machine([environment("a", CAROL, "carol", {State: "parked", TakenBy: "bob", ParkedReason: "taken", Preemptible: "park"})],
        {queue: [waiter(7, "x", 1001, 2, {taking}), waiter(8, "a", CAROL, 1, {resumes: true, "expected-start": 9_000_000})]});
    assert.deepEqual(queue[0].taking, {names: ["training of alice", "c of dave"], bytes: 2 ** 31, seconds: 6});
    assert.deepEqual([queue[1].taking, queue[1].resumes, queue[1].expected], [null, true, 9000]);
    assert.deepEqual([environments[0].parking.takenBy, environments[0].parking.reason, environments[0].preemptible, environments[0].waits.expected],
        ["bob", "taken", "park", 9000]);
});

test("models, and how many of one are attached", () => {
    const found = machine([device(0), device(1, {Model: "NVIDIA H100"}), device(2, {Model: "NVIDIA H100"}),
        environment("a", 1001, "alice", {Attached: [[0, 0], [2, 0]]})]);
    assert.deepEqual(models(found), ["NVIDIA H100", "Tesla T4"]);
    assert.equal(attachedOf(found, found.environments[0], "h100"), 1);
    assert.equal(attachedOf(found, found.environments[0], ""), 2);
});

test("signals change the objects", () => {
    const store = new Store();
    const [path, interfaces] = device(0);
    store.load({[path]: interfaces});
    assert.ok(store.apply(path, PROPERTIES, "PropertiesChanged", [DEVICE, {Health: {t: "s", v: "stale"}}, []]));
    assert.equal(store.devices.get(path).properties.Health, "stale");
    const [other, added] = environment("a", 1001, "alice");
    assert.ok(store.apply("/dev/genv/Manager", OBJECTS, "InterfacesAdded", [other, added]));
    assert.equal(store.environments.size, 1);
    assert.ok(store.apply("/dev/genv/Manager", OBJECTS, "InterfacesRemoved", [other, [ENVIRONMENT]]));
    assert.equal(store.environments.size, 0);
    assert.ok(store.apply("/dev/genv/Manager", PROPERTIES, "PropertiesChanged", [MANAGER, {Isolation: {t: "s", v: "user"}}, []]));
    assert.equal(store.manager.Isolation, "user");
    assert.ok(!store.apply("/dev/genv/Manager/device/9", PROPERTIES, "PropertiesChanged", [DEVICE, {}, []]));
    assert.ok(!store.apply("/dev/genv/Manager", MANAGER, "QueueChanged", []));
});

test("readings are of the last hour, once each, known ones only", () => {
    const readings = new Readings();
    const now = 4_000_000;
    readings.addRows([[0, 100_000_000, 0, 99, 0, 0], [0, 3_000_000_000, 0, 50, 0, 0], [0, 3_010_000_000, 0, 4294967295, 0, 0]], now);
    readings.add(0, {when: 3_000_000, value: 7}, now);
    readings.add(0, {when: 3_020_000, value: 60}, now);
    assert.deepEqual(readings.points.get(0), [{when: 3_000_000, value: 50}, {when: 3_020_000, value: 60}]);
    assert.equal(readings.last, 3_010_000_000);
});
