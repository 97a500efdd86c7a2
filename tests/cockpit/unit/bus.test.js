// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls to the service, with a stand-in for Cockpit's own module.
import assert from "node:assert/strict";
import test from "node:test";
import {Bus, NeedsAdministrator} from "../../../client/cockpit/bus.js";
import {Live} from "../../../client/cockpit/live.js";

const REFUSED = Object.assign(new Error("no"), {name: "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"});

const OWNER = ":1.5";

class Client {
    constructor(name, options, answer) {
        Object.assign(this, {name, options, answer, calls: [], listeners: {}});
    }
    addEventListener(name, listener) {
        this.listeners[name] = listener;
    }
    subscribe(_match, listener) {
        this.onSignal = listener;
    }
    close() {
        this.closed = true;
    }
    async call(path, interfaceName, member, args) {
        this.calls.push(member);
        return await this.answer(member, args, this.options);
    }
}

/** A bus whose service has an owner or none, and which starts it when that is asked for. */
class NamesOfBus {
    constructor(owner) {
        this.owner = owner;
        this.starts = 0;
    }
    answer(member) {
        if (member === "StartServiceByName") {
            this.starts += 1;
            return [1];
        }
        return this.owner ? [this.owner] : Promise.reject(Object.assign(new Error("?"), {name: "org.freedesktop.DBus.Error.NameHasNoOwner"}));
    }
}

function cockpit(answer, allowed = null, names = new NamesOfBus(OWNER)) {
    /** The channels to the service, and those to the bus. */
    const clients = [];
    const drivers = [];
    return {clients, drivers, names, permission: () => ({allowed}), dbus: (name, options) => name === "org.freedesktop.DBus"
        ? drivers[drivers.push(new Client(name, options, member => names.answer(member))) - 1]
        : clients[clients.push(new Client(name, options, answer)) - 1]};
}

const turn = () => new Promise(resolve => setImmediate(resolve));

async function bus(answer, allowed, names) {
    const fake = cockpit(answer, allowed, names);
    const owners = [];
    const found = new Bus(fake, {onOwner: owner => owners.push(owner), onClosed: () => undefined, onSignal: () => undefined});
    found.open();
    await turn();
    return {fake, found, owners};
}

/** The bus tells that the owner of the service's name changed. */
function changeOwner(fake, owner) {
    fake.names.owner = owner;
    fake.drivers.at(-1).onSignal("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", ["dev.genv.Manager", "", owner ?? ""]);
}

test("what is one's own never becomes root's", async () => {
    const {fake, found} = await bus(() => Promise.reject(REFUSED), true);
    await assert.rejects(found.call("/x", "i", "Activate"), REFUSED);
    assert.equal(fake.clients.length, 1);
    assert.equal(fake.clients[0].options.superuser, undefined);
});

test("what polkit refuses takes administrative access, and is not tried without", async () => {
    const {fake, found} = await bus((_member, _args, options) => options.superuser ? ["done"] : Promise.reject(REFUSED), true);
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(fake.clients.map(client => client.options.superuser), [undefined, "require"]);
    assert.deepEqual(fake.clients.map(client => client.calls.length), [0, 2]);
});

test("what polkit no longer allows is asked again as root", async () => {
    const {fake, found} = await bus((_member, _args, options) => options.superuser ? ["done"] : Promise.reject(REFUSED), true);
    found.granted.add("manage-others");
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(fake.clients.map(client => client.calls.length), [1, 1]);
});

test("without administrative access a sentence says what to do", async () => {
    for (const allowed of [null, false]) { // null: not known yet
        const {fake, found} = await bus(() => Promise.reject(REFUSED), allowed);
        await assert.rejects(found.callForOthers("manage-others", "/x", "i", "Detach"), NeedsAdministrator);
        assert.equal(fake.clients.length, 1);
    }
});

test("what polkit allows needs no root", async () => {
    const {fake, found} = await bus(() => ["done"], true);
    found.granted.add("manage-others");
    await found.callForOthers("manage-others", "/x", "i", "Detach");
    assert.equal(fake.clients.length, 1);
});

test("another failure is not tried again", async () => {
    const gone = Object.assign(new Error("gone"), {name: "dev.genv.Error.NoSuchDevice"});
    const {fake, found} = await bus(() => Promise.reject(gone), true);
    found.granted.add("manage-others");
    await assert.rejects(found.callForOthers("manage-others", "/x", "i", "Detach"), gone);
    assert.equal(fake.clients.length, 1);
});

/** Runs what was put off until later.
 * @returns {() => void} */
function later(t) {
    const calls = [];
    const realTimeout = globalThis.setTimeout;
    t.after(() => globalThis.setTimeout = realTimeout);
    globalThis.setTimeout = callback => calls.push(callback);
    return () => calls.splice(0).forEach(callback => callback());
}

