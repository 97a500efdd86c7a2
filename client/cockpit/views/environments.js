// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's own environments, and the queue.
import {age, bytes, clock, gpus, nameOf} from "../format.js";
import {_, format} from "../i18n.js";
import {h} from "../vdom.js";
import {button, row, section, table} from "./parts.js";

/** @typedef {import("../model.js").Environment} Environment */
/** @typedef {import("./cards.js").Context} Context */

/** @param {Environment} environment @param {number} now */
function lease(environment, now) {
    if (environment.expires === null)
        return "–";
    const left = environment.expires > now ? age(now, environment.expires) : _("less than 1min");
    return [format(_("$0 left"), left), h("small", {class: "state"}, format(_("until $0"), clock(environment.expires, now)))];
}

/** @param {Environment} environment */
function state(environment) {
    if (environment.job)
        return format(_("Slurm job $0"), environment.job);
    if (environment.lingering)
        return _("lingering: its programs still use the GPUs");
    if (environment.parent)
        return format(_("within $0"), environment.parent);
    if (environment.waits)
        return format(_("waits for $0, place $1 of the queue"), gpus(environment.waits.count), environment.waits.place);
    return environment.memory > 0 ? format(_("$0 of each GPU"), bytes(environment.memory)) : "";
}

/** @param {Environment} environment @param {Context} context */
function buttons(environment, {actions}) {
    const name = nameOf(environment);
    if (environment.job)
        return environment.expires !== null && [button(_("Extend"), () => actions.extend(environment), format(_("Extend the lease of $0"), name), "small")];
    const indices = environment.attached.map(each => each.index);
    return [
        !environment.lingering && button(_("Attach"), () => actions.attach(environment), format(_("Attach GPUs to $0"), name), "small"),
        indices.length > 0 && button(_("Detach"), () => actions.detach(environment, indices), format(_("Detach all GPUs from $0"), name), "small"),
        environment.expires !== null && button(_("Extend"), () => actions.extend(environment), format(_("Extend the lease of $0"), name), "small"),
        button(_("End"), () => actions.end(environment), format(_("End environment $0"), name), "small bad"),
    ];
}

/** @param {Context} context */
export function environments(context) {
    const columns = [_("Environment"), _("GPUs"), _("Lease"), ""];
    const rows = context.machine.mine.map(environment => row(environment.id, columns, [
        [h("b", {}, nameOf(environment)), environment.name && h("small", {}, ` (${environment.id})`), h("small", {class: "state"}, ` ${state(environment)}`)],
        environment.attached.map(each => each.index).join(", ") || "–",
        lease(environment, context.now),
        /** @type {any} */ (buttons(environment, context) || ""),
    ]));
    return section("environments", _("My environments"),
        [button(_("Start environment"), () => context.actions.start(false), _("Start environment"), "primary")],
        [rows.length > 0 ? table(_("My environments"), columns, rows)
            : h("p", {key: "none", class: "nothing"}, _("No environments. Start one here, or with \"genvctl activate\" in a shell."))]);
}

/** @param {Context} context */
export function queue(context) {
    const columns = ["#", _("User"), _("Environment"), _("Waits for"), _("Waiting"), ""];
    const rows = context.machine.queue.map(waiter => row(waiter.ticket, columns, [
        waiter.place, waiter.mine ? h("b", {}, waiter.user) : waiter.user, waiter.name || waiter.environment, gpus(waiter.count),
        waiter.since === null ? "–" : age(waiter.since, context.now),
        (waiter.mine || context.mayDetach) && button(waiter.mine ? _("Leave") : _("Remove"), () => context.actions.leave(waiter),
            waiter.mine ? format(_("Leave place $0 of the queue"), waiter.place) : format(_("Remove $0 from the queue"), waiter.user), "small"),
    ]));
    return section("queue", _("Queue"),
        [button(_("Join queue"), () => context.actions.start(true), _("Join queue"), "secondary")],
        [rows.length > 0 ? table(_("Queue"), columns, rows) : h("p", {key: "none", class: "nothing"}, _("The queue is empty.")),
            context.machine.isFair && h("p", {key: "order", class: "nothing"}, _("The queue is in fair order: users who have used less come first."))]);
}
