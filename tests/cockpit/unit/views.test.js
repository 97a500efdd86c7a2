// SPDX-License-Identifier: LGPL-2.1-or-later
// The descriptions that views return, without a browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import {machineOf} from "../../../client/cockpit/model.js";
import {Store} from "../../../client/cockpit/store.js";
import {page} from "../../../client/cockpit/views/page.js";
import {VERSION, isOlder} from "../../../client/cockpit/version.js";
import {PAGE, device, environment, waiter} from "./support.js";

const CAROL = 1003;
const NOW = 10_000_000;

function context(objects, values = {}) {
    const store = new Store();
    store.load(Object.fromEntries(objects));
    return {
        machine: machineOf({store, processes: values.processes ?? [], queue: values.queue ?? [], history: new Map(), uid: CAROL}),
        now: NOW, uid: CAROL, phase: "ready", problem: "", isAdministrator: false, isNarrow: false, mayDetach: false, mayTerminate: false,
        actions: {}, jobs: {phase: "ready", problem: "", all: false, list: []}, jobActions: {}, history: {events: [], holds: [], everybody: false, problem: "", isRead: true}, limits: null, everybody: new Map(), ...values,
    };
}

function textOf(node) {
    return typeof node === "object" && node !== null ? node.children.map(textOf).join(" ") : node === null || node === false ? "" : String(node ?? "");
}

function all(nodes, tag, found = []) {
    for (const node of nodes) {
        if (typeof node !== "object" || node === null)
            continue;
        if (node.tag === tag)
            found.push(node);
        all(node.children, tag, found);
    }
    return found;
}

const text = values => page(values).map(textOf).join(" ").replace(/\s+/g, " ");
const buttons = values => all(page(values), "button").map(each => each.attributes["aria-label"] ?? textOf(each));

test("each phase has a sentence, and a service that does not run a way to start it", () => {
    assert.match(text(context([], {phase: "connecting"})), /Connecting to genv/);
    assert.match(text(context([], {phase: "no-bus", problem: "cut"})), /No connection to the system bus .* cut/);
    assert.match(text(context([], {phase: "no-service"})), /genv is not running/);
    assert.deepEqual(buttons(context([], {phase: "no-service"})), ["Start it"]);
});

test("a service that is later than this page asks for a reload", () => {
    const with_ = version => {
        const values = context([device(0)]);
        values.machine.version = version;
        return values;
    };
    assert.match(text(with_("99.0.0")), /genv was upgraded to version 99\.0\.0\. This page has version/);
    assert.ok(buttons(with_("99.0.0")).includes("Reload"));
    for (const version of [VERSION, "1.9.9", ""]) // an earlier service is served
        assert.doesNotMatch(text(with_(version)), /genv was upgraded/);
});

test("versions are compared by their numbers", () => {
    for (const [one, other, older] of [["2.0.0", "2.0.1", true], ["2.9.0", "2.10.0", true], ["2.0", "2.0.0", false], ["2.0", "2.0.1", true],
        ["3.0.0", "2.9.9", false], ["2.0.0", "2.0.0", false], ["2.0.0", "", false]])
        assert.equal(isOlder(one, other), older, `${one} ${other}`);
});

