// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to genv-jobs, with a stand-in for Cockpit's own module.
import assert from "node:assert/strict";
import test from "node:test";
import {JobWatch} from "../../../client/cockpit/job_watch.js";
import {Jobs} from "../../../client/cockpit/jobs.js";

globalThis.document ??= {hidden: false};

const variant = v => ({t: "v", v});
const row = number => Object.fromEntries(Object.entries({number, name: "", command: "true", state: "running", reason: "", gpus: 1, tasks: 1, waiting: 0,
    running: 1, done: 0, failed: 0, canceled: 0, array: false}).map(([name, value]) => [name, variant(value)]));

const gone = name => Object.assign(new Error(`The name ${name} was not provided by any .service files`),
    {name: "org.freedesktop.DBus.Error.ServiceUnknown"});

/** A user's bus with a manager. A start of genv-jobs takes two looks, or fails. `ends` counts the calls that find that
 * genv-jobs has just ended, and `refusal` is what it answers to each. `states` are those of a unit that ends. */
class UserBusOfTest {
    constructor(values = {}) {
        Object.assign(this, {hasBus: true, hasManager: true, owner: null, looks: 0, starts: 0, lists: 0, ends: 0, refusal: null, states: [], startError: null, failure: null, channels: [], jobs: [row(17)], ...values});
    }
    async spawn(words) {
        assert.equal(words[0], "/bin/sh");
        if (!this.hasBus)
            throw new Error("exited with code 1");
    }
    dbus(name, options) {
        const channel = {name, options, closed: false, listeners: {}, close: () => channel.closed = true,
            addEventListener: (event, listener) => channel.listeners[event] = listener,
            subscribe: (_match, listener) => channel.onSignal = listener,
            call: async (_path, _interface, member, args) => await this.answer(channel, member, args)};
        this.channels.push(channel);
        return channel;
    }
    open(name) {
        return this.channels.filter(channel => channel.name === name && !channel.closed);
    }
    answer(channel, member, [first]) {
        if (channel.name.startsWith(":")) {
            if (this.ends > 0 && this.ends--) {
                this.owner = null;
                throw gone(channel.name);
            }
            if (this.refusal)
                throw new Error(this.refusal);
        }
        const answers = {
            NameHasOwner: () => {
                if (first !== "dev.genv.Jobs")
                    return [this.hasManager];
                if (this.looks > 0 && !this.failure && --this.looks === 0)
                    this.owner = ":1.7";
                return [this.owner !== null];
            },
            GetNameOwner: () => [this.owner],
            StartUnit: () => {
                if (this.startError)
                    throw Object.assign(new Error("no"), {name: this.startError});
                this.starts += 1;
                this.looks = this.states.length ? 0 : 2;
                return ["/job"];
            },
            GetAll: () => [this.states.length ? {ActiveState: variant(this.states.shift()), Result: variant("success")} : this.failure ? {ActiveState: variant("failed"), Result: variant("exit-code"), StatusText: variant(this.failure), NRestarts: variant(5)} : {Result: variant("success")}],
            List: () => {
                this.lists += 1;
                return [this.jobs];
            },
            Cancel: () => [3],
        };
        assert.ok(answers[member], member);
        return answers[member]();
    }
    /** genv-jobs ends, or another begins. */
    become(owner) {
        const before = this.owner;
        this.owner = owner;
        for (const channel of this.open("org.freedesktop.DBus"))
            channel.onSignal("", "", "NameOwnerChanged", ["dev.genv.Jobs", before ?? "", owner ?? ""]);
    }
}

const turn = () => new Promise(resolve => setImmediate(resolve));

async function started(values) {
    const bus = new UserBusOfTest(values);
    const phases = [];
    const jobs = new Jobs(bus, () => phases.push(jobs.phase));
    await jobs.start();
    await turn();
    return {bus, jobs, phases};
}

test("opening the page starts genv-jobs by the user's manager, and lists the jobs", async () => {
    const {bus, jobs} = await started();
    assert.equal(bus.starts, 1);
    assert.deepEqual([jobs.phase, jobs.list.map(job => job.number)], ["ready", [17]]);
    for (const channel of bus.channels) {
        assert.equal(channel.options.bus, "session");
        assert.notEqual(channel.name, "dev.genv.Jobs"); // the bridge would start it
    }
});

test("a genv-jobs that ends is not started again, and its list stays", async () => {
    const {bus, jobs} = await started();
    bus.become(null);
    await turn();
    assert.deepEqual([bus.starts, jobs.phase, jobs.list.length], [1, "ready", 1]);
    assert.equal(bus.open(":1.7").length, 0);
});

test("its next owner is listed", async () => {
    const {bus, jobs} = await started();
    bus.become(null);
    bus.jobs = [row(17), row(18)];
    clearTimeout(jobs.timer);
    jobs.timer = 0;
    bus.become(":1.9");
    await turn();
    assert.deepEqual([bus.starts, jobs.list.length, bus.open(":1.9").length], [1, 2, 1]);
});

