// SPDX-License-Identifier: LGPL-2.1-or-later
// The history: recent events, and the attachments of the last days. Each request asks only for new events.
import {READ_HISTORY} from "./bus.js";
import {MANAGER, PATH} from "./store.js";
import {plain} from "./values.js";
import {holdsOf, midnights} from "./usage.js";

export const DAYS = 7;
const SHOWN = 50;

class Reader {
    /** @param {number} since milliseconds @param {Record<string, {t: string, v: any}>} filter
     * @param {(event: Record<string, any>) => void} take */
    constructor(since, filter, take) {
        this.since = since;
        this.filter = filter;
        this.take = take;
        this.after = "";
    }

    /** @param {import("./bus.js").Bus} bus */
    async read(bus) {
        for (;;) {
            const filter = this.after ? {...this.filter, after: {t: "s", v: this.after}} : this.filter;
            const args = [this.since * 1000, 0, filter];
            const [rows] = await (filter.all ? bus.callForOthers(READ_HISTORY, PATH, MANAGER, "ListEvents", "tta{sv}", args)
                : bus.call(PATH, MANAGER, "ListEvents", "tta{sv}", args));
            for (const row of rows) {
                const event = plain(row);
                this.after = event.cursor;
                this.take(event);
            }
            if (rows.length === 0)
                return;
        }
    }
}

export class History {
    /** @param {import("./bus.js").Bus} bus */
    constructor(bus) {
        this.bus = bus;
        this.problem = "";
        this.isRead = false;
        this.reading = false;
        this.again = false;
        /** @type {Record<string, any>[]} the newest first */
        this.events = [];
        /** @type {import("./usage.js").Hold[]} */
        this.holds = [];
        /** @type {Reader[]} */
        this.readers = [];
        this.reset(false);
    }

    /** @param {boolean} everybody whether others' events may be read */
    reset(everybody) {
        const now = Date.now();
        this.everybody = everybody;
        this.events = [];
        this.holds = [];
        this.problem = "";
        this.isRead = false;
        /** @type {Record<string, {t: string, v: any}>} */
        const all = everybody ? {all: {t: "b", v: true}} : {};
        const {events, holds} = this;
        this.readers = [
            new Reader(now - 24 * 3_600_000, all, event => {
                events.unshift(event);
                events.length = Math.min(events.length, SHOWN);
            }),
            new Reader(midnights(now, DAYS)[0], {...all, kinds: {t: "as", v: ["detached"]}},
                event => holds.push(...holdsOf(event))),
        ];
    }

    /** Reads new events, in one request at a time. A failure is stored in `problem`. */
    async read() {
        if (this.reading) {
            this.again = true;
            return;
        }
        this.reading = true;
        const readers = this.readers;
        try {
            for (const reader of readers)
                await reader.read(this.bus);
            this.problem = "";
            this.isRead = true;
        } catch (error) {
            this.problem = /** @type {any} */ (error)?.message ?? String(error);
        } finally {
            this.reading = false;
        }
        if (this.again || readers !== this.readers) {
            this.again = false;
            await this.read();
        }
    }
}