test("the page has the version of genv", () => {
    const project = fs.readFileSync(path.join(PAGE, "../../CMakeLists.txt"), "utf8");
    assert.equal(VERSION, /^project\(genv\s+VERSION\s+([0-9.]+)/m.exec(project)[1]);
});

test("a driver that fails is said at its GPU", () => {
    assert.match(text(context([device(0, {Health: "stale"})])), /Fault .* The driver does not answer/);
    assert.match(text(context([device(0, {Health: "xid-79"})])), /XID 79/);
    assert.match(text(context([device(0, {Health: "lost"})])), /Lost .* no longer finds/);
});

test("old readings have their age", () => {
    assert.match(text(context([device(0, {SampledAt: (NOW - 120_000) * 1000})])), /2min ago/);
    assert.doesNotMatch(text(context([device(0, {SampledAt: (NOW - 4000) * 1000})])), /ago/);
});

test("others' GPUs and processes are for those who may", () => {
    const objects = [device(0, {Attachments: [["a", 0, 1]]}), environment("a", 1001, "alice", {Name: "training"})];
    const processes = [{pid: 7, uid: 1001, user: "alice", environment: "a", name: "python3", devices: [[0, 2 ** 30, 50]]}];
    assert.deepEqual(buttons(context(objects, {processes})), ["Start environment", "Join queue", "Earlier jobs", "Submit job"]);
    assert.deepEqual(buttons(context(objects, {processes, mayDetach: true, mayTerminate: true})).slice(0, 2),
        ["Detach GPU 0 from training of alice", "End process 7 of alice"]);
});

test("one's own may always be detached and ended, a job's GPU never", () => {
    const mine = [device(0, {Attachments: [["c", 0, 1]]}), environment("c", CAROL, "carol", {Devices: [0], Attached: [[0, 0]]})];
    assert.ok(buttons(context(mine)).includes("Detach GPU 0 from c") && buttons(context(mine)).includes("End environment c"));
    const job = [device(0, {Attachments: [["slurm-7", 0, 1]]}), environment("slurm-7", CAROL, "carol", {Job: "7", Devices: [0], Attached: [[0, 0]]})];
    assert.deepEqual(buttons(context(job, {mayDetach: true})), ["Start environment", "Join queue", "Earlier jobs", "Submit job"]);
    assert.match(text(context(job)), /Slurm job 7/);
});

const PARKING = {State: "active", ParkedDevices: [], ParkedMemory: 0, ParkedSince: 0, ParkingProgress: [0, 0], ParkingProblem: ""};
const PARKED = {...PARKING, State: "parked", ParkedDevices: [[1, 5]], ParkedMemory: 12 * 2 ** 30, ParkedSince: 4_000_000};

test("one's own environment is parked where it has GPUs and the service can, and resumed where it is parked", () => {
    const shown = values => buttons(context([device(0), environment("c", CAROL, "carol", values)])).filter(name => /environment c$|to c$|from c$/.test(name));
    const held = {Devices: [0], Attached: [[0, 0]]};
    assert.deepEqual(shown(held), ["Attach GPUs to c", "Detach all GPUs from c", "End environment c"]);
    assert.deepEqual(shown({...held, ...PARKING}), ["Attach GPUs to c", "Detach all GPUs from c", "Park environment c", "End environment c"]);
    assert.deepEqual(shown(PARKING), ["Attach GPUs to c", "End environment c"]);
    assert.deepEqual(shown({...held, ...PARKING, State: "parking"}), ["End environment c"]);
    assert.deepEqual(shown(PARKED), ["Resume environment c", "End environment c"]);
});

test("what is parked or moves says so, with what is in the way", () => {
    const shown = values => text(context([device(0), environment("c", CAROL, "carol", values)]));
    assert.match(shown({...PARKING, State: "parking", ParkingProgress: [3 * 2 ** 30, 12 * 2 ** 30]}), /parking: 3 GiB of 12 GiB/);
    assert.match(shown({...PARKING, State: "resuming", ParkingProgress: [2 ** 30, 12 * 2 ** 30]}), /resuming: 1 GiB of 12 GiB/);
    assert.match(shown(PARKED), /parked 12 GiB in host memory since .*; it had GPU 1/);
    assert.match(shown({...PARKING, ParkingProblem: "process 7 uses MPS; end it"}), /Not parked: process 7 uses MPS; end it/);
    assert.match(shown({...PARKED, ParkingProblem: "GPU 1 is full"}), /it had GPU 1 GPU 1 is full/);
    assert.doesNotMatch(shown({}), /park/);
});

test("what is on loan says so, and what was taken for whom and when it goes on", () => {
    const shown = (values, queue = []) => text(context([device(0), environment("c", CAROL, "carol", values)], {queue}));
    assert.match(shown({...PARKING, Preemptible: "park", Devices: [0], Attached: [[0, 0]]}), /on loan/);
    assert.doesNotMatch(shown({...PARKING, Preemptible: "park"}), /on loan/);
    const taken = {...PARKED, ParkedReason: "taken", TakenBy: "bob", Preemptible: "park"};
    const goesOn = values => [waiter(5, "c", CAROL, 1, {resumes: true, ...values})];
    assert.match(shown(taken, goesOn({})), /parked for bob .*it goes on by itself when they are free again/);
    assert.match(shown(taken, goesOn({"expected-start": 9_000_000})), /it goes on by itself, about \d\d:\d\d/);
    assert.match(shown({...taken, State: "parking"}), /parking for bob/);
    const taking = [["c", "training", "carol", 12 * 2 ** 30, 6_000_000]];
    assert.match(shown({}, [waiter(5, "x", 1001, 1, {taking})]), /parking training of carol: 12 GiB, about 6s/);
});

test("what others have parked is listed, and resumed by those who may", () => {
    const objects = [device(0), environment("a", 1001, "alice", {Name: "training", ...PARKED})];
    assert.match(text(context(objects)), /Parked environments of others .* alice training parked 1 12 GiB/);
    assert.ok(!buttons(context(objects)).includes("Resume training of alice"));
    assert.ok(buttons(context(objects, {mayDetach: true})).includes("Resume training of alice"));
    assert.doesNotMatch(text(context([environment("a", 1001, "alice", PARKING)])), /Parked environments/);
});

test("a lease can be extended where there is one", () => {
    const with_ = expires => context([environment("c", CAROL, "carol", {Expires: expires})]);
    assert.ok(!buttons(with_(0)).includes("Extend the lease of c"));
    assert.ok(buttons(with_((NOW + 3_600_000) * 1000)).includes("Extend the lease of c"));
});

test("places in the queue are left by their owners, and removed by those who may", () => {
    const queue = [waiter(5, "a", 1001, 2), waiter(6, "c", CAROL, 1)];
    const objects = [environment("a", 1001, "alice"), environment("c", CAROL, "carol")];
    const shown = values => buttons(context(objects, {queue, ...values})).filter(name => /queue/.test(name) && name !== "Join queue");
    assert.deepEqual(shown({}), ["Leave place 2 of the queue"]);
    assert.deepEqual(shown({mayDetach: true}), ["Remove alice from the queue", "Leave place 2 of the queue"]);
});

test("a queue in fair order says so, and one by arrival does not", () => {
    const shown = isFair => text(context([], {machine: {...context([]).machine, isFair}}));
    assert.match(shown(true), /in fair order/);
    assert.doesNotMatch(shown(false), /in fair order/);
});

test("a history that cannot be read says why", () => {
    const history = {events: [], holds: [], everybody: false, problem: "there is no journal", isRead: false};
    assert.match(text(context([], {history})), /there is no journal/);
});

test("a machine without GPUs says so", () => assert.match(text(context([])), /genv finds no GPU/));

const many = count => Array.from({length: count}, (_unused, index) => device(index));
const keys = values => page(values).filter(Boolean).map(node => node.key);

test("the actions come before more GPUs than fill a screen", () => {
    assert.deepEqual(keys(context(many(8))), ["heading", "cards", "panels"]);
    assert.deepEqual(keys(context(many(9))), ["heading", "actions", "cards", "panels"]);
    assert.equal(all(page(context(many(9))), "section").filter(node => node.key === "environments").length, 1);
});

test("many GPUs on a phone are a list of lines that open", () => {
    const values = context([...many(64), environment("a", 1001, "alice", {Name: "llama-finetune"})], {isNarrow: true});
    values.machine.devices[3].holders.push({user: "alice", name: "llama-finetune", environment: "a"});
    assert.deepEqual(keys(values), ["heading", "actions", "list", "panels"]);
    assert.equal(all(page(values), "summary").length, 64);
    assert.match(textOf(all(page(values), "summary")[3]), /GPU 3 alice · llama-finetune .*0 %/);
    assert.deepEqual(keys(context(many(4), {isNarrow: true})), ["heading", "cards", "panels"]);
});

test("an environment that waits says so", () => {
    const queue = [waiter(5, "a", 1001, 2), waiter(6, "c", CAROL, 4)];
    const section = values => all(page(values), "section").find(node => node.key === "environments");
    const objects = [environment("a", 1001, "alice"), environment("c", CAROL, "carol"), environment("d", CAROL, "carol")];
    assert.match(textOf(section(context(objects, {queue}))), /waits for 4 GPUs, place 2 of the queue/);
    assert.doesNotMatch(textOf(section(context(objects))), /waits/);
});

test("limits that are not set are not shown", () => {
    const shown = limits => textOf(all(page(context([], {limits})), "section").find(node => node.key === "limits"));
    const text = shown({MaxDevicesPerUser: [4, 1], MaxEnvironmentsPerUser: [-1, 1], MaxGpuMemoryPerUser: [18446744073709552000, 0]});
    assert.match(text, /GPUs 1 of 4/);
    assert.doesNotMatch(text, /Environments|memory|no limit/);
    assert.match(shown({MaxDevicesPerUser: [-1, 0]}), /No limits are set/);
});

test("a PCI address stands by itself", () => {
    const found = all(page(context([device(0, {PCIAddress: "0000:41:00.0"})])), "div").find(node => node.key === "model");
    assert.deepEqual(found.children.map(node => textOf(node)), ["Tesla T4", "0000:41:00.0"]);
});
