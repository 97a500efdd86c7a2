// SPDX-License-Identifier: LGPL-2.1-or-later
// The actions on jobs. Each makes a call, after a dialog if work would be lost.
import {announce, ask, view} from "./dialogs.js";
import {area, choice, field, memoryField, memoryOf, more, preemptibleField, textOf, timeField, timeOf} from "./fields.js";
import {_, format, plural} from "./i18n.js";
import {lost} from "./job_model.js";
import {JobWatch} from "./job_watch.js";
import {NO_FOLDER, commandIn, submitCommand, submitError} from "./submitting.js";
import {h} from "./vdom.js";
import {details, detailTitle} from "./views/job.js";

/** @typedef {import("./job_model.js").Job} Job */
/** @typedef {"Cancel" | "Hold" | "Release" | "Requeue"} Change */

const NO_PROGRAM = 127;

// What is said after each, and why no task was concerned.
const SENTENCES = /** @type {Record<Change, [(count: number) => string, () => string]>} */ ({
    Cancel: [count => plural("$0 task canceled.", "$0 tasks canceled.", count), () => _("Nothing was canceled: the job has ended.")],
    Hold: [count => plural("$0 task held.", "$0 tasks held.", count), () => _("Nothing was held: no task of the job waits.")],
    Release: [count => plural("$0 task released.", "$0 tasks released.", count), () => _("Nothing was released: no task of the job is held.")],
    Requeue: [count => plural("$0 task requeued.", "$0 tasks requeued.", count), () => _("Nothing was requeued: no task of the job can run again.")],
});

export class JobActions {
    /** @param {any} cockpit @param {any} user as returned by cockpit.user() @param {import("./jobs.js").Jobs} jobs
     * @param {() => string[]} models of the machine's GPUs */
    constructor(cockpit, user, jobs, models) {
        this.cockpit = cockpit;
        this.user = user;
        this.jobs = jobs;
        this.models = models;
        /** The folder of the last job. */
        this.folder = user.home;
    }

