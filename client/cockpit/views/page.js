// SPDX-License-Identifier: LGPL-2.1-or-later
// The whole page, or the sentence that replaces it.
import {gpus, isolationOf} from "../format.js";
import {_, format, plural} from "../i18n.js";
import {totals} from "../model.js";
import {h} from "../vdom.js";
import {VERSION, isOlder} from "../version.js";
import {MANY, cards, list} from "./cards.js";
import {environments, queue} from "./environments.js";
import {jobs} from "./jobs.js";
import {everybody, mine} from "./limits.js";
import {parkedOfOthers} from "./parked.js";
import {button} from "./parts.js";
import {events, usage} from "./past.js";

/** @typedef {import("./past.js").Context & import("./jobs.js").Context & {phase: import("../live.js").Phase, problem: string, isAdministrator: boolean, isNarrow: boolean,
 *   limits: import("./limits.js").Limits | null, everybody: Map<string, import("./limits.js").Limits>}} Context */

/** @param {Context} context */
function heading({machine}) {
    const {gpus: count, free, outside, waiting} = totals(machine);
    const parts = [gpus(count), format(_("$0 free"), free), outside > 0 && format(_("$0 in use outside genv"), outside),
        waiting > 0 && plural("$0 request waits", "$0 requests wait", waiting),
        isolationOf(machine.isolation), machine.driver && format(_("driver $0"), machine.driver)];
    return h("header", {key: "heading", class: "heading"}, h("h1", {}, _("GPUs")), h("p", {}, parts.filter(Boolean).join(" · ")));
}

/** @param {Context} context */
function phaseView({phase, problem, actions}) {
    if (phase === "connecting")
        return h("div", {key: "phase", class: "panel empty"}, h("h1", {}, _("GPUs")), h("p", {}, _("Connecting to genv…")));
    const [title, text] = phase === "no-service"
        ? [_("genv is not running"), _("The service genvd does not answer. This page returns by itself when it does. "
            + "For details, run \"systemctl status genvd\".")]
        : [_("No connection to the system bus"), _("This page tries again by itself. If that does not help, log in again.")];
    return h("div", {key: "phase", class: "panel empty", role: "alert"}, h("h1", {}, title), h("p", {}, text),
        problem && h("p", {key: "problem"}, h("small", {}, problem)),
        phase === "no-service" && button(_("Start it"), () => actions.startService(), _("Start it"), "primary"));
}

/** @param {Context} context
 * @returns {import("../vdom.js").Child[]} */
export function page(context) {
    if (context.phase !== "ready")
        return [phaseView(context)];
    const isMany = context.machine.devices.length > MANY;
    return [
        heading(context),
        // After an upgrade, a page that was open or that the browser has kept is older than the service.
        isOlder(VERSION, context.machine.version) && h("p", {key: "old", class: "alert", role: "status"},
            format(_("genv was upgraded to version $0. This page has version $1."), context.machine.version, VERSION), " ",
            button(_("Reload"), () => context.actions.reloadPage(), _("Reload")), " ",
            h("small", {}, _("If this message stays, upgrade the package cockpit-genv."))),
        // Where the GPUs fill more than a screen, the actions come first.
        isMany && h("div", {key: "actions", class: "panels first"}, environments(context), queue(context)),
        context.isNarrow && isMany ? list(context) : cards(context),
        h("div", {key: "panels", class: "panels"},
            ...isMany ? [] : [environments(context), queue(context)], parkedOfOthers(context), jobs(context), usage(context), mine(context.limits), events(context),
            context.isAdministrator && everybody(context.everybody)),
    ];
}
