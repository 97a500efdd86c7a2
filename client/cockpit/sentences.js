// SPDX-License-Identifier: LGPL-2.1-or-later
// Sentences for the events of the history, in the language of the page. The service's own sentences are in English.
import {bytes, duration, gpuList, gpus, isolationOf} from "./format.js";
import {_, format, plural} from "./i18n.js";

/** @typedef {Record<string, any>} Event as returned by ListEvents */

const REASONS = /** @type {Record<string, () => string>} */ ({
    "process-exit": () => _("its last process ended"), expired: () => _("the lease ended"), idle: () => _("it was idle for too long"),
    "device-lost": () => _("the driver no longer finds it"), job: () => _("by Slurm"), parked: () => _("it was parked"), taken: () => _("for another request"),
    preempted: () => _("for another request"), timeout: () => _("the timeout expired"),
    cancelled: () => _("canceled"), refused: () => _("refused"),
});

const ERRORS = /** @type {Record<string, () => string>} */ ({
    AccessDenied: () => _("not permitted"), InteractiveAuthorizationRequired: () => _("it needs an administrator's password"),
    QuotaExceeded: () => _("over a limit"), LimitsExceeded: () => _("the service had no room for it"),
});

const HEALTH = /** @type {Record<string, (device: string) => string>} */ ({
    ok: device => format(_("$0 works again"), device), stale: device => format(_("The driver does not answer for $0"), device),
    lost: device => format(_("The driver no longer finds $0"), device),
});

/** @param {string} name such as dev.genv.Manager.Activate */
const lastPart = name => name.slice(name.lastIndexOf(".") + 1);
/** @param {number} microseconds */
const span = microseconds => duration(microseconds / 1_000_000);
/** @param {Event} event */
const devices = event => gpuList(event.devices ?? (event.device === undefined ? [] : [event.device]));
/** @param {Event} event */
const userOf = event => event.user ?? (event.uid === undefined ? "" : String(event.uid));

/** Returns the environment with its owner, or the owner alone.
 * @param {Event} event */
function whose(event) {
    const name = event.name || (event.job === undefined ? event.environment : format(_("Slurm job $0"), event.job));
    return name && userOf(event) ? format(_("$0 of $1"), name, userOf(event)) : name || userOf(event);
}

/** Returns the user who made the request, with the login behind root: "root (alice)".
 * @param {Event} event */
function callerOf(event) {
    const login = event["caller-login-user"] ?? event["caller-login"];
    const name = event["caller-user"] ?? String(event.caller);
    return login === undefined ? name : `${name} (${login})`;
}

/** Returns the cause of an event, or "" for the owner's own request.
 * @param {Event} event */
function cause(event) {
    const {reason = ""} = event;
    if (reason.startsWith("rule:"))
        return format(_("by the rule $0"), reason.slice("rule:".length));
    if (reason !== "" && reason !== "admin" && reason !== "user")
        return REASONS[reason]?.() ?? reason;
    return event["caller-user"] === undefined || event.caller === event.uid ? "" : format(_("by $0"), callerOf(event));
}

/** @param {Event} event */
function health(event) {
    const state = String(event.health ?? "");
    return state.startsWith("xid-") ? format(_("The driver reported an error of $0: XID $1"), devices(event), state.slice("xid-".length))
        : HEALTH[state]?.(devices(event)) ?? null;
}

/** @param {Event} event */
function refusal(event) {
    const error = lastPart(event.error ?? "");
    const caller = event.caller === undefined ? "–" : callerOf(event);
    const method = lastPart(event.method ?? "");
    const reason = ERRORS[error]?.() ?? error;
    return whose(event) ? format(_("$0 was refused $1 on $2: $3"), caller, method, whose(event), reason)
        : format(_("$0 was refused $1: $2"), caller, method, reason);
}

