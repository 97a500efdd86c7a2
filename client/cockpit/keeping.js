// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the commands of starting.js in the user's systemd instance, and enables lingering if the user agrees.
import {complaint, refusalOf} from "./starting.js";
import {_} from "./i18n.js";

const LOGIN = "org.freedesktop.login1";

export class Keeping {
    /** @param {any} cockpit @param {any} user as returned by cockpit.user() */
    constructor(cockpit, user) {
        this.cockpit = cockpit;
        this.user = user;
        /** Whether lingering is enabled; null if that is unknown. @type {boolean | null} */
        this.lingers = null;
    }

    /** @param {string} path @param {string} interfaceName @param {string} member @param {string} type @param {any[]} args */
    async #ask(path, interfaceName, member, type, args) {
        const client = this.cockpit.dbus(LOGIN, {bus: "system"});
        try {
            return await client.call(path, interfaceName, member, args, {type});
        } finally {
            client.close();
        }
    }

    async look() {
        try {
            const [path] = await this.#ask("/org/freedesktop/login1", `${LOGIN}.Manager`, "GetUser", "u", [this.user.id]);
            const [linger] = await this.#ask(path, "org.freedesktop.DBus.Properties", "Get", "ss", [`${LOGIN}.User`, "Linger"]);
            this.lingers = linger.v;
        } catch {
            this.lingers = null;
        }
    }

    async linger() {
        await this.#ask("/org/freedesktop/login1", `${LOGIN}.Manager`, "SetUserLinger", "ubb", [this.user.id, true, false]);
        this.lingers = true;
    }

    /** Runs the command that `command` returns for a unit name and an error file. Fails with the message of genvctl, and the name of a refusal.
     * @param {(unit: string, errorFile: string) => string[]} command */
    async run(command) {
        const unit = `genv-cockpit-${Date.now().toString(36)}${Math.floor(Math.random() * 0x10000).toString(36)}`;
        const errorFile = `/run/user/${this.user.id}/${unit}.log`;
        try {
            await this.cockpit.spawn(command(unit, errorFile), {err: "message"});
        } catch (error) {
            const reason = await this.#reason(errorFile, /** @type {any} */ (error));
            throw Object.assign(new Error(reason), {name: refusalOf(/** @type {any} */ (error)?.exit_status)});
        } finally {
            await this.cockpit.spawn(["rm", "-f", errorFile]).catch(() => undefined);
        }
    }

    /** @param {string} errorFile @param {any} error */
    async #reason(errorFile, error) {
        const file = this.cockpit.file(errorFile);
        const said = complaint(await file.read().catch(() => null));
        file.close();
        if (said)
            return said;
        if (error?.problem === "not-found")
            return _("systemd-run is missing, which this page needs to keep environments. Use genvctl on a terminal.");
        return error?.message ?? String(error);
    }
}
