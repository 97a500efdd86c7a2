// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of the logged-in user, as genv-jobs lists them. Its signals tell when to read the list again: at most every
// half second, and only while the page is visible.
import {isNobody} from "./bus.js";
import {jobOf, taskOf} from "./job_model.js";
import {Unavailable, UserBus} from "./userbus.js";
import {plain} from "./values.js";

const BETWEEN_READS = 500;

/** `no-manager`: the user has no bus or no systemd. `no-jobs`: genv-jobs does not start, `problem` says why.
 * @typedef {"connecting" | "ready" | "no-manager" | "no-jobs"} JobsPhase */

export class Jobs {
    /** @param {any} cockpit @param {() => void} onChange */
    constructor(cockpit, onChange) {
        this.onChange = onChange;
        /** @type {JobsPhase} */
        this.phase = "connecting";
        this.problem = "";
        /** Whether also jobs that ended more than a day ago are listed. */
        this.all = false;
        /** @type {import("./job_model.js").Job[]} */
        this.list = [];
        this.timer = 0;
        this.reading = false;
        this.changed = false;
        /** Those who show tasks, called after each change. @type {Set<() => void>} */
        this.watchers = new Set();
        this.bus = new UserBus(cockpit, {
            onOwner: owner => owner && this.readSoon(),
            onClosed: () => this.#gone("no-manager", ""),
            onSignal: () => this.readSoon(),
        });
    }

    /** Connects and starts genv-jobs: at the start, and when the user asks for it. */
    async start() {
        this.phase = "connecting";
        this.onChange();
        await this.refresh();
    }

    async #require() {
        try {
            await this.bus.require();
        } catch (error) {
            // A bus that cannot be reached is one reason to have no manager.
            const known = error instanceof Unavailable ? error : null;
            this.#gone(known?.why ?? "no-manager", known?.message ?? "");
            this.bus.close();
            throw error;
        }
    }

    /** @param {JobsPhase} phase @param {string} problem */
    #gone(phase, problem) {
        this.phase = phase;
        this.problem = problem;
        this.onChange();
    }

    /** Reads the list once for many changes. A hidden page reads when it is shown. */
    readSoon() {
        this.changed = true;
        if (this.timer || this.reading || document.hidden)
            return;
        this.#read();
    }

    /** With the queue of the service, the reasons why jobs wait have changed. */
    onQueue() {
        if (this.reading || this.list.some(job => job.waiting > 0))
            this.readSoon();
    }

    /** Reads what has changed while the page was hidden. */
    onVisible() {
        if (this.changed)
            this.readSoon();
    }

    async #read() {
        this.reading = true;
        this.changed = false;
        try {
            const [rows] = await this.bus.call("List", "a{sv}", [this.all ? {all: {t: "b", v: true}} : {}]);
            this.list = rows.map((/** @type {any} */ row) => jobOf(plain(row)));
            this.phase = "ready";
            this.onChange();
            for (const watcher of this.watchers)
                watcher();
        } catch (error) {
            this.#notRead(error);
        }
        this.reading = false;
        this.timer = globalThis.setTimeout(() => {
            this.timer = 0;
            if (this.changed)
                this.readSoon();
        }, BETWEEN_READS);
    }

    /** @param {boolean} all */
    show(all) {
        this.all = all;
        this.refresh();
    }

    /** @param {any} error */
    #notRead(error) {
        if (!isNobody(error))
            this.#gone("no-jobs", error?.message ?? String(error));
        else if (this.phase === "connecting")
            globalThis.setTimeout(() => this.start(), BETWEEN_READS);
        // Otherwise genv-jobs has ended. The last list stays until its next owner is read.
    }

    /** Reads the list, and starts genv-jobs for that. */
    async refresh() {
        await this.ask(() => this.readSoon()).catch(() => undefined); // the phase says why
    }

    /** Starts genv-jobs if it has ended, and then makes calls. It may end between the two, when it has nothing to do: then
     * they are made once more.
     * @template T
     * @param {() => T} calls */
    async ask(calls) {
        await this.#require();
        try {
            return await calls();
        } catch (error) {
            if (!isNobody(error))
                throw error;
        }
        await this.#require();
        return await calls();
    }

    /** Returns how many tasks the request concerned.
     * @param {"Cancel" | "Hold" | "Release" | "Requeue"} member @param {number} job
     * @returns {Promise<number>} */
    async change(member, job) {
        return await this.ask(async () => (await this.bus.call(member, "uau", [job, []]))[0]);
    }

    /** @param {number} job */
    async describe(job) {
        return plain((await this.ask(() => this.bus.call("Get", "u", [job])))[0]);
    }

    /** @param {number} job
     * @returns {Promise<import("./job_model.js").Task[]>} */
    async tasks(job) {
        const [rows] = await this.ask(() => this.bus.call("ListTasks", "uau", [job, []]));
        return rows.map((/** @type {any} */ row) => taskOf(plain(row)));
    }
}