    /** @param {Change} member @param {Job} job */
    async #change(member, job) {
        const count = await this.jobs.change(member, job.number);
        const [done, nothing] = SENTENCES[member];
        announce(count > 0 ? format(_("Job $0: $1"), job.number, done(count)) : nothing());
    }

    /** Makes the change, after a question if work is lost.
     * @param {Change} member @param {Job} job */
    change(member, job) {
        const {running, done} = lost(job, member);
        if (running === 0 && done === 0) {
            this.#change(member, job).catch(error => announce(error.message ?? String(error), true));
            return;
        }
        const cancels = member === "Cancel";
        ask({
            title: format(cancels ? _("Cancel job $0?") : _("Run job $0 again?"), `${job.number} (${job.name})`),
            body: [h("p", {}, running > 0 ? plural("$0 task runs. It is ended, and its work since its start may be lost.",
                "$0 tasks run. They are ended, and their work since their start may be lost.", running)
                : plural("$0 task is done. It runs again, and may replace its results.", "$0 tasks are done. They run again, and may replace their results.", done)),
            cancels && job.waiting > 0 && h("p", {key: "waiting"}, plural("$0 task that waits never starts.", "$0 tasks that wait never start.", job.waiting))],
            action: cancels ? _("Cancel job") : _("Run again"), danger: true,
            submit: () => this.#change(member, job),
        });
    }

    /** Opens the description of a job with its output.
     * @param {Job} job */
    show(job) {
        const watch = new JobWatch(this.cockpit, this.jobs, job.number, () => dialog.draw());
        const dialog = view({
            title: () => detailTitle(watch.job() ?? job),
            body: () => details(watch, watch.job() ?? job, Date.now()),
            onClose: () => watch.close(),
        });
        watch.start();
    }

    submit() {
        /** @type {[string, string][]} */
        const any = [["", _("Any model")]];
        ask({
            title: _("Submit a job"),
            body: [
                area("text", _("Command or script"), _("One line is a command. More lines, or what only a shell can run, are a script, "
                    + "whose first lines may be \"#genv\" options."), {required: true, placeholder: "python train.py --seed {}"}),
                field("folder", _("Folder"), {value: this.folder, required: true}),
                field("name", _("Name"), {maxlength: 64, placeholder: _("such as training")}),
                field("gpus", _("GPUs"), {type: "number", min: 0, placeholder: "1"}),
                memoryField("gpuMemory", _("GPU memory of each"), {placeholder: _("all of it")}),
                field("array", _("Array: a task for each value"), {placeholder: "1-200%8"},
                    _("{} in a command, and $GENV_ARRAY_TASK, stand for the value. %8 runs at most 8 tasks at once.")),
                timeField("lifetime", _("End it after"), {placeholder: _("no limit")}),
                more(_("More options"), [
                    choice("model", _("Model"), any.concat(this.models().map(model => [model, model]))),
                    memoryField("memory", _("Main memory of each task"), {placeholder: _("no limit")}),
                    field("cpus", _("Processors of each task"), {type: "number", min: 1, placeholder: _("no limit")}),
                    field("retries", _("Retries of a task that fails"), {type: "number", min: 0, placeholder: "0"}),
                    field("after", _("After these jobs"), {placeholder: "17,18:any"}),
                    field("begin", _("Begin no earlier than"), {placeholder: "22:00"}),
                    preemptibleField(),
                ]),
            ],
            action: _("Submit"),
            submit: form => this.#submit(form),
        });
    }

    /** @param {FormData} form */
    async #submit(form) {
        const seconds = timeOf(form, "lifetime");
        const text = textOf(form, "text").replaceAll("\r\n", "\n");
        const wish = {
            text, folder: this.#folderOf(textOf(form, "folder")), name: textOf(form, "name"), gpus: textOf(form, "gpus"),
            gpuMemory: memoryOf(form, "gpuMemory"), model: textOf(form, "model"), array: textOf(form, "array"),
            lifetime: seconds === null ? "" : `${seconds}s`, memory: memoryOf(form, "memory"), cpus: textOf(form, "cpus"),
            retries: textOf(form, "retries"), after: textOf(form, "after"), begin: textOf(form, "begin"), preemptible: textOf(form, "preemptible"),
        };
        if (wish.array && text.includes("{}") && commandIn(text) === null)
            throw new Error(_("This is a script, in which {} is not replaced. Write $GENV_ARRAY_TASK for the value of the task."));
        const {command, input} = submitCommand(this.user.shell, wish);
        let result;
        try {
            result = JSON.parse(await this.cockpit.spawn(command, {err: "message"}).input(input));
        } catch (error) {
            throw this.#refused(/** @type {any} */ (error), wish.folder);
        }
        this.folder = wish.folder;
        announce(result.tasks > 1 ? format(_("Job $0 submitted: $1 tasks"), result.job, result.tasks) : format(_("Job $0 submitted"), result.job));
        if (result.lingering === "enabled")
            announce(_("Your jobs go on after you log out."));
        else if (result.lingering === "refused")
            announce(_("Your jobs end when you log out: lingering was refused. Ask an administrator for \"loginctl enable-linger\"."), true);
        await this.jobs.refresh();
    }

    /** @param {string} folder as the user wrote it */
    #folderOf(folder) {
        return folder === "~" || folder.startsWith("~/") ? this.user.home + folder.slice(1) : folder;
    }

    /** @param {any} error @param {string} folder */
    #refused(error, folder) {
        if (error?.exit_status === NO_FOLDER)
            return new Error(format(_("There is no folder $0, or you may not enter it."), folder));
        if (error?.exit_status === NO_PROGRAM)
            return new Error(_("genvctl is missing. Install the package genv."));
        return new Error(submitError(error?.message ?? String(error)));
    }
}
