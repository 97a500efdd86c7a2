// SPDX-License-Identifier: LGPL-2.1-or-later
// A card for each GPU: its holders, its utilization and its processes.
import {age, bytes, clock, percent} from "../format.js";
import {paths, summary, thinned} from "../graph.js";
import {_, format, plural} from "../i18n.js";
import {HOUR} from "../readings.js";
import {h} from "../vdom.js";
import {isOnLoan} from "./parked.js";
import {bar, button} from "./parts.js";

/** @typedef {import("../model.js").Device} Device */
/** @typedef {{now: number, mayDetach: boolean, mayTerminate: boolean, actions: import("../actions.js").Actions,
 *   machine: import("../model.js").Machine}} Context */

const WIDTH = 240;
const HEIGHT = 40;
const GAP = 40_000; // the service takes readings every 10 s
const OLD = 15_000;
/** With more GPUs than this, cards are small, and a list on a phone. */
export const MANY = 8;

const STATES = {
    free: () => _("Free"), held: () => _("In use"), mine: () => _("Yours"), outside: () => _("In use outside genv"),
    slurm: () => _("For Slurm"), lost: () => _("Lost"),
};

/** @param {Device} device */
function healthText(device) {
    if (device.health === "lost")
        return _("The driver no longer finds this GPU.");
    if (device.health === "stale")
        return _("The driver does not answer; these readings are old.");
    if (device.health.startsWith("xid-"))
        return format(_("The driver reported an error of this GPU: XID $0."), device.health.slice(4));
    return device.health === "ok" ? "" : device.health;
}

/** @param {Device} device @param {import("../model.js").Holder} holder @param {Context} context */
function holderView(device, holder, {now, mayDetach, actions, machine}) {
    const details = [];
    if (holder.since !== null)
        details.push(format(_("for $0"), age(holder.since, now)));
    if (holder.share > 0)
        details.push(format(_("$0 of its memory"), bytes(holder.share)));
    if (holder.expires !== null)
        details.push(format(_("until $0"), clock(holder.expires, now)));
    const environment = machine.environments.find(each => each.id === holder.environment);
    if (environment && isOnLoan(environment))
        details.push(_("on loan"));
    if (environment?.parking.state === "parking")
        details.push(environment.parking.takenBy ? format(_("parking for $0"), environment.parking.takenBy) : _("parking"));
    if (environment?.parking.state === "resuming")
        details.push(_("resuming"));
    if (holder.lingering)
        details.push(_("lingering"));
    if (device.lockedBy === holder.environment)
        details.push(_("has the lock"));
    const name = holder.job ? format(_("Slurm job $0"), holder.job) : holder.name || holder.environment;
    const detach = holder.mine && environment
        ? button(_("Detach"), () => actions.detach(environment, [device.index]), format(_("Detach GPU $0 from $1"), device.index, name))
        : mayDetach && button(_("Detach"), () => actions.detachFrom(device, holder),
            format(_("Detach GPU $0 from $1 of $2"), device.index, name, holder.user));
    return h("li", {key: holder.environment}, h("p", {}, h("b", {}, holder.user), " · ", name, " ", h("small", {}, details.join(" · "))),
        holder.job ? null : detach);
}

/** @param {Device} device @param {Context} context */
function holders(device, context) {
    if (device.holders.length > 0)
        return h("ul", {class: "holders"}, ...device.holders.map(holder => holderView(device, holder, context)));
    const outside = [...new Set(device.outsiders.map(process => process.user))].join(", ");
    const text = outside ? format(_("In use by $0, outside genv"), outside)
        : device.unaccounted > 0 ? format(_("$0 in use by no process"), bytes(device.unaccounted))
        : device.slurm ? _("Slurm gives this GPU to its jobs") : _("Not attached");
    return h("p", {class: "nobody"}, text);
}