test("a change starts genv-jobs if it has ended", async () => {
    const {bus, jobs} = await started();
    bus.become(null);
    assert.equal(await jobs.change("Cancel", 17), 3);
    assert.equal(bus.starts, 2);
});

test("a call that finds that genv-jobs has just ended starts it and is made again", async () => {
    const {bus, jobs} = await started();
    bus.ends = 1;
    assert.equal(await jobs.change("Cancel", 17), 3);
    assert.equal(bus.starts, 2);
});

test("the first list is read again if genv-jobs has just ended", async () => {
    const {bus, jobs} = await started({owner: ":1.6", ends: 1});
    assert.deepEqual([bus.starts, jobs.phase], [0, "connecting"]);
    await new Promise(resolve => {
        jobs.onChange = () => jobs.phase === "ready" && resolve();
    });
    assert.deepEqual([bus.starts, jobs.list.length], [1, 1]);
});

test("a start while genv-jobs ends is repeated when it has ended", async () => {
    const {bus, jobs} = await started({states: ["deactivating", "deactivating", "inactive"]});
    assert.deepEqual([bus.starts, jobs.phase], [2, "ready"]);
});

test("what genv-jobs answers instead of a list is shown", async () => {
    const {jobs} = await started({refusal: "The database is broken."});
    assert.deepEqual([jobs.phase, jobs.problem], ["no-jobs", "The database is broken."]);
});

test("a change while the tasks are read is read, too", async () => {
    globalThis.requestAnimationFrame ??= call => setImmediate(call);
    const process = {stream: () => undefined, then: () => undefined, close: () => undefined};
    const reads = [];
    const jobs = {list: [{number: 17, isArray: true}], watchers: new Set(), describe: async () => {
        throw new Error("not asked here");
    }, tasks: () => new Promise(resolve => reads.push(resolve))};
    const watch = new JobWatch({spawn: () => process}, jobs, 17, () => undefined);
    await watch.start();
    assert.equal(reads.length, 1);
    for (const each of jobs.watchers)
        each();
    reads[0]([]);
    while (reads.length < 2)
        await turn();
    reads[1]([{task: 3, state: "failed", reason: "exit status 1"}]);
    await turn();
    assert.equal(watch.tasks.length, 1);
    watch.close();
});

test("many signals are one more list", async () => {
    const {bus, jobs} = await started();
    for (let count = 0; count < 100; ++count)
        bus.open(":1.7")[0].onSignal("", "", "JobChanged", [17, "running"]);
    await turn();
    assert.equal(bus.lists, 1);
    await new Promise(resolve => {
        jobs.onChange = resolve;
    });
    assert.equal(bus.lists, 2);
});

test("a change of the queue is one more list while a job waits, or the list is read", async () => {
    const {bus, jobs} = await started();
    const next = async () => {
        clearTimeout(jobs.timer);
        jobs.timer = 0;
        jobs.onQueue();
        await turn();
        return bus.lists;
    };
    assert.equal(await next(), 1);
    bus.jobs = [{...row(17), state: variant("waiting"), running: variant(0), waiting: variant(1)}];
    jobs.readSoon();
    jobs.onQueue();
    await turn();
    assert.equal(bus.lists, 2);
    assert.equal(jobs.changed, true);
    assert.equal(await next(), 3);
    clearTimeout(jobs.timer);
});

test("a hidden page reads nothing until it is shown", async () => {
    const {bus, jobs} = await started();
    clearTimeout(jobs.timer);
    jobs.timer = 0;
    globalThis.document.hidden = true;
    bus.open(":1.7")[0].onSignal("", "", "JobChanged", [17, "running"]);
    await turn();
    assert.equal(bus.lists, 1);
    globalThis.document.hidden = false;
    jobs.onVisible();
    await turn();
    assert.equal(bus.lists, 2);
});

test("each reason why no call reaches genv-jobs is a phase, and nothing is left open", async () => {
    for (const [values, phase, problem] of [
        [{hasBus: false}, "no-manager", /^$/],
        [{hasManager: false}, "no-manager", /^$/],
        [{startError: "org.freedesktop.systemd1.NoSuchUnit"}, "no-jobs", /does not know genv-jobs.*daemon-reload/],
        [{startError: "org.freedesktop.systemd1.UnitMasked"}, "no-jobs", /unmask genv-jobs/],
        [{failure: "the database is broken"}, "no-jobs", /cannot start: the database is broken\..*systemctl --user status/],
    ]) {
        const {bus, jobs} = await started(values);
        assert.equal(jobs.phase, phase);
        assert.match(jobs.problem, problem);
        assert.deepEqual(bus.channels.filter(channel => !channel.closed), []);
    }
});

test("a bus that cannot be reached, or ends, is said", async () => {
    const {bus, jobs} = await started();
    const [driver] = bus.open("org.freedesktop.DBus");
    driver.closed = true;
    driver.listeners.close({}, {problem: "disconnected"});
    assert.equal(jobs.phase, "no-manager");
    clearTimeout(jobs.timer);
    jobs.timer = 0;
    await jobs.start();
    await turn();
    assert.equal(jobs.phase, "ready");
});
