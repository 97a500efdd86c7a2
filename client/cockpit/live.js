// SPDX-License-Identifier: LGPL-2.1-or-later
// The current state of the machine: signals are applied at once, readings are taken every two seconds while the page
// is visible.
import {Bus, isNobody} from "./bus.js";
import {Readings} from "./readings.js";
import {MANAGER, OBJECTS, PATH, PROPERTIES, Store} from "./store.js";
import {plain} from "./values.js";

const POLL = 2000;
const LATE = 6000; // a driver that hangs, or a bus that is gone
const PING = 5000;

/** @typedef {"connecting" | "ready" | "no-service" | "no-bus"} Phase */

export class Live {
    /** @param {any} cockpit
     * @param {{onChange: () => void, onEvent: () => void, onReady: () => void,
     *     onNotice: (args: any[]) => void, onQueue: () => void}} listener */
    constructor(cockpit, listener) {
        this.listener = listener;
        this.store = new Store();
        this.readings = new Readings();
        /** @type {Record<string, any>[]} */
        this.processes = [];
        /** @type {any[]} */
        this.queue = [];
        /** @type {Phase} */
        this.phase = "connecting";
        this.problem = "";
        this.polling = false;
        this.polledAt = 0;
        this.checking = false;
        this.bus = new Bus(cockpit, {
            onOwner: owner => owner ? this.load() : this.#gone("no-service", ""),
            onClosed: problem => this.#gone("no-bus", problem),
            onSignal: (...signal) => this.#onSignal(...signal),
        });
    }

    start() {
        this.bus.open();
        globalThis.setInterval(() => this.poll(), POLL);
        document.addEventListener("visibilitychange", () => this.poll());
    }

    /** @param {Phase} phase @param {string} problem */
    #gone(phase, problem) {
        this.phase = phase;
        this.problem = problem;
        this.listener.onChange();
    }

    /** Reads the whole state: at the start, and when the service is back. */
    async load() {
        try {
            const [[manager], [objects], [queue]] = await Promise.all([
                this.bus.call(PATH, PROPERTIES, "GetAll", "s", [MANAGER]),
                this.bus.call(PATH, OBJECTS, "GetManagedObjects"),
                this.bus.call(PATH, MANAGER, "DescribeQueue"),
            ]);
            this.store.loadManager(manager);
            this.store.load(objects);
            this.queue = queue.map(plain);
            this.phase = "ready";
            this.listener.onReady();
            this.listener.onChange();
            await this.poll();
        } catch (error) {
            if (isNobody(error))
                this.#gone("no-service", "");
            else
                this.#gone("no-bus", /** @type {any} */ (error)?.message ?? String(error));
        }
    }

    /** @param {string} path @param {string} interfaceName @param {string} member @param {any[]} args */
    #onSignal(path, interfaceName, member, args) {
        if (this.store.apply(path, interfaceName, member, args)) {
            this.listener.onChange();
        } else if (interfaceName === MANAGER && member === "Notice") {
            this.listener.onNotice(args);
        } else if (interfaceName === MANAGER && member === "QueueChanged") {
            this.loadQueue();
            this.listener.onQueue();
        }
        if (interfaceName === MANAGER)
            this.listener.onEvent();
    }

    async loadQueue() {
        try {
            const [queue] = await this.bus.call(PATH, MANAGER, "DescribeQueue");
            this.queue = queue.map(plain);
            this.listener.onChange();
        } catch {
            // The next change of the owner or the next poll reports the problem.
        }
    }

    /** Takes a sample, and reads the devices and processes. One at a time, so that calls do not pile up if the driver hangs. */
    async poll() {
        if (document.hidden || this.phase !== "ready")
            return;
        if (this.polling) {
            if (Date.now() - this.polledAt > LATE)
                await this.#checkWay();
            return;
        }
        this.polling = true;
        this.polledAt = Date.now();
        try {
            const [processes] = await this.bus.call(PATH, MANAGER, "DescribeProcesses");
            this.processes = processes.map(plain);
            const [objects] = await this.bus.call(PATH, OBJECTS, "GetManagedObjects");
            this.store.load(objects);
            await this.#pollReadings();
            this.listener.onChange();
        } catch (error) {
            // Where the service has gone, the owner's change tells. Until the next look the last readings stay, with their age.
            if (!isNobody(error))
                await this.#checkWay();
        } finally {
            this.polling = false;
        }
    }

    /** A driver may hang, but the service answers all the same. Where even that does not answer, the way to it is cut: later
     * versions of Cockpit do not notice a bus that ended. */
    async #checkWay() {
        if (this.checking)
            return;
        this.checking = true;
        let timer = 0;
        const late = new Promise((_resolve, reject) => {
            timer = globalThis.setTimeout(() => reject(new Error("late")), PING);
        });
        try {
            await Promise.race([this.bus.call(PATH, "org.freedesktop.DBus.Peer", "Ping"), late]);
        } catch {
            this.#gone("no-bus", "");
            this.polling = false;
            this.bus.reopen();
        } finally {
            this.checking = false;
            globalThis.clearTimeout(timer);
        }
    }

    async #pollReadings() {
        const now = Date.now();
        for (;;) {
            const [rows] = await this.bus.call(PATH, MANAGER, "ListReadings", "t", [this.readings.last]);
            this.readings.addRows(rows, now);
            if (rows.length === 0)
                break;
        }
        this.readings.addCurrent(this.store, now);
    }
}
