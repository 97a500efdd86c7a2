// SPDX-License-Identifier: LGPL-2.1-or-later
// What the dialog of a job shows: its description, its tasks and its output, kept current until it is closed.
import {plain} from "./values.js";
import {remarkable, textOfBytes} from "./job_model.js";
import {Log} from "./log.js";

const SHOWN = 100; // tasks of an array
const PAUSE = 10; // the list of many tasks takes long, so that it is read again after so many times that

export class JobWatch {
    /** @param {any} cockpit @param {import("./jobs.js").Jobs} jobs @param {number} number @param {() => void} onChange */
    constructor(cockpit, jobs, number, onChange) {
        this.cockpit = cockpit;
        this.jobs = jobs;
        this.number = number;
        this.onChange = onChange;
        /** @type {Record<string, any> | null} */
        this.description = null;
        /** @type {import("./job_model.js").Task[]} the remarkable ones */
        this.tasks = [];
        this.omitted = 0;
        /** The task whose output is shown; "" for all. */
        this.task = "";
        /** @type {Log | null} */
        this.log = null;
        this.problem = "";
        this.isClosed = false;
        this.isDrawn = false;
        this.reading = false;
        /** Whether the job has changed since the tasks are read. */
        this.hasChanged = false;
        this.next = 0;
        this.timer = 0;
        this.onJobs = () => this.#readTasks();
    }

    /** The job's row in the list, or null if it is not listed. */
    job() {
        return this.jobs.list.find(job => job.number === this.number) ?? null;
    }

    async start() {
        this.jobs.watchers.add(this.onJobs);
        this.follow("");
        this.#readTasks();
        try {
            const found = await this.jobs.describe(this.number);
            this.description = {
                command: found["command-words"].map(textOfBytes), folder: textOfBytes(found.folder), output: textOfBytes(found.output),
                request: plain(found.request), after: found.after,
            };
        } catch (error) {
            this.problem = /** @type {any} */ (error)?.message ?? String(error);
        }
        this.#changed();
    }

    /** @param {string} task number; "" for all */
    follow(task) {
        this.log?.close();
        this.task = task;
        this.log = new Log(this.cockpit, task ? `${this.number}.${task}` : String(this.number), () => this.#changed());
        this.#changed();
    }

    /** Draws at the next frame, once for many changes. */
    #changed() {
        if (this.isDrawn || this.isClosed)
            return;
        this.isDrawn = true;
        globalThis.requestAnimationFrame(() => {
            this.isDrawn = false;
            if (!this.isClosed)
                this.onChange();
        });
    }

    async #readTasks() {
        this.#changed();
        if (this.isClosed || this.job()?.isArray !== true)
            return;
        if (this.reading) {
            this.hasChanged = true;
            return;
        }
        const wait = this.next - Date.now();
        if (wait > 0) {
            if (!this.timer)
                this.timer = globalThis.setTimeout(() => {
                    this.timer = 0;
                    this.#readTasks();
                }, wait);
            return;
        }
        this.reading = true;
        this.hasChanged = false;
        const begun = Date.now();
        try {
            const found = remarkable(await this.jobs.tasks(this.number));
            this.tasks = found.slice(0, SHOWN);
            this.omitted = found.length - this.tasks.length;
        } catch {
            // The next change of the job reads them again.
        }
        this.next = Date.now() + PAUSE * (Date.now() - begun);
        this.reading = false;
        this.#changed();
        if (this.hasChanged)
            this.#readTasks();
    }

    close() {
        this.isClosed = true;
        globalThis.clearTimeout(this.timer);
        this.jobs.watchers.delete(this.onJobs);
        this.log?.close();
    }
}
