// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's own jobs.
import {duration} from "../format.js";
import {_, format, plural} from "../i18n.js";
import {hasEnded, isScript, ordered, runTime} from "../job_model.js";
import {jobWords} from "../job_words.js";
import {h} from "../vdom.js";
import {button, row, section, table} from "./parts.js";

/** @typedef {import("../job_model.js").Job} Job */
/** @typedef {{jobs: import("../jobs.js").Jobs, jobActions: import("../job_actions.js").JobActions, now: number}} Context */

const SHOWN = 100;

/** Shows the parts of an array.
 * @param {Job} job @param {string} text */
export function progressBar(job, text) {
    const parts = /** @type {[string, number][]} */ ([["done", job.done], ["running", job.running], ["failed", job.failed], ["canceled", job.canceled]]);
    let x = 0;
    const drawn = parts.filter(([, count]) => count > 0).map(([part, count]) => {
        const width = 100 * count / job.tasks;
        x += width;
        return h("rect", {key: part, class: part, x: x - width, width, height: 4});
    });
    return h("svg", {class: "bar progress", viewBox: "0 0 100 4", preserveAspectRatio: "none", role: "progressbar", "aria-label": format(_("Progress of job $0"), job.number),
        "aria-valuemin": 0, "aria-valuemax": job.tasks, "aria-valuenow": job.tasks - job.waiting - job.running, "aria-valuetext": text},
    h("rect", {key: "track", class: "track", width: 100, height: 4}), ...drawn);
}

/** @param {Job} job @param {number} now */
export function state(job, now) {
    const text = jobWords(job, now);
    const isBad = job.failed > 0 || job.state === "failed" || job.state === "lost";
    return [job.isArray && progressBar(job, text), h("span", {key: "text", class: isBad ? "failed" : null}, text)];
}

/** @param {Job} job @param {Context} context */
function buttons(job, {jobActions: actions}) {
    const named = (/** @type {string} */ label) => format(label, `${job.number} (${job.name})`);
    const waits = job.waiting > 0;
    // The list does not say how many of an array's tasks are held while others run.
    return [
        button(_("Output"), () => actions.show(job), named(_("Output of job $0")), "small"),
        waits && job.state !== "held" && button(_("Hold"), () => actions.change("Hold", job), named(_("Hold job $0")), "small"),
        waits && job.state !== "waiting" && button(_("Release"), () => actions.change("Release", job), named(_("Release job $0")), "small"),
        (hasEnded(job) || job.failed + job.canceled > 0 || job.running > 0)
            && button(_("Requeue"), () => actions.change("Requeue", job), named(_("Requeue job $0")), "small"),
        !hasEnded(job) && button(_("Cancel"), () => actions.change("Cancel", job), named(_("Cancel job $0")), "small bad"),
    ];
}

/** @param {Context} context */
function list(context) {
    const columns = [_("Job"), _("Name"), _("GPUs"), _("Time"), _("State"), ""];
    const all = ordered(context.jobs.list);
    const rows = all.slice(0, SHOWN).map(job => {
        const time = runTime(job, context.now);
        const isNamed = job.name !== job.command && !isScript(job);
        return row(job.number, columns, [job.number, [h("b", {}, job.name), isNamed && h("small", {class: "state"}, job.command)], job.gpus,
            time === null ? "–" : duration(time / 1000), state(job, context.now), /** @type {any} */ (buttons(job, context))]);
    });
    const left = all.length - rows.length;
    return [table(_("My jobs"), columns, rows),
        left > 0 && h("p", {key: "left", class: "nothing"}, plural("$0 more job: \"genvctl jobs\" lists it.", "$0 more jobs: \"genvctl jobs\" lists them.", left))];
}

/** Returns the sentence in place of the list.
 * @param {Context} context */
function trouble({jobs}) {
    const again = button(_("Try again"), () => jobs.start(), _("Try again"), "small");
    if (jobs.phase === "no-manager")
        return [h("p", {key: "why"}, _("No jobs can run: they need systemd's user manager, which your login does not have here. As root, install the "
            + "package dbus-user-session, then log in again. A container without systemd has no such manager; there, "
            + "\"nohup genvctl run --wait -- COMMAND &\" keeps a command.")), again];
    return [h("p", {key: "why"}, jobs.problem), again];
}

/** @param {Context} context */
export function jobs(context) {
    const {phase, all} = context.jobs;
    const isReady = phase === "ready";
    const tools = isReady ? [
        h("button", {key: "all", type: "button", class: "link", "aria-pressed": String(all), onclick: () => context.jobs.show(!all)}, _("Earlier jobs")),
        button(_("Submit job"), () => context.jobActions.submit(), _("Submit job"), "secondary")] : [];
    const content = phase === "connecting" ? [h("p", {key: "reading", class: "nothing"}, _("Reading your jobs…"))]
        : !isReady ? trouble(context)
            : context.jobs.list.length > 0 ? list(context)
                : [h("p", {key: "none", class: "nothing"}, all ? _("No jobs. Submit one here, or with \"genvctl submit -- COMMAND\" in a shell.")
                    : _("No job waits, runs or has ended in the last day. Submit one here, or with \"genvctl submit -- COMMAND\" in a shell."))];
    return section("jobs", _("My jobs"), tools, content, "wide");
}
