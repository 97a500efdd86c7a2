// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to genv-jobs on the bus of the logged-in user. Opening the page starts genv-jobs, as does an action on a
// job. Nothing else does, since genv-jobs ends when no job waits or runs: channels name the owner's connection, because
// the bridge starts the service of each well-known name that a channel names.
import {_, format} from "./i18n.js";

export const JOBS = "dev.genv.Jobs";
const PATH = "/dev/genv/Jobs";
const DRIVER = "org.freedesktop.DBus";
const SYSTEMD = "org.freedesktop.systemd1";
const UNIT = "/org/freedesktop/systemd1/unit/genv_2djobs_2eservice";
const HAS_BUS = "test -n \"$DBUS_SESSION_BUS_ADDRESS\" || test -S \"${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/bus\"";
const BETWEEN_LOOKS = 100; // ms, during the start
const MAX_RESTARTS = 2; // the manager restarts genv-jobs; after so many ends, it does not get better by itself
const UNKNOWN = new Set([`${SYSTEMD}.NoSuchUnit`, `${DRIVER}.Error.ServiceUnknown`]);

/** No call reaches genv-jobs. `why` is the phase of Jobs that follows. */
export class Unavailable extends Error {
    /** @param {"no-manager" | "no-jobs"} why @param {string} message */
    constructor(why, message) {
        super(message);
        this.why = why;
    }
}

const pause = () => new Promise(resolve => globalThis.setTimeout(resolve, BETWEEN_LOOKS));

/** @param {any} error */
function startError(error) {
    if (error.name === `${SYSTEMD}.UnitMasked`)
        return new Unavailable("no-jobs", _("The unit of genv-jobs is masked. To unmask it, run \"systemctl --user unmask genv-jobs\"."));
    if (UNKNOWN.has(error.name))
        return new Unavailable("no-jobs", _("Your systemd does not know genv-jobs. Install the package genv completely; if it was installed "
            + "after your login, run \"systemctl --user daemon-reload\"."));
    return failed(error.message ?? String(error));
}

/** @param {string} why */
const failed = why => new Unavailable("no-jobs", format(_("genv-jobs cannot start: $0. For details, run \"systemctl --user status genv-jobs\"."), why));

export class UserBus {
    /** @param {any} cockpit
     * @param {{onOwner: (owner: string | null) => void, onClosed: () => void, onSignal: () => void}} listener */
    constructor(cockpit, listener) {
        this.cockpit = cockpit;
        this.listener = listener;
        /** The channel to the bus's own objects. @type {any} */
        this.driver = null;
        /** The channel to genv-jobs. @type {any} */
        this.client = null;
        /** @type {string | null} */
        this.owner = null;
    }

    /** Connects, unless it is connected. */
    open() {
        if (this.driver)
            return;
        const driver = this.cockpit.dbus(DRIVER, {bus: "session"});
        this.driver = driver;
        driver.addEventListener("close", () => {
            if (this.driver !== driver)
                return;
            this.driver = null;
            this.#setOwner(null);
            this.listener.onClosed();
        });
        driver.subscribe({interface: DRIVER, member: "NameOwnerChanged", arg0: JOBS},
            (/** @type {string} */ _path, /** @type {string} */ _interface, /** @type {string} */ _member, /** @type {any[]} */ args) => {
                if (this.driver === driver)
                    this.#setOwner(args[2] || null);
            });
    }

    close() {
        const {driver} = this;
        this.driver = null;
        driver?.close();
        this.#setOwner(null);
    }

    /** @param {string | null} owner */
    #setOwner(owner) {
        if (owner === this.owner)
            return;
        this.client?.close();
        this.owner = owner;
        this.client = owner && this.cockpit.dbus(owner, {bus: "session"});
        this.client?.subscribe({path: PATH, interface: JOBS}, () => this.listener.onSignal());
        this.listener.onOwner(owner);
    }

    /** Calls a method of the bus's own.
     * @param {string} member @param {string} type @param {any[]} args
     * @returns {Promise<any[]>} */
    async #ask(member, type, args) {
        return await this.driver.call("/org/freedesktop/DBus", DRIVER, member, args, {type});
    }

    /** @param {string} name */
    async #has(name) {
        return (await this.#ask("NameHasOwner", "s", [name]))[0];
    }

    /** Returns whether the user has a bus. Bridges differ in what follows if a channel names a bus that is not there. */
    async #hasBus() {
        try {
            await this.cockpit.spawn(["/bin/sh", "-c", HAS_BUS], {err: "ignore"});
            return true;
        } catch {
            return false;
        }
    }

    /** Starts genv-jobs if it does not run. The bus would start it for a call, but the manager knows why a start fails. */
    async require() {
        if (!this.driver && !await this.#hasBus())
            throw new Unavailable("no-manager", "");
        this.open();
        if (!await this.#has(JOBS)) {
            if (!await this.#has(SYSTEMD))
                throw new Unavailable("no-manager", "");
            await this.#startUnit();
        }
        const [owner] = await this.#ask("GetNameOwner", "s", [JOBS]);
        this.#setOwner(owner);
    }

    async #startUnit() {
        const manager = this.cockpit.dbus(SYSTEMD, {bus: "session"});
        const start = async () => {
            try {
                await manager.call("/org/freedesktop/systemd1", `${SYSTEMD}.Manager`, "StartUnit", ["genv-jobs.service", "replace"], {type: "ss"});
            } catch (error) {
                throw startError(error);
            }
        };
        try {
            await start();
            while (!await this.#has(JOBS)) {
                // A genv-jobs that was about to end counted as started.
                if (await this.#hasEnded(manager))
                    await start();
                await pause();
            }
        } finally {
            manager.close();
        }
    }

    /** Returns whether genv-jobs has ended well. Throws if it has failed.
     * @param {any} manager */
    async #hasEnded(manager) {
        const all = async (/** @type {string} */ name) =>
            (await manager.call(UNIT, `${DRIVER}.Properties`, "GetAll", [`${SYSTEMD}.${name}`], {type: "s"}))[0];
        const [unit, service] = [await all("Unit"), await all("Service")];
        const result = service.Result?.v ?? "success";
        // A new attempt has begun, as long as its result is not another one.
        if (result !== "success" && (unit.ActiveState?.v === "failed" || service.NRestarts?.v >= MAX_RESTARTS))
            throw failed(service.StatusText?.v || result);
        return unit.ActiveState?.v === "inactive";
    }

    /** Calls genv-jobs, which must run.
     * @param {string} member @param {string} type @param {any[]} args
     * @returns {Promise<any[]>} */
    async call(member, type, args) {
        if (!this.client)
            throw Object.assign(new Error(_("genv-jobs has ended.")), {problem: "disconnected"});
        return await this.client.call(PATH, JOBS, member, args, {type});
    }
}
