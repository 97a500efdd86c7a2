// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's own environments, and the queue.
import {age, bytes, clock, gpus, nameOf} from "../format.js";
import {_, format, plural} from "../i18n.js";
import {hasEnded, jobOfEnvironment} from "../job_model.js";
import {h} from "../vdom.js";
import {comebackText, parkedText, parkingBadge, parkingProblem, takingText} from "./parked.js";
import {button, row, section, table} from "./parts.js";

/** @typedef {import("../model.js").Environment} Environment */
/** @typedef {import("./cards.js").Context & import("./jobs.js").Context} Context */

/** @param {Environment} environment @param {number} now */
function lease(environment, now) {
    if (environment.expires === null)
        return "–";
    const left = environment.expires > now ? age(now, environment.expires) : _("less than 1min");
    return [format(_("$0 left"), left), h("small", {class: "state"}, format(_("until $0"), clock(environment.expires, now)))];
}

/** @param {Environment} environment @param {number} now */
function state(environment, now) {
    if (environment.job)
        return format(_("Slurm job $0"), environment.job);
    const waits = environment.waits
        && format(_("waits for $0, place $1 of the queue"), gpus(environment.waits.count), environment.waits.place);
    if (environment.parking.state === "parked")
        return [parkedText(environment, now), comebackText(environment, now), waits].filter(Boolean).join(" · ");
    if (environment.lingering)
        return environment.parking.state === "active" ? _("lingering: its programs still use the GPUs") : "";
    if (environment.parent)
        return format(_("within $0"), environment.parent);
    if (waits)
        return waits;
    return environment.memory > 0 ? format(_("$0 of each GPU"), bytes(environment.memory)) : "";
}

/** @param {Environment} environment @param {Context} context */
function buttons(environment, {actions}) {
    const name = nameOf(environment);
    if (environment.job)
        return environment.expires !== null && [button(_("Extend"), () => actions.extend(environment), format(_("Extend the lease of $0"), name), "small")];
    const indices = environment.attached.map(each => each.index);
    if (environment.parking.state !== "active") {
        return [
            environment.parking.state === "parked" && !environment.waits
                && button(_("Resume"), () => actions.resume(environment), format(_("Resume environment $0"), name), "small"),
            !environment.lingering && button(_("End"), () => actions.end(environment), format(_("End environment $0"), name), "small bad"),
        ];
    }
    return [
        !environment.lingering && button(_("Attach"), () => actions.attach(environment), format(_("Attach GPUs to $0"), name), "small"),
        indices.length > 0 && button(_("Detach"), () => actions.detach(environment, indices), format(_("Detach all GPUs from $0"), name), "small"),
        environment.expires !== null && button(_("Extend"), () => actions.extend(environment), format(_("Extend the lease of $0"), name), "small"),
        environment.parking.can && indices.length > 0
            && button(_("Park"), () => actions.park(environment), format(_("Park environment $0"), name), "small"),
        button(_("End"), () => actions.end(environment), format(_("End environment $0"), name), "small bad"),
    ];
}

/** @param {Context} context */
export function environments(context) {
    const columns = [_("Environment"), _("GPUs"), _("Lease"), ""];
    // Those of jobs come and go, and are among the jobs.
    const unfinished = new Set(context.jobs.list.filter(job => !hasEnded(job)).map(job => job.number));
    const own = context.machine.mine.filter(environment => !unfinished.has(jobOfEnvironment(environment.id) ?? -1));
    const ofJobs = context.machine.mine.length - own.length;
    const rows = own.map(environment => row(environment.id, columns, [
        [h("b", {}, nameOf(environment)), environment.name && h("small", {}, ` (${environment.id})`), " ", parkingBadge(environment),
            h("small", {class: "state"}, ` ${state(environment, context.now)}`), parkingProblem(environment)],
        environment.attached.map(each => each.index).join(", ") || "–",
        lease(environment, context.now),
        /** @type {any} */ (buttons(environment, context) || ""),
    ]));
    return section("environments", _("My environments"),
        [button(_("Start environment"), () => context.actions.start(false), _("Start environment"), "primary")],
        [rows.length > 0 ? table(_("My environments"), columns, rows)
            : h("p", {key: "none", class: "nothing"}, _("No environments. Start one here, or with \"genvctl activate\" in a shell.")),
        ofJobs > 0 && h("p", {key: "jobs", class: "nothing"}, plural("$0 more belongs to your jobs.", "$0 more belong to your jobs.", ofJobs))]);
}

/** @param {Context} context */
export function queue(context) {
    const columns = ["#", _("User"), _("Environment"), _("Waits for"), _("Waiting"), ""];
    const rows = context.machine.queue.map(waiter => row(waiter.ticket, columns, [
        waiter.place, waiter.mine ? h("b", {}, waiter.user) : waiter.user, waiter.name || waiter.environment,
        [gpus(waiter.count), (waiter.taking || waiter.resumes) && h("small", {class: "state"}, ` ${takingText(waiter) || _("to go on")}`)],
        waiter.since === null ? "–" : age(waiter.since, context.now),
        (waiter.mine || context.mayDetach) && button(waiter.mine ? _("Leave") : _("Remove"), () => context.actions.leave(waiter),
            waiter.mine ? format(_("Leave place $0 of the queue"), waiter.place) : format(_("Remove $0 from the queue"), waiter.user), "small"),
    ]));
    return section("queue", _("Queue"),
        [button(_("Join queue"), () => context.actions.start(true), _("Join queue"), "secondary")],
        [rows.length > 0 ? table(_("Queue"), columns, rows) : h("p", {key: "none", class: "nothing"}, _("The queue is empty.")),
            context.machine.isFair && h("p", {key: "order", class: "nothing"}, _("The queue is in fair order: users who have used less come first."))]);
}