test("a closed connection is opened again", async t => {
    const {fake, found} = await bus(() => []);
    const goOn = later(t);
    fake.drivers[0].listeners.close({}, {problem: "disconnected"});
    await assert.rejects(found.call("/x", "i", "Ping"), /not connected/);
    goOn();
    await turn();
    assert.equal(fake.clients.length, 2);
    assert.equal(found.client, fake.clients[1]);
});

test("the page starts the service when it opens, and when its user says so, and never else", async t => {
    const {fake, found, owners} = await bus(() => [], null, new NamesOfBus(null));
    assert.equal(fake.names.starts, 1);
    assert.deepEqual(owners, [null]);
    changeOwner(fake, OWNER);
    changeOwner(fake, null);
    const goOn = later(t);
    fake.drivers[0].listeners.close({}, {problem: "disconnected"});
    goOn();
    await turn();
    found.reopen();
    await turn();
    assert.equal(fake.drivers.length, 3);
    assert.equal(fake.names.starts, 1);
    assert.deepEqual(fake.clients.map(client => client.name), [OWNER]);
    await found.start();
    assert.equal(fake.names.starts, 2);
});

test("nothing is asked of a service that has gone, by its name least of all", async () => {
    const {fake, found, owners} = await bus((_member, _args, options) => options.superuser ? ["done"] : Promise.reject(REFUSED), true);
    fake.clients[0].listeners.owner({}, OWNER);
    await found.callForOthers("manage-others", "/x", "i", "Detach");
    changeOwner(fake, null);
    assert.deepEqual(fake.clients.map(client => client.closed), [true, true]);
    await assert.rejects(found.call("/x", "i", "Ping"), /not connected/);
    await assert.rejects(found.callForOthers("manage-others", "/x", "i", "Detach"), /not connected/);
    changeOwner(fake, ":1.9");
    fake.clients[2].listeners.owner({}, ":1.9");
    await found.callForOthers("manage-others", "/x", "i", "Detach");
    assert.deepEqual(fake.clients.map(client => client.name), [OWNER, OWNER, ":1.9", ":1.9"]);
    assert.deepEqual(owners, [OWNER, null, ":1.9"]);
});

const SERVICE = {GetAll: () => [{Version: {t: "s", v: "2.0.0"}}], GetManagedObjects: () => [{}], DescribeQueue: () => [[]],
    DescribeProcesses: () => [[]], ListReadings: () => [[]]};

async function live(answers) {
    globalThis.document = {hidden: false, addEventListener: () => undefined};
    const fake = cockpit(member => answers[member]());
    const found = new Live(fake, {onChange: () => undefined, onEvent: () => undefined, onReady: () => undefined, onNotice: () => undefined, onQueue: () => undefined});
    found.bus.open();
    await turn();
    await found.load();
    return {found, fake, client: fake.clients[0]};
}

test("nobody samples for a page that nobody sees", async () => {
    const {found, client} = await live(SERVICE);
    const before = client.calls.length;
    globalThis.document.hidden = true;
    await found.poll();
    assert.equal(client.calls.length, before);
    globalThis.document.hidden = false;
    await found.poll();
    assert.ok(client.calls.length > before);
});

test("a driver that hangs piles up no questions", async () => {
    let answer = null;
    const {found, client} = await live(SERVICE);
    client.answer = member => member === "DescribeProcesses" ? new Promise(resolve => answer = resolve) : SERVICE[member]();
    const first = found.poll();
    await found.poll();
    await found.poll();
    assert.equal(client.calls.filter(member => member === "DescribeProcesses").length, 2); // one of them is from load()
    answer([[]]);
    await first;
});

test("a way that is cut without a word is noticed, and opened again", async t => {
    const {found, client} = await live(SERVICE);
    client.answer = () => new Promise(() => undefined);
    found.poll();
    found.polledAt -= 10_000;
    const realTimeout = globalThis.setTimeout;
    t.after(() => globalThis.setTimeout = realTimeout);
    globalThis.setTimeout = callback => realTimeout(callback, 1);
    await found.poll();
    assert.equal(found.phase, "no-bus");
    assert.notEqual(found.bus.client, client);
});

test("no service is no error, and what comes back is read anew", async () => {
    const {found, fake, client} = await live({...SERVICE, GetManagedObjects: () => Promise.reject(
        Object.assign(new Error("?"), {name: "org.freedesktop.DBus.Error.ServiceUnknown"}))});
    assert.equal(found.phase, "no-service");
    client.answer = member => SERVICE[member]();
    client.listeners.owner({}, OWNER);
    await turn();
    assert.equal(found.phase, "ready");
    changeOwner(fake, null);
    assert.equal(found.phase, "no-service");
});
