// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects the parts: the state of the service goes into the model, and the model is drawn on the page.
import {Actions} from "./actions.js";
import {MANAGE, READ_HISTORY, TERMINATE} from "./bus.js";
import {announce} from "./dialogs.js";
import {gpuList} from "./format.js";
import {History} from "./history.js";
import {_, format, language} from "./i18n.js";
import {JobActions} from "./job_actions.js";
import {jobOfEnvironment} from "./job_model.js";
import {Jobs} from "./jobs.js";
import {Keeping} from "./keeping.js";
import {Live} from "./live.js";
import {machineOf, models} from "./model.js";
import {People} from "./people.js";
import {followTheme} from "./theme.js";
import {render} from "./vdom.js";
import {page} from "./views/page.js";

/** @type {any} */
const cockpit = /** @type {any} */ (globalThis).cockpit;
const NARROW = globalThis.matchMedia("(max-width: 600px)"); // as in the style sheets
const SLOW = 500; // the delay in ms between a change and the slow requests about it
const REASONS = /** @type {Record<string, () => string>} */ ({
    admin: () => _("an administrator detached it"), expired: () => _("the lease ended"), idle: () => _("it was idle for too long"),
    "device-lost": () => _("the driver no longer finds it"), job: () => _("Slurm gave it to a job"),
});

class Page {
    /** @param {any} user */
    constructor(user) {
        this.uid = user.id;
        this.live = new Live(cockpit, {
            onChange: () => this.draw(), onEvent: () => this.readSoon(), onReady: () => this.#onReady(),
            onNotice: args => this.#onNotice(args), onQueue: () => this.jobs.onQueue(),
        });
        this.bus = this.live.bus;
        this.history = new History(this.bus);
        this.people = new People(cockpit, this.bus, user.id);
        this.keeping = new Keeping(cockpit, user);
        this.actions = new Actions(this.bus, this.keeping, () => ({machine: this.machine(), limits: this.people.mine}));
        this.jobs = new Jobs(cockpit, () => this.draw());
        this.jobActions = new JobActions(cockpit, user, this.jobs, () => models(this.machine()));
        this.isDrawn = false;
        this.soon = 0;
        this.bus.permission.addEventListener("changed", () => this.#onPermission());
    }

    start() {
        this.keeping.look();
        this.live.start();
        this.jobs.start();
        document.addEventListener("visibilitychange", () => {
            this.readSoon();
            this.jobs.onVisible();
        });
        NARROW.addEventListener("change", () => this.draw());
        this.draw();
    }

    machine() {
        return machineOf({store: this.live.store, processes: this.live.processes, queue: this.live.queue,
            history: this.live.readings.points, uid: this.uid});
    }

    #isAdministrator() {
        return this.bus.permission.allowed === true;
    }

    async #onReady() {
        await this.bus.readRights();
        this.#onPermission();
    }

    #onPermission() {
        const everybody = this.bus.mayDo(READ_HISTORY);
        if (everybody !== this.history.everybody)
            this.history.reset(everybody);
        this.readSoon(0);
        this.draw();
    }

    /** Reads history and limits, which is slower than a signal: once for many changes, and only while the page is visible. */
    readSoon(delay = SLOW) {
        if (document.hidden || this.soon)
            return;
        this.soon = globalThis.setTimeout(async () => {
            this.soon = 0;
            if (this.live.phase !== "ready")
                return;
            await Promise.allSettled([this.history.read(), this.people.readMine(), this.#readEverybody()]);
            this.draw();
        }, delay);
    }

    async #readEverybody() {
        if (this.#isAdministrator())
            await this.people.readEverybody(this.machine().users, this.live.store.manager.LimitedUsers ?? []);
    }

    /** @param {any[]} args */
    #onNotice([uid, kind, environment, details]) {
        if (uid !== this.uid)
            return;
        const name = details.name?.v || environment;
        if (kind === "granted" && jobOfEnvironment(environment) === null) // the list of jobs shows theirs
            announce(format(_("$0 got $1."), name, gpuList(details.devices.v)));
        else if (kind === "detached")
            announce(format(_("$0 lost GPU $1: $2"), name, details.device.v, REASONS[details.reason.v]?.() ?? details.reason.v), true);
        else if (kind === "warning")
            announce(details.message.v, true);
    }

    /** Draws the page at the next frame, once for many changes. */
    draw() {
        if (this.isDrawn)
            return;
        this.isDrawn = true;
        globalThis.requestAnimationFrame(() => {
            this.isDrawn = false;
            this.#draw();
        });
    }

    #draw() {
        render(document.getElementById("page"), page({
            machine: this.machine(), now: Date.now(), uid: this.uid, phase: this.live.phase, problem: this.live.problem,
            isAdministrator: this.#isAdministrator(), isNarrow: NARROW.matches,
            mayDetach: this.bus.mayDo(MANAGE), mayTerminate: this.bus.mayDo(TERMINATE),
            actions: this.actions, jobs: this.jobs, jobActions: this.jobActions, history: this.history, limits: this.people.mine, everybody: this.people.everybody,
        }));
        document.body.dataset.phase = this.live.phase;
    }
}

followTheme();
document.documentElement.lang = language();
document.title = _("GPUs");
cockpit.user().then((/** @type {any} */ user) => new Page(user).start());
