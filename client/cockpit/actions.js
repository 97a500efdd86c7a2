// SPDX-License-Identifier: LGPL-2.1-or-later
// The actions of the page. Each makes a call, after a dialog if something is lost or must be chosen.
import {MANAGE, TERMINATE} from "./bus.js";
import {Choice, announce, ask} from "./dialogs.js";
import {check, choice, field, memoryField, memoryOf, numberOf, preemptibleField, textOf, timeField, timeOf} from "./fields.js";
import {gpuList, gpus, nameOf} from "./format.js";
import {_, format, plural} from "./i18n.js";
import {attachedOf, models} from "./model.js";
import {refusalOf} from "./refusals.js";
import {parkCommand, resumeCommand, startCommand, waitCommand} from "./starting.js";
import {DEVICE, ENVIRONMENT, MANAGER, PATH} from "./store.js";
import {variants} from "./values.js";
import {reloadPage} from "./version.js";
import {h} from "./vdom.js";

/** @typedef {import("./model.js").Environment} Environment */
/** @typedef {import("./model.js").Device} Device */

/** @typedef {(form: FormData) => Promise<unknown>} Waiting requests again, and waits for at most the time in the form */

const DAY = 86_400;
const NOTHING = {count: 0, model: "", share: false};

/** @param {number | null} count @returns {string} as genvctl takes it, "" for none */
const seconds = count => count === null ? "" : `${count}s`;

export class Actions {
    /** @param {import("./bus.js").Bus} bus @param {import("./keeping.js").Keeping} keeping
     * @param {() => import("./refusals.js").State} state */
    constructor(bus, keeping, state) {
        this.bus = bus;
        this.keeping = keeping;
        this.state = state;
        /** The environments whose wait the user has ended here. @type {Set<string>} */
        this.left = new Set();
    }

    machine() {
        return this.state().machine;
    }

    /** Returns the error of a refused request as a sentence, with the choice to wait if that helps.
     * @param {unknown} error @param {import("./refusals.js").Request} request @param {Waiting} [wait] */
    #refused(error, request, wait) {
        const {sentence, question} = refusalOf(error, request, this.state());
        return question && wait ? new Choice(`${sentence} ${question}`, [this.#patience()], _("Wait in the queue"), wait) : new Error(sentence);
    }

    /** Opens a dialog that says in a sentence why its action is refused.
     * @param {import("./dialogs.js").Question} question */
    #ask(question) {
        ask({...question, submit: async form => {
            try {
                await question.submit(form);
            } catch (error) {
                throw error instanceof Choice ? error : this.#refused(error, NOTHING);
            }
        }});
    }

