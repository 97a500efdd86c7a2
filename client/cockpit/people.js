// SPDX-License-Identifier: LGPL-2.1-or-later
// The limits of users, requested after changes.
import {MANAGER, PATH} from "./store.js";

/** @typedef {Record<string, [number, number]>} Limits */

export class People {
    /** @param {any} cockpit @param {import("./bus.js").Bus} bus @param {number} uid */
    constructor(cockpit, bus, uid) {
        this.cockpit = cockpit;
        this.bus = bus;
        this.uid = uid;
        /** @type {Limits | null} */
        this.mine = null;
        /** @type {Map<string, Limits>} by name */
        this.everybody = new Map();
        /** @type {Map<string, number>} */
        this.uids = new Map();
    }

    /** @param {number} uid
     * @returns {Promise<Limits>} */
    async #limits(uid) {
        return (await this.bus.call(PATH, MANAGER, "GetLimits", "u", [uid]))[0];
    }

    async readMine() {
        this.mine = await this.#limits(this.uid);
    }

    /** Reads the limits of users who use genv now, and of users with limits of their own.
     * @param {Map<number, string>} users @param {string[]} limited names */
    async readEverybody(users, limited) {
        const named = new Map([...users].map(([uid, user]) => [user, uid]));
        for (const name of limited.filter(name => !named.has(name))) {
            const uid = await this.#uidOf(name);
            // A section may name a user in another spelling.
            if (uid !== null && ![...named.values()].includes(uid))
                named.set(name, uid);
        }
        const names = [...named.keys()].sort();
        const found = await Promise.all(names.map(name => this.#limits(/** @type {number} */ (named.get(name)))));
        this.everybody = new Map(names.map((name, index) => [name, found[index]]));
    }

    /** @param {string} name */
    async #uidOf(name) {
        if (!this.uids.has(name)) {
            const text = await this.cockpit.spawn(["id", "-u", "--", name], {err: "ignore"}).catch(() => "");
            this.uids.set(name, /^\d+\s*$/.test(text) ? Number(text) : -1);
        }
        const uid = this.uids.get(name) ?? -1;
        return uid < 0 ? null : uid;
    }
}