/** @param {Device} device @param {number} now */
function graph(device, now) {
    const frame = {since: now - HOUR, until: now, width: WIDTH, height: HEIGHT, most: 100, gap: GAP};
    const points = thinned(device.history, frame.since, frame.until, WIDTH);
    const {line, area} = paths(points, frame);
    const about = summary(device.history);
    const label = about ? format(_("Utilization in the last hour: $0 % on average, at most $1 %"), about.mean, about.peak)
        : _("Utilization in the last hour: no readings");
    return h("svg", {class: "graph", viewBox: `0 -1 ${WIDTH} ${HEIGHT + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": label},
        h("path", {class: "area", d: area}), h("path", {class: "line", d: line}),
        h("path", {class: "base", d: `M0,${HEIGHT}H${WIDTH}`}));
}

/** @param {import("../model.js").Process} process @param {Context} context */
function processView(process, {machine, mayTerminate, actions}) {
    const environment = machine.environments.find(each => each.id === process.environment);
    const details = [process.user, environment ? environment.name || environment.id : _("outside genv"), bytes(process.memory),
        process.utilization !== null && `${process.utilization} %`, format(_("PID $0"), process.pid)];
    return h("li", {key: process.pid},
        h("p", {}, h("b", {}, process.name), " ", h("small", {}, details.filter(Boolean).join(" · "))),
        (process.mine || mayTerminate) && button(_("End"), () => actions.terminate(process),
            format(_("End process $0 of $1"), process.pid, process.user), "link bad"));
}

/** @param {Device} device @param {Context} context */
function processes(device, context) {
    if (device.processes.length === 0)
        return null;
    return h("details", {key: "processes"}, h("summary", {}, plural("$0 process", "$0 processes", device.processes.length)),
        h("ul", {class: "processes", role: "list", "aria-label": format(_("Processes on GPU $0"), device.index)},
            ...device.processes.map(process => processView(process, context))));
}

/** @param {Device} device @param {number} now */
function conditions(device, now) {
    const parts = [...device.conditions];
    if (device.sampledAt !== null && now - device.sampledAt > OLD)
        parts.push(format(_("$0 ago"), age(device.sampledAt, now)));
    if (device.refused)
        parts.push(plural("$0 refused open", "$0 refused opens", device.refused));
    return h("p", {class: "conditions"}, parts.join(" · "));
}

/** @param {Device} device */
function badge(device) {
    const health = healthText(device);
    return h("span", {class: `badge ${health ? "bad" : device.state}`}, health && device.state !== "lost" ? _("Fault") : STATES[device.state]());
}

/** What a card shows below its heading. In a row of cards, each part begins at the same height.
 * @param {Device} device @param {Context} context */
function parts(device, context) {
    const health = healthText(device);
    const memory = device.total === null && device.used === null ? _("unknown") : format(_("$0 of $1"), bytes(device.used), bytes(device.total));
    return [
        h("div", {key: "model", class: "model", title: device.uuid}, h("p", {}, device.model), device.pci && h("small", {}, device.pci)),
        h("div", {key: "who", class: "who"}, health && h("p", {key: "health", class: "alert"}, health), holders(device, context)),
        h("div", {key: "use"}, h("p", {class: "reading"}, h("span", {}, _("Utilization")), h("b", {}, percent(device.utilization))),
            graph(device, context.now)),
        h("div", {key: "memory"}, h("p", {class: "reading"}, h("span", {}, _("Memory")), h("span", {}, memory)),
            bar(device.total ? (device.used ?? 0) / device.total : 0, format(_("Memory of GPU $0"), device.index), memory)),
        conditions(device, context.now),
        processes(device, context),
    ];
}

/** @param {string} style @param {Device} device */
const frame = (style, device) => ({key: device.uuid, class: `${style} ${healthText(device) ? "fault" : device.state}`, "aria-labelledby": `gpu-${device.index}`});

/** @param {Device} device */
const title = device => h("h2", {id: `gpu-${device.index}`}, format(_("GPU $0"), device.index));

/** @param {Device} device @param {Context} context */
const card = (device, context) =>
    h("li", frame("card", device), h("header", {}, title(device), badge(device)), ...parts(device, context));

/** A line that opens to the parts of a card.
 * @param {Device} device @param {Context} context */
function rowOf(device, context) {
    const who = device.holders.map(holder => `${holder.user} · ${holder.name || holder.environment}`).join(", ");
    const isHeld = device.state === "held" && healthText(device) === "";
    return h("li", frame("row", device), h("details", {},
        h("summary", {}, title(device), h("span", {class: "whose"}, who), isHeld ? null : badge(device), h("b", {}, percent(device.utilization))),
        ...parts(device, context)));
}

/** The GPUs of a large machine on a narrow screen.
 * @param {Context} context */
export const list = context =>
    h("ul", {key: "list", class: "panel list", role: "list"}, ...context.machine.devices.map(device => rowOf(device, context)));

/** @param {Context} context */
export function cards(context) {
    const {devices} = context.machine;
    if (devices.length === 0) {
        return h("div", {key: "cards", class: "panel empty"}, h("h2", {}, _("No GPUs")),
            h("p", {}, _("genv finds no GPU on this machine. For the reason, run \"genvctl doctor\".")));
    }
    return h("ul", {key: "cards", class: devices.length > MANY ? "cards many" : "cards", role: "list"}, ...devices.map(device => card(device, context)));
}
