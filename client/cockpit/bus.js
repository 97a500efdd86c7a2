// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to the service. Calls are made as the logged-in user. If polkit refuses one, it is repeated as root
// through Cockpit's administrative access, if that is on. The connection is restored when the service or bus is back.
//
// Opening the page starts genvd. Nothing after that does: Cockpit's bridge starts the service of each well-known name that a
// channel names, and so does the bus for each call, so that the channels here name the owner's connection instead.
import {_} from "./i18n.js";
import {PATH} from "./store.js";

const NAME = "dev.genv.Manager";
const DRIVER = "org.freedesktop.DBus";
const ACTIONS = "dev.genv.manager.";
/** The polkit actions of administrators. */
export const MANAGE = "manage-others";
export const TERMINATE = "terminate-others";
export const READ_HISTORY = "read-history";
const RETRY = [1000, 2000, 5000, 10000];
const REFUSED = new Set(["org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "org.freedesktop.DBus.Error.AccessDenied"]);
const NOBODY = new Set(["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected", "org.freedesktop.systemd1.NoSuchUnit"]);

/** The call needs administrative access. */
export class NeedsAdministrator extends Error {
    constructor() {
        super(_("This needs administrative access, which you can turn on at the top of the window."));
    }
}

/** @param {any} error */
export const isNobody = error => NOBODY.has(error?.name) || Boolean(error?.problem);

export class Bus {
    /** @param {any} cockpit
     * @param {{onOwner: (owner: string | null) => void, onClosed: (problem: string) => void,
     *   onSignal: (path: string, interfaceName: string, member: string, args: any[]) => void}} listener */
    constructor(cockpit, listener) {
        this.cockpit = cockpit;
        this.listener = listener;
        this.permission = cockpit.permission({admin: true});
        this.failures = 0;
        /** The channel to the bus's own objects. @type {any} */
        this.driver = null;
        /** The channel to genvd. @type {any} */
        this.client = null;
        /** The same as root. @type {any} */
        this.root = null;
        /** @type {string | null} */
        this.owner = null;
        this.started = false;
        /** @type {Set<string>} what polkit allows without administrative access */
        this.granted = new Set();
    }

    open() {
        const driver = this.cockpit.dbus(DRIVER, {bus: "system"});
        this.driver = driver;
        driver.addEventListener("close", (/** @type {any} */ _event, /** @type {any} */ options) => {
            if (this.driver !== driver)
                return;
            this.#forget();
            this.listener.onClosed(options?.problem ?? "");
            const delay = RETRY[Math.min(this.failures++, RETRY.length - 1)];
            globalThis.setTimeout(() => this.driver ?? this.open(), delay);
        });
        driver.subscribe({interface: DRIVER, member: "NameOwnerChanged", arg0: NAME},
            (/** @type {string} */ _path, /** @type {string} */ _interface, /** @type {string} */ _member, /** @type {any[]} */ args) =>
                this.#setOwner(driver, args[2] || null));
        this.#findOwner(driver);
    }

    /** Calls a method of the bus's own.
     * @param {string} member @param {string} type @param {any[]} args
     * @returns {Promise<any[]>} */
    #ask(member, type, args) {
        return this.#call(this.driver, "/org/freedesktop/DBus", DRIVER, member, type, args);
    }

    /** Starts genvd, as its user asks. */
    async start() {
        await this.#ask("StartServiceByName", "su", [NAME, 0]);
    }

    /** @param {any} driver */
    async #findOwner(driver) {
        if (!this.started) {
            this.started = true;
            await this.start().catch(() => undefined); // the next call finds no owner
        }
        try {
            const [owner] = await this.#ask("GetNameOwner", "s", [NAME]);
            this.#setOwner(driver, owner);
        } catch (error) {
            if (this.driver === driver && !this.owner && isNobody(error))
                this.listener.onOwner(null);
        }
    }

    /** @param {any} driver @param {string | null} owner */
    #setOwner(driver, owner) {
        if (this.driver !== driver || (owner && this.owner === owner))
            return;
        this.failures = 0;
        this.#forgetOwner();
        if (!owner) {
            this.listener.onOwner(null);
            return;
        }
        const client = this.cockpit.dbus(owner, {bus: "system"});
        this.owner = owner;
        this.client = client;
        client.addEventListener("owner", (/** @type {any} */ _event, /** @type {string | null} */ found) => {
            if (this.client === client && found)
                this.listener.onOwner(found);
        });
        client.subscribe({path_namespace: PATH}, this.listener.onSignal);
    }

    #forgetOwner() {
        const {client, root} = this;
        this.owner = this.client = this.root = null;
        client?.close();
        root?.close();
    }

    #forget() {
        const {driver} = this;
        this.driver = null;
        driver?.close();
        this.#forgetOwner();
    }

    reopen() {
        this.#forget();
        this.open();
    }

    /** @param {any} client @param {string} path @param {string} interfaceName @param {string} member @param {string} type
     * @param {any[]} args
     * @returns {Promise<any[]>} */
    async #call(client, path, interfaceName, member, type, args) {
        if (!client)
            throw Object.assign(new Error(_("The bus is not connected.")), {problem: "disconnected"});
        return await client.call(path, interfaceName, member, args, {type});
    }

    /** Makes a call as the logged-in user. Calls for the user's own objects must never be made as root.
     * @param {string} path @param {string} interfaceName @param {string} member @param {string} [type] @param {any[]} [args] */
    call(path, interfaceName, member, type = "", args = []) {
        return this.#call(this.client, path, interfaceName, member, type, args);
    }

    /** The same for objects of other users, which need a polkit action: as the logged-in user if polkit allows that, else
     * with administrative access. A call that will be refused is not tried, because the history records each refusal.
     * @param {string} action @param {string} path @param {string} interfaceName @param {string} member @param {string} [type]
     * @param {any[]} [args] */
    async callForOthers(action, path, interfaceName, member, type = "", args = []) {
        if (this.permission.allowed === true && !this.granted.has(action))
            return await this.#call(this.#rootClient(), path, interfaceName, member, type, args);
        try {
            return await this.call(path, interfaceName, member, type, args);
        } catch (error) {
            if (!REFUSED.has(/** @type {any} */ (error)?.name))
                throw error;
            if (this.permission.allowed !== true)
                throw new NeedsAdministrator();
        }
        return await this.#call(this.#rootClient(), path, interfaceName, member, type, args);
    }

    #rootClient() {
        if (!this.root && this.owner) {
            const root = this.cockpit.dbus(this.owner, {bus: "system", superuser: "require"});
            root.addEventListener("close", () => {
                if (this.root === root)
                    this.root = null;
            });
            this.root = root;
        }
        return this.root;
    }

    /** Whether polkit or administrative access allows an action.
     * @param {string} action */
    mayDo(action) {
        return this.permission.allowed === true || this.granted.has(action);
    }

    /** Asks polkit what it allows the bridge, which makes this page's calls, without a password. */
    async readRights() {
        const actions = [MANAGE, TERMINATE, READ_HISTORY];
        const polkit = this.cockpit.dbus("org.freedesktop.PolicyKit1", {bus: "system"});
        try {
            // Its name on the bus would do, but later versions of Cockpit do not tell that.
            const pid = Number(await this.cockpit.spawn(["/bin/sh", "-c", "echo $PPID"]));
            const bridge = ["unix-process", {"pid": {t: "u", v: pid}, "start-time": {t: "t", v: 0}}];
            const answers = await Promise.all(actions.map(action => polkit.call("/org/freedesktop/PolicyKit1/Authority",
                "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization", [bridge, ACTIONS + action, {}, 0, ""],
                {type: "(sa{sv})sa{ss}us"})));
            this.granted = new Set(actions.filter((_unused, index) => answers[index][0][0]));
        } catch {
            this.granted = new Set();
        } finally {
            polkit.close();
        }
    }
}
