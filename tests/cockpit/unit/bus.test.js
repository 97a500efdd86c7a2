// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls to the service, with a stand-in for Cockpit's own module.
import assert from "node:assert/strict";
import test from "node:test";
import {Bus, NeedsAdministrator} from "../../../client/cockpit/bus.js";
import {Live} from "../../../client/cockpit/live.js";

const REFUSED = Object.assign(new Error("no"), {name: "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"});

class Client {
    constructor(options, answer) {
        Object.assign(this, {options, answer, calls: [], listeners: {}});
    }
    addEventListener(name, listener) {
        this.listeners[name] = listener;
    }
    subscribe(match, listener) {
        this.onSignal = listener;
    }
    async call(path, interfaceName, member, args) {
        this.calls.push(member);
        return await this.answer(member, args, this.options);
    }
}

function cockpit(answer, allowed = null) {
    const clients = [];
    return {clients, permission: () => ({allowed}), dbus: (_name, options) => clients[clients.push(new Client(options, answer)) - 1]};
}

function bus(answer, allowed) {
    const fake = cockpit(answer, allowed);
    const found = new Bus(fake, {onOwner: () => undefined, onClosed: () => undefined, onSignal: () => undefined});
    found.open();
    return {fake, found};
}

test("what is one's own never becomes root's", async () => {
    const {fake, found} = bus(() => Promise.reject(REFUSED), true);
    await assert.rejects(found.call("/x", "i", "Activate"), REFUSED);
    assert.equal(fake.clients.length, 1);
    assert.equal(fake.clients[0].options.superuser, undefined);
});

test("what polkit refuses takes administrative access, and is not tried without", async () => {
    const {fake, found} = bus((_member, _args, options) => options.superuser ? ["done"] : Promise.reject(REFUSED), true);
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(fake.clients.map(client => client.options.superuser), [undefined, "require"]);
    assert.deepEqual(fake.clients.map(client => client.calls.length), [0, 2]);
});

test("what polkit no longer allows is asked again as root", async () => {
    const {fake, found} = bus((_member, _args, options) => options.superuser ? ["done"] : Promise.reject(REFUSED), true);
    found.granted.add("manage-others");
    assert.deepEqual(await found.callForOthers("manage-others", "/x", "i", "Detach"), ["done"]);
    assert.deepEqual(fake.clients.map(client => client.calls.length), [1, 1]);
});

test("without administrative access a sentence says what to do", async () => {
    for (const allowed of [null, false]) { // null: not known yet
        const {fake, found} = bus(() => Promise.reject(REFUSED), allowed);
        await assert.rejects(found.callForOthers("manage-others", "/x", "i", "Detach"), NeedsAdministrator);
        assert.equal(fake.clients.length, 1);
    }
});

test("what polkit allows needs no root", async () => {
    const {fake, found} = bus(() => ["done"], true);
    found.granted.add("manage-others");
    await found.callForOthers("manage-others", "/x", "i", "Detach");
    assert.equal(fake.clients.length, 1);
});

test("another failure is not tried again", async () => {
    const gone = Object.assign(new Error("gone"), {name: "dev.genv.Error.NoSuchDevice"});
    const {fake, found} = bus(() => Promise.reject(gone), true);
    found.granted.add("manage-others");
    await assert.rejects(found.callForOthers("manage-others", "/x", "i", "Detach"), gone);
    assert.equal(fake.clients.length, 1);
});

test("a closed connection is opened again", async t => {
    const {fake, found} = bus(() => []);
    const later = [];
    const realTimeout = globalThis.setTimeout;
    t.after(() => globalThis.setTimeout = realTimeout);
    globalThis.setTimeout = callback => later.push(callback);
    fake.clients[0].listeners.close({}, {problem: "disconnected"});
    await assert.rejects(found.call("/x", "i", "Ping"), /not connected/);
    later.forEach(callback => callback());
    assert.equal(fake.clients.length, 2);
    assert.equal(found.client, fake.clients[1]);
});

const SERVICE = {GetAll: () => [{Version: {t: "s", v: "2.0.0"}}], GetManagedObjects: () => [{}], ListQueue: () => [[]],
    DescribeProcesses: () => [[]], ListReadings: () => [[]]};

async function live(answers) {
    globalThis.document = {hidden: false, addEventListener: () => undefined};
    const fake = cockpit(member => answers[member]());
    const found = new Live(fake, {onChange: () => undefined, onEvent: () => undefined, onReady: () => undefined, onNotice: () => undefined});
    found.bus.open();
    await found.load();
    return {found, client: fake.clients[0]};
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
    client.close = () => undefined;
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

test("a service without the newer methods is shown without what they tell", async () => {
    const unknown = () => Promise.reject(Object.assign(new Error("?"), {name: "org.freedesktop.DBus.Error.UnknownMethod"}));
    const {found} = await live({...SERVICE, DescribeProcesses: unknown, ListReadings: unknown});
    assert.equal(found.phase, "ready");
    assert.deepEqual(found.processes, []);
});

test("no service is no error, and what comes back is read anew", async () => {
    const {found, client} = await live({...SERVICE, GetManagedObjects: () => Promise.reject(
        Object.assign(new Error("?"), {name: "org.freedesktop.DBus.Error.ServiceUnknown"}))});
    assert.equal(found.phase, "no-service");
    client.answer = member => SERVICE[member]();
    client.listeners.owner({}, ":1.5");
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(found.phase, "ready");
    client.listeners.owner({}, null);
    assert.equal(found.phase, "no-service");
});
