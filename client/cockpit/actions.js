// SPDX-License-Identifier: LGPL-2.1-or-later
// The actions of the page. Each makes a call, after a dialog if something is lost or must be chosen.
import {MANAGE, TERMINATE} from "./bus.js";
import {announce, ask} from "./dialogs.js";
import {check, choice, field, numberOf, textOf, timeOf} from "./fields.js";
import {gpuList, gpus, nameOf} from "./format.js";
import {_, format, plural} from "./i18n.js";
import {attachedOf, models} from "./model.js";
import {startCommand, waitCommand} from "./starting.js";
import {DEVICE, ENVIRONMENT, MANAGER, PATH} from "./store.js";
import {variants} from "./values.js";
import {reloadPage} from "./version.js";
import {h} from "./vdom.js";

/** @typedef {import("./model.js").Environment} Environment */
/** @typedef {import("./model.js").Device} Device */
/** @typedef {import("./model.js").Machine} Machine */

// Returns whether waiting helps: for a free GPU or, to share one, for the consent of its holder.
const mayCome = (/** @type {string} */ error, /** @type {boolean} */ share) => error === "dev.genv.Error.DeviceUnavailable"
    || (share && /^org\.freedesktop\.DBus\.Error\.(AccessDenied|InteractiveAuthorizationRequired)$/.test(error));

export class Actions {
    /** @param {import("./bus.js").Bus} bus @param {import("./keeping.js").Keeping} keeping @param {() => Machine} machine */
    constructor(bus, keeping, machine) {
        this.bus = bus;
        this.keeping = keeping;
        this.machine = machine;
    }

