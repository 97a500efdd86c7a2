// SPDX-License-Identifier: LGPL-2.1-or-later
// Sentences for requests that the service refuses. The service's own messages are for a terminal and in English.
import {clock, gpus} from "./format.js";
import {_, format, plural} from "./i18n.js";
import {refusing} from "./limits.js";
import {ofModel} from "./model.js";

/** @typedef {{count: number, model: string, share: boolean}} Request `count`: the GPUs that are missing */
/** @typedef {{machine: import("./model.js").Machine, limits: Record<string, [number, number]> | null}} State */
/** @typedef {{sentence: string, question: string}} Refusal `question`: whether to wait; "" if waiting does not help */

const PLACES = [() => _("You would be first."), () => _("You would be second."), () => _("You would be third.")];

/** Returns the moment at which leases have freed enough GPUs for a request that is the first in the queue, or null.
 * @param {Request} request @param {import("./model.js").Machine} machine */
function startOfFirst({count, model}, {devices}) {
    const ends = ofModel(devices, model).filter(device => device.health === "ok").map(device =>
        device.free ? 0 : device.holders.reduce((end, holder) => Math.max(end, holder.expires ?? Infinity), device.holders.length > 0 ? 0 : Infinity));
    const end = ends.sort((a, b) => a - b)[count - 1] ?? Infinity;
    return end > 0 && end < Infinity ? end : null;
}

/** @param {import("./model.js").Machine} machine @param {number | null} [start] of the first in the queue, if known */
function position({queue, isFair}, start = null) {
    if (queue.length === 0 && start !== null)
        return format(_("You would be first, about $0."), clock(start, Date.now()));
    // In a fair order, the place depends on the use of all who wait.
    if (isFair && queue.length > 0)
        return plural("$0 request waits.", "$0 requests wait.", queue.length);
    return PLACES[queue.length]?.() ?? format(_("You would be number $0."), queue.length + 1);
}

/** @param {Request} request @param {import("./model.js").Machine} machine */
function unavailable({count, model}, machine) {
    const free = ofModel(machine.devices, model).filter(device => device.free).length;
    if (free === 0)
        return model ? format(_("No $0 is free."), model) : _("No GPU is free.");
    if (free < count)
        return format(_("Too few GPUs are free: $0 of $1."), free, count);
    return machine.queue.length > 0 ? _("The free GPUs are kept for requests in the queue.") : _("These GPUs are not available now.");
}

/** @param {Request} request @param {import("./limits.js").Limit | null} limit @param {string} wait
 * @returns {Refusal} */
function overLimit({count}, limit, wait) {
    if (!limit)
        return {sentence: _("This is over one of your limits."), question: ""};
    // A request waits until the user has given back enough, unless it alone is over the limit.
    const mayWait = limit.key === "MaxDevicesPerUser" && count > 0 && count <= (limit.allowed ?? 0);
    return {sentence: format(_("This is over your limit. $0: $1 of $2."), limit.label, limit.usedText, limit.allowedText), question: mayWait ? wait : ""};
}

/** Returns the sentence for a failure, and the question that follows.
 * @param {any} error with the name of an error on the bus, or the last part of it @param {Request} request @param {State} state
 * @returns {Refusal} */
export function refusalOf(error, request, {machine, limits}) {
    const name = String(error?.name ?? "").split(".").at(-1);
    const message = error?.message ?? String(error);
    const there = ofModel(machine.devices, request.model).length;
    const waitFor = (/** @type {number | null} */ start) => `${_("Wait in the queue?")} ${position(machine, start)}`;
    const wait = waitFor(null);
    switch (name) {
    case "NotEnoughDevices":
    case "DeviceUnavailable":
        if (request.count === 0)
            return {sentence: message, question: ""};
        if (request.count > there)
            return {sentence: format(request.model ? _("This machine has only $0 of this model.") : _("This machine has only $0."), gpus(there)), question: ""};
        return {sentence: unavailable(request, machine), question: waitFor(startOfFirst(request, machine))};
    case "QuotaExceeded":
        return overLimit(request, refusing(message, limits), wait);
    case "AccessDenied":
    case "InteractiveAuthorizationRequired":
        return request.share ? {sentence: _("Nobody has agreed to share enough GPUs."), question: wait}
            : {sentence: _("You are not allowed to do this. Ask an administrator."), question: ""};
    default:
        return {sentence: message, question: ""};
    }
}