    #patience() {
        return timeField("timeout", _("Wait at most"), {value: "2", required: true});
    }

    /** Acts without a dialog, and announces the result or the error.
     * @param {() => Promise<unknown>} act @param {string} done */
    async #now(act, done) {
        try {
            await act();
            announce(done);
        } catch (error) {
            announce(refusalOf(error, NOTHING, this.state()).sentence, true);
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
        this.#ask({
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
        this.#ask({
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
        this.#ask({
            title: format(_("End environment $0?"), nameOf(environment)),
            body: [h("p", {}, environment.parking.state !== "active"
                ? _("Its programs stay in host memory, and it stays with them, until they end or you resume them.")
                : environment.lingering
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

    /** The command runs without this page, so that closing the page undoes nothing.
     * @param {Environment} environment */
    park(environment) {
        const list = gpuList(environment.attached.map(each => each.index));
        this.#ask({
            title: format(_("Park environment $0?"), nameOf(environment)),
            body: [h("p", {key: "what"}, format(_("What its programs hold in GPU memory moves to host memory, and $0 becomes free for others. "
                + "The programs stand still where they use a GPU."), list)),
            h("p", {key: "later"}, _("\"Resume\" asks for the same GPUs again, in the queue if others hold them, and the programs go on where they were."))],
            action: _("Park"),
            submit: async () => {
                await this.keeping.run((unit, file) => parkCommand(unit, file, environment.id));
                announce(format(_("$0 is parked."), nameOf(environment)));
            },
        });
    }

    /** @param {Environment} environment */
    resume(environment) {
        const list = gpuList(environment.parking.gpus);
        const go = (/** @type {string} */ wait) => this.keeping.run((unit, file) => resumeCommand(unit, file, environment.id, wait));
        this.#ask({
            title: format(_("Resume environment $0?"), nameOf(environment)),
            body: [h("p", {key: "what"}, format(_("It asks for $0 again, and its programs go on where they were."), list)),
                h("p", {key: "shell"}, h("small", {}, format(_("In a shell: $0"), `genvctl resume --id ${environment.id}`)))],
            action: _("Resume"),
            submit: async () => {
                try {
                    await go("");
                } catch (error) {
                    if (/** @type {any} */ (error)?.name !== "DeviceUnavailable")
                        throw error;
                    throw new Choice(`${format(_("Others hold $0, at least in part."), list)} ${_("Wait in the queue?")}`, [this.#patience()],
                        _("Wait in the queue"), async again => {
                            this.#report(go(seconds(timeOf(again, "timeout") ?? DAY)), environment.id, null);
                            announce(format(_("$0 waits in the queue."), nameOf(environment)));
                        });
                }
                announce(format(_("$0 goes on."), nameOf(environment)));
            },
        });
    }

    /** @param {Environment} environment */
    resumeOfOther(environment) {
        this.#ask({
            title: format(_("Resume environment $0 of $1?"), nameOf(environment), environment.user),
            body: [h("p", {}, format(_("It asks for $0 again, and its programs go on where they were."), gpuList(environment.parking.gpus)))],
            action: _("Resume"),
            submit: async () => {
                await this.bus.callForOthers(MANAGE, environment.path, ENVIRONMENT, "Resume", "a{sv}", [{}]);
                announce(format(_("$0 goes on."), nameOf(environment)));
            },
        });
    }

    /** @param {Environment} environment */
    extend(environment) {
        this.#ask({
            title: format(_("Extend the lease of $0"), nameOf(environment)),
            body: [timeField("lifetime", _("From now"), {value: "2", required: true}),
                h("p", {key: "longer"}, h("small", {}, _("A lease is never made shorter.")))],
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

    /** @param {boolean} consents */
    #sharing(consents) {
        return [
            check("share", _("Share GPUs that others hold"), false,
                _("Other users must consent. Without their consent, an administrator's approval is needed.")),
            check("consent", _("Let other users share the GPUs of this environment"), consents),
        ];
    }

    /** @param {Environment} environment */
    attach(environment) {
        this.#ask({
            title: format(_("Attach GPUs to $0"), nameOf(environment)),
            body: [
                h("p", {key: "now"}, format(_("It has $0 now."), gpus(environment.attached.length))),
                field("count", _("GPUs to add"), {type: "number", min: 1, value: "1", required: true}),
                this.#models(),
                timeField("lifetime", _("Give them back after"), {placeholder: _("no lease")}),
                ...this.#sharing(environment.overSubscribable),
            ],
            action: _("Attach"),
            submit: form => this.#attach(environment, form),
        });
    }

    /** @param {Environment} environment @param {FormData} form */
    async #attach(environment, form) {
        const model = textOf(form, "model");
        const more = numberOf(form, "count");
        const wish = {count: attachedOf(this.machine(), environment, model) + more, model, lifetime: timeOf(form, "lifetime"), share: form.has("share")};
        const options = variants({count: ["u", wish.count], model: ["s", model], lifetime: ["t", wish.lifetime]});
        if (wish.share)
            options["over-subscribe"] = {t: "b", v: true};
        if (form.has("consent") !== environment.overSubscribable)
            await this.bus.call(environment.path, ENVIRONMENT, "Configure", "a{sv}as",
                [{"over-subscribable": {t: "b", v: form.has("consent")}}, []]);
        try {
            const [indices] = await this.bus.call(environment.path, ENVIRONMENT, "Attach", "a{sv}", [options]);
            announce(format(_("$0 has $1."), nameOf(environment), gpuList(indices)));
        } catch (error) {
            throw this.#refused(error, {count: more, model, share: wish.share}, async again => {
                const wait = seconds(timeOf(again, "timeout") ?? DAY);
                const waiting = this.keeping.run((unit, file) => waitCommand(unit, file, environment.id, {...wish, lifetime: seconds(wish.lifetime), wait}));
                this.#report(waiting, environment.id, {count: more, model, share: wish.share});
                announce(format(_("$0 waits in the queue."), nameOf(environment)));
            });
        }
    }

    /** Announces the failure of a command in the background.
     * @param {Promise<void>} running @param {string} environment its id; "" if it has ended already
     * @param {import("./refusals.js").Request | null} request null if it cannot have waited */
    #report(running, environment, request) {
        running.catch(error => {
            // The page already shows that the environment has ended, and that the user has left the queue.
            if (/has ended/.test(error.message) || this.left.delete(environment))
                return;
            const {sentence, question} = refusalOf(error, request ?? NOTHING, this.state());
            announce(question && request ? format(_("The wait for $0 has ended without them."), gpus(request.count)) : sentence, true);
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
        this.#ask({
            title: waits ? _("Join the queue") : _("Start an environment"),
            body: [
                field("name", _("Name"), {maxlength: 64, placeholder: _("such as training")}),
                field("gpus", _("GPUs"), {type: "number", min: waits ? 1 : 0, value: "1", required: true}),
                this.#models(),
                memoryField("memory", _("Memory of each"), {placeholder: _("all of it")}),
                timeField("lifetime", _("End it after"), {placeholder: _("no lease")}),
                ...waits ? [this.#patience()] : [],
                ...this.#sharing(false),
                preemptibleField(),
                this.#lingering(),
            ],
            action: waits ? _("Join") : _("Start"),
            submit: form => this.#start(form, waits),
        });
    }

    /** @param {FormData} form @param {boolean} waits */
    async #start(form, waits) {
        const request = {count: numberOf(form, "gpus"), model: textOf(form, "model"), share: form.has("share")};
        const wish = {
            name: textOf(form, "name"), gpus: request.count, model: request.model, memory: memoryOf(form, "memory"),
            lifetime: seconds(timeOf(form, "lifetime")), share: request.share, consent: form.has("consent"),
            preemptible: textOf(form, "preemptible"),
        };
        if (form.has("linger"))
            await this.keeping.linger();
        const wait = (/** @type {FormData} */ chosen) => this.#run({...wish, wait: seconds(timeOf(chosen, "timeout") ?? DAY)}, request);
        if (waits)
            await wait(form);
        else
            await this.#run({...wish, wait: ""}, request, wait);
    }

    /** Starts an environment, and returns when it is there.
     * @param {import("./starting.js").Wish} wish @param {import("./refusals.js").Request} request
     * @param {Waiting} [wait] */
    async #run(wish, request, wait) {
        const before = new Set(this.machine().mine.map(environment => environment.id));
        const started = this.keeping.run((unit, file) => startCommand(unit, file, wish));
        const appeared = this.#appears(before);
        const id = await Promise.race([appeared.promise, started.then(() => "")]).finally(appeared.stop).catch(error => {
            throw this.#refused(error, request, wait);
        });
        announce(wish.wait ? _("The environment has started and waits in the queue if too few GPUs are free.") : _("The environment has started."));
        this.#report(started, id, wish.wait ? request : null);
    }

    /** Resolves with the id of a new environment of the user.
     * @param {Set<string>} before */
    #appears(before) {
        let timer = 0;
        /** @type {Promise<string>} */
        const promise = new Promise(resolve => {
            timer = globalThis.setInterval(() => {
                const found = this.machine().mine.find(environment => !before.has(environment.id));
                if (found)
                    resolve(found.id);
            }, 50);
        });
        return {promise, stop: () => globalThis.clearInterval(timer)};
    }

    /** @param {import("./model.js").Waiter} waiter */
    leave(waiter) {
        const cancel = () => this.#call(waiter.mine, MANAGE, "CancelWait", "t", [waiter.ticket]);
        if (waiter.mine) {
            this.left.add(waiter.environment);
            this.#now(cancel, _("You left the queue."));
            return;
        }
        this.#ask({
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