    /** Acts without a dialog, and announces the result or the error.
     * @param {() => Promise<unknown>} act @param {string} done */
    async #now(act, done) {
        try {
            await act();
            announce(done);
        } catch (error) {
            announce(/** @type {any} */ (error)?.message ?? String(error), true);
        }
    }

    /** Calls a method for which the service asks polkit only if the object belongs to another user.
     * @param {boolean} isMine @param {string} action @param {string} member @param {string} type @param {any[]} args */
    #call(isMine, action, member, type, args) {
        return isMine ? this.bus.call(PATH, MANAGER, member, type, args) : this.bus.callForOthers(action, PATH, MANAGER, member, type, args);
    }

    /** @param {Environment} environment @param {number[]} indices */
    detach(environment, indices) {
        return this.#now(() => this.bus.call(environment.path, ENVIRONMENT, "Detach", "au", [indices]),
            format(_("$0 detached from $1."), gpuList(indices), nameOf(environment)));
    }

    /** @param {Device} device @param {import("./model.js").Holder} holder */
    detachFrom(device, holder) {
        ask({
            title: format(_("Detach GPU $0 from environment $1 of $2?"), device.index, holder.name || holder.environment, holder.user),
            body: [h("p", {}, _("genv ends the processes of the environment on this GPU, and tells their owner who did it."))],
            action: _("Detach"), danger: true,
            submit: async () => {
                await this.bus.callForOthers(MANAGE, device.path, DEVICE, "Detach", "s", [holder.environment]);
                announce(format(_("GPU $0 detached from $1."), device.index, holder.user));
            },
        });
    }

    /** @param {import("./model.js").Process} process */
    terminate(process) {
        ask({
            title: format(_("End process $0 ($1) of $2?"), process.pid, process.name, process.user),
            body: [h("p", {}, _("genv sends SIGTERM, and SIGKILL if the process does not end."))],
            action: _("End process"), danger: true,
            submit: async () => {
                await this.#call(process.mine, TERMINATE, "TerminateProcess", "u", [process.pid]);
                announce(format(_("Process $0 was told to end."), process.pid));
            },
        });
    }

    /** @param {Environment} environment */
    end(environment) {
        ask({
            title: format(_("End environment $0?"), nameOf(environment)),
            body: [h("p", {}, environment.lingering
                ? format(_("genv ends the programs that still use $0."), gpuList(environment.attached.map(each => each.index)))
                : _("Its GPUs become free. Programs that still use a GPU keep it until they end."))],
            action: _("End environment"), danger: true,
            submit: async () => {
                if (environment.lingering) {
                    for (const pid of environment.processes)
                        await this.bus.call(PATH, MANAGER, "TerminateProcess", "u", [pid]);
                } else {
                    await this.bus.call(environment.path, ENVIRONMENT, "Deactivate");
                }
                announce(format(_("Environment $0 has ended."), nameOf(environment)));
            },
        });
    }

    /** @param {Environment} environment */
    extend(environment) {
        ask({
            title: format(_("Extend the lease of $0"), nameOf(environment)),
            body: [field("lifetime", _("From now"), {value: "2h", required: true},
                _("Such as 30min, 2h or 1d. A lease is never made shorter."))],
            action: _("Extend"),
            submit: async form => {
                await this.bus.call(environment.path, ENVIRONMENT, "Configure", "a{sv}as",
                    [variants({lifetime: ["t", timeOf(form, "lifetime")]}), []]);
                announce(format(_("The lease of $0 is extended."), nameOf(environment)));
            },
        });
    }

    #models() {
        /** @type {[string, string][]} */
        const any = [["", _("Any model")]];
        return choice("model", _("Model"), any.concat(models(this.machine()).map(model => [model, model])));
    }

    #waiting() {
        return [
            check("wait", _("Wait in the queue if too few are free"), false),
            field("timeout", _("Wait at most"), {value: "2h"}, _("Such as 30min, 2h or 1d.")),
        ];
    }

    /** @param {boolean} consents */
    #sharing(consents) {
        return [
            check("share", _("Share GPUs that others hold"), false,
                _("Other users must consent. Without their consent, an administrator's approval is needed.")),
            check("consent", _("Let other users share the GPUs of this environment"), consents),
        ];
    }

    /** @param {FormData} form @returns {string} the time to wait, or "" for not at all */
    #waitOf(form) {
        return form.has("wait") ? `${timeOf(form, "timeout") ?? 86400}s` : "";
    }

    /** @param {Environment} environment */
    attach(environment) {
        ask({
            title: format(_("Attach GPUs to $0"), nameOf(environment)),
            body: [
                h("p", {key: "now"}, format(_("It has $0 now."), gpus(environment.attached.length))),
                field("count", _("GPUs to add"), {type: "number", min: 1, value: "1", required: true}),
                this.#models(),
                field("lifetime", _("Give them back after"), {placeholder: _("no lease")}, _("Such as 30min, 2h or 1d.")),
                ...this.#waiting(),
                ...this.#sharing(environment.overSubscribable),
            ],
            action: _("Attach"),
            submit: form => this.#attach(environment, form),
        });
    }

    /** @param {Environment} environment @param {FormData} form */
    async #attach(environment, form) {
        const model = textOf(form, "model");
        const count = attachedOf(this.machine(), environment, model) + numberOf(form, "count");
        const lifetime = timeOf(form, "lifetime");
        const wait = this.#waitOf(form);
        const options = variants({count: ["u", count], model: ["s", model], lifetime: ["t", lifetime]});
        const share = form.has("share");
        if (share)
            options["over-subscribe"] = {t: "b", v: true};
        if (form.has("consent") !== environment.overSubscribable)
            await this.bus.call(environment.path, ENVIRONMENT, "Configure", "a{sv}as",
                [{"over-subscribable": {t: "b", v: form.has("consent")}}, []]);
        try {
            const [indices] = await this.bus.call(environment.path, ENVIRONMENT, "Attach", "a{sv}", [options]);
            announce(format(_("$0 has $1."), nameOf(environment), gpuList(indices)));
        } catch (error) {
            if (!wait || !mayCome(/** @type {any} */ (error)?.name, share))
                throw error;
            const wish = {count, model, lifetime: lifetime ? `${lifetime}s` : "", wait, share};
            this.#keep((unit, file) => waitCommand(unit, file, environment.id, wish));
            announce(format(_("$0 waits in the queue."), nameOf(environment)));
        }
    }

    /** Runs a command in the background until it ends.
     * @param {(unit: string, errorFile: string) => string[]} command */
    #keep(command) {
        this.keeping.run(command).catch(error => {
            // The page already shows that the environment has ended.
            if (!/has ended/.test(error.message))
                announce(error.message, true);
        });
    }

    #lingering() {
        if (this.keeping.lingers === true)
            return h("p", {key: "lingers"}, _("The environment stays after you log out, until you end it."));
        return check("linger", _("Keep it after I log out"), false, _("Turns on lingering for your account: your own "
            + "services also run while you are logged out. Otherwise the environment ends when you last log out."));
    }

    /** @param {boolean} waits */
    start(waits) {
        ask({
            title: waits ? _("Join the queue") : _("Start an environment"),
            body: [
                field("name", _("Name"), {maxlength: 64, placeholder: _("such as training")}),
                field("gpus", _("GPUs"), {type: "number", min: waits ? 1 : 0, value: "1", required: true}),
                this.#models(),
                field("memory", _("Memory of each"), {placeholder: _("all of it"), pattern: "\\s*[0-9]+\\s*[kKmMgGtT][iI]?[bB]?\\s*"}, _("Such as 8g.")),
                field("lifetime", _("End it after"), {placeholder: _("no lease")}, _("Such as 30min, 2h or 1d.")),
                ...waits ? [field("timeout", _("Wait at most"), {value: "2h", required: true}, _("Such as 30min, 2h or 1d."))] : this.#waiting(),
                ...this.#sharing(false),
                this.#lingering(),
            ],
            action: waits ? _("Join") : _("Start"),
            submit: form => this.#start(form, waits),
        });
    }

    /** @param {FormData} form @param {boolean} waits */
    async #start(form, waits) {
        const lifetime = timeOf(form, "lifetime");
        const wish = {
            name: textOf(form, "name"), gpus: numberOf(form, "gpus"), model: textOf(form, "model"), memory: textOf(form, "memory").replaceAll(" ", ""),
            lifetime: lifetime ? `${lifetime}s` : "", share: form.has("share"),
            consent: form.has("consent"),
            wait: waits ? `${timeOf(form, "timeout") ?? 86400}s` : this.#waitOf(form),
        };
        if (form.has("linger"))
            await this.keeping.linger();
        const before = new Set(this.machine().mine.map(environment => environment.id));
        const started = this.keeping.run((unit, file) => startCommand(unit, file, wish));
        const appeared = this.#appears(before);
        await Promise.race([appeared.promise, started.then(() => undefined)]).finally(appeared.stop);
        announce(wish.wait ? _("The environment has started and waits in the queue if too few GPUs are free.") : _("The environment has started."));
        started.catch(error => {
            if (!/has ended/.test(error.message))
                announce(error.message, true);
        });
    }

    /** Resolves when the user has a new environment.
     * @param {Set<string>} before */
    #appears(before) {
        let timer = 0;
        const promise = new Promise(resolve => {
            timer = globalThis.setInterval(() => {
                if (this.machine().mine.some(environment => !before.has(environment.id)))
                    resolve(undefined);
            }, 50);
        });
        return {promise, stop: () => globalThis.clearInterval(timer)};
    }

    /** @param {import("./model.js").Waiter} waiter */
    leave(waiter) {
        const cancel = () => this.#call(waiter.mine, MANAGE, "CancelWait", "t", [waiter.ticket]);
        if (waiter.mine) {
            this.#now(cancel, _("You left the queue."));
            return;
        }
        ask({
            title: format(_("Remove $0 from the queue?"), waiter.user),
            body: [h("p", {}, format(_("The request for $0 ends without GPUs."), plural("$0 GPU", "$0 GPUs", waiter.count)))],
            action: _("Remove"), danger: true,
            submit: cancel,
        });
    }

    reloadPage() {
        reloadPage(this.bus.cockpit);
    }

    startService() {
        this.#now(() => this.bus.start(), _("genvd is running."));
    }
}