/** A sentence for each kind of event; null if the event lacks a necessary field. */
const SENTENCES = /** @type {Record<string, (event: Event) => string | null>} */ ({
    "environment-started": event => format(_("Environment $0 started"), whose(event)),
    "environment-ended": event => format(_("Environment $0 ended"), whose(event)),
    lingering: event => format(_("Environment $0 lingers on $1: PID $2"), whose(event), devices(event), [event.pids ?? event.pid].flat().join(", ")),
    attached: event => event.share === undefined ? format(_("$0 attached to $1"), devices(event), whose(event))
        : format(_("$0 of $1 attached to $2"), bytes(event.share), devices(event), whose(event)),
    detached: event => event.held === undefined ? format(_("$0 detached from $1"), devices(event), whose(event))
        : format(_("$0 detached from $1 after $2"), devices(event), whose(event), span(event.held)),
    "in-use": event => format(_("$0 uses $1"), whose(event), devices(event)),
    idle: event => format(_("$0 has not used $1 for $2"), whose(event), devices(event), span(event.time - event.since)),
    "wait-started": event => format(_("$0 waits for $1"), whose(event), gpus(event.count)),
    "wait-granted": event => format(_("$0 got $1 after waiting $2"), whose(event), devices(event), span(event.waited)),
    "wait-ended": event => format(_("$0 stopped waiting for $1 after $2"), whose(event), gpus(event.count), span(event.waited)),
    "process-terminated": event => format(_("Process $0 ($1) of $2 on $3 was told to end"), event.pid, event.command ?? "–", userOf(event),
        devices(event)),
    refused: refusal,
    "policy-changed": event => format(_("The configuration changed: $0"), event.settings),
    "lease-ending": event => event.device === undefined ? format(_("The lease of $0 ends in $1"), whose(event), span(event.left))
        : format(_("The lease of $0 on $1 ends in $2"), whose(event), devices(event), span(event.left)),
    "rule-warning": event => event.left ? format(_("The rule $0 warned $1 and acts in $2"), event.rule, whose(event), span(event.left))
        : format(_("The rule $0 warned $1"), event.rule, whose(event)),
    "device-health": health,
    "device-added": event => format(_("$0 was added: $1"), devices(event), event.model),
    "device-removed": event => format(_("$0 was removed: $1"), devices(event), event.model),
    "open-refused": event => format(_("$0 of $1 to open $2 without holding it"), plural("$0 attempt", "$0 attempts", event.count),
        userOf(event), devices(event)),
    parked: event => event["taker-user"] === undefined
        ? format(_("$0 was parked: $1 in host memory, $2 free"), whose(event), bytes(event.memory), devices(event))
        : format(_("$0 was parked for $1: $2 in host memory, $3 given up"), whose(event), event["taker-user"], bytes(event.memory), devices(event)),
    "taking-began": event => format(_("$0 takes $1 on loan: $2 moves in about $3"), whose(event), devices(event), bytes(event.memory), span(event.left)),
    "taking-ended": event => event.problem === undefined ? format(_("$0 has the GPUs that it took"), whose(event))
        : format(_("$0 takes no GPUs: $1"), whose(event), event.problem),
    "loan-ending": event => format(_("$0 cannot be parked for $1 and ends in $2"), whose(event), event["taker-user"] ?? "–", span(event.left)),
    resumed: event => format(_("$0 goes on on $1 after $2"), whose(event), devices(event), span(event.took)),
    "parking-failed": event => format(_("$0 was not parked: $1"), whose(event), event.problem),
    "resume-delayed": event => format(_("$0 cannot go on yet: $1"), whose(event), event.problem),
    "process-lost": event => format(_("Process $0 ($1) of $2 is lost: $3"), event.pid, event.command ?? "–", whose(event), event.problem),
    "parked-long": event => format(_("$0 was parked for too long and ends in $1"), whose(event), span(event.left)),
    "isolation-changed": event => format(_("Isolation changed: $0"), isolationOf(event.isolation)),
});

/** Returns the sentence for an event. For a kind that this page does not know, that is the service's own.
 * @param {Event} event
 * @returns {string} */
export function sentence(event) {
    const text = Object.hasOwn(SENTENCES, event.kind) ? SENTENCES[event.kind](event) : null;
    if (text === null)
        return event.message;
    const why = event.kind === "refused" ? "" : cause(event);
    return why ? `${text} · ${why}` : text;
}
