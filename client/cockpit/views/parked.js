// SPDX-License-Identifier: LGPL-2.1-or-later
// What is said of environments that are parked, are being parked, or resume, and the table of those of other users.
import {age, bytes, clock, duration, gpuList} from "../format.js";
import {_, format} from "../i18n.js";
import {h} from "../vdom.js";
import {button, row, section, table} from "./parts.js";

/** @typedef {import("../model.js").Environment} Environment */
/** @typedef {import("./cards.js").Context} Context */

/** @param {Environment} environment */
function badgeText({parking: {state, moved, total, takenBy}}) {
    if (state === "active")
        return _("on loan");
    if (state === "parked")
        return takenBy ? format(_("parked for $0"), takenBy) : _("parked");
    if (state === "parking" && takenBy)
        return total > 0 ? format(_("parking for $0: $1 of $2"), takenBy, bytes(moved), bytes(total)) : format(_("parking for $0"), takenBy);
    if (state === "parking")
        return total > 0 ? format(_("parking: $0 of $1"), bytes(moved), bytes(total)) : _("parking");
    return total > 0 ? format(_("resuming: $0 of $1"), bytes(moved), bytes(total)) : _("resuming");
}

/** Whether others may take the GPUs of an environment.
 * @param {Environment} environment */
export const isOnLoan = ({parking, preemptible, attached}) => parking.state === "active" && preemptible !== "no" && attached.length > 0;

/** Returns a badge, or null for an environment that is active and keeps its GPUs.
 * @param {Environment} environment */
export const parkingBadge = environment => environment.parking.state === "active" && !isOnLoan(environment) ? null
    : h("span", {key: "parking", class: "badge parked"}, badgeText(environment));

/** Returns what an environment keeps and gave up, or "" if it is not parked.
 * @param {Environment} environment @param {number} now */
export function parkedText({parking: {state, memory, since, gpus}}, now) {
    if (state !== "parked")
        return "";
    return since === null ? format(_("$0 in host memory; it had $1"), bytes(memory), gpuList(gpus))
        : format(_("$0 in host memory since $1; it had $2"), bytes(memory), clock(since, now), gpuList(gpus));
}

/** Returns why an environment is parked if nobody parked it by hand, and when it goes on by itself.
 * @param {Environment} environment @param {number} now */
export function comebackText({parking: {state, reason}, waits}, now) {
    if (state !== "parked")
        return "";
    const why = reason === "idle" ? _("its GPUs were idle") : reason === "expired" ? _("its lease ended") : "";
    const back = !waits?.resumes ? "" : waits.expected === null ? _("it goes on by itself when they are free again")
        : format(_("it goes on by itself, about $0"), clock(waits.expected, now));
    return [why, back].filter(Boolean).join(" · ");
}

/** Returns what is parked for a request, or "".
 * @param {import("../model.js").Waiter} waiter */
export const takingText = ({taking}) => taking === null ? ""
    : format(_("parking $0: $1, about $2"), taking.names.join(", "), bytes(taking.bytes), duration(taking.seconds));

/** Returns why parking failed, or what is in the way of a resume. The words are the service's.
 * @param {Environment} environment */
export const parkingProblem = ({parking: {state, problem}}) => problem === "" ? null
    : h("p", {key: "problem", class: "alert"}, state === "active" ? format(_("Not parked: $0"), problem) : problem);

/** The parked environments of other users hold host memory, and wait for nobody's attention but an administrator's.
 * @param {Context} context */
export function parkedOfOthers({machine, now, mayDetach, actions}) {
    const parked = machine.environments.filter(environment => !environment.mine && environment.parking.state !== "active");
    if (parked.length === 0)
        return null;
    const columns = [_("User"), _("Environment"), _("GPUs"), _("Host memory"), _("Parked for"), ""];
    const rows = parked.map(environment => {
        const {state, gpus, memory, since} = environment.parking;
        const name = environment.name || environment.id;
        return row(environment.id, columns, [
            environment.user, [name, " ", parkingBadge(environment), h("small", {class: "state"}, ` ${comebackText(environment, now)}`)], gpus.join(", ") || "–", bytes(memory),
            since === null || state !== "parked" ? "–" : age(since, now),
            mayDetach && state === "parked" && button(_("Resume"), () => actions.resumeOfOther(environment),
                format(_("Resume $0 of $1"), name, environment.user), "small"),
        ]);
    });
    return section("parked", _("Parked environments of others"), [], [table(_("Parked environments of others"), columns, rows)]);
}
