// SPDX-License-Identifier: LGPL-2.1-or-later
// Builds the model that the views show from the data of the service. It is pure: the same input gives the same machine.
import {conditionsOf} from "./conditions.js";
import {_, format} from "./i18n.js";
import {known32, known64, time} from "./values.js";

/** @typedef {{index: number, expires: number | null}} Attached */
/** @typedef {{can: boolean, state: string, gpus: number[], memory: number, since: number | null, moved: number, total: number,
 *   problem: string, reason: string, takenBy: string}} Parking `can`: whether the service can park; `state`: active, parking, parked or
 *   resuming; `gpus`: those that it gave up; `moved` of `total` bytes, while they move; `takenBy`: the user whose request it is parked for, or "" */
/** @typedef {{id: string, path: string, uid: number, user: string, name: string, created: number | null, gpus: number,
 *   memory: number, processes: number[], kernels: string[], attached: Attached[], expires: number | null,
 *   lingering: boolean, job: string, parent: string, mine: boolean, overSubscribable: boolean, waits: Waiter | null, parking: Parking,
 *   preemptible: string}} Environment `waits`: its request in the queue; `preemptible`: no, park or end */
/** @typedef {{environment: string, name: string, user: string, uid: number, mine: boolean, job: string, lingering: boolean,
 *   share: number, since: number | null, expires: number | null}} Holder */
/** @typedef {{pid: number, uid: number, user: string, name: string, environment: string, mine: boolean, memory: number | null,
 *   utilization: number | null}} Process */
/** @typedef {{when: number, value: number}} Point */
/** @typedef {{index: number, path: string, uuid: string, model: string, pci: string, total: number | null,
 *   used: number | null, available: number | null, utilization: number | null, conditions: string[], health: string, slurm: boolean, lockedBy: string,
 *   free: boolean, unaccounted: number, sampledAt: number | null, refused: number | null, holders: Holder[], processes: Process[], outsiders: Process[],
 *   state: "free" | "held" | "mine" | "outside" | "slurm" | "lost", history: Point[]}} Device */
/** @typedef {{ticket: number, environment: string, name: string, user: string, uid: number, mine: boolean, count: number,
 *   since: number | null, place: number, resumes: boolean, expected: number | null, taking: Taking | null}} Waiter `resumes`: a parked
 *   environment waits to go on; `expected`: when it starts */
/** @typedef {{names: string[], bytes: number, seconds: number}} Taking environments that are parked for a request */
/** @typedef {{version: string, driver: string, isolation: string, devices: Device[], environments: Environment[],
 *   mine: Environment[], queue: Waiter[], isFair: boolean, users: Map<number, string>}} Machine `isFair`: the order of the queue */

/** An earlier service has none of these properties, and parks nothing.
 * @param {Record<string, any>} p
 * @returns {Parking} */
function parkingOf(p) {
    const [moved, total] = p.ParkingProgress ?? [0, 0];
    return {
        can: p.State !== undefined, state: p.State ?? "active",
        gpus: (p.ParkedDevices ?? []).map((/** @type {[number, number]} */ [index]) => index), memory: p.ParkedMemory ?? 0,
        since: time(p.ParkedSince), moved, total, problem: p.ParkingProblem ?? "", reason: p.ParkedReason ?? "", takenBy: p.TakenBy ?? "",
    };
}

/** @param {{path: string, properties: Record<string, any>}} object @param {number} uid
 * @returns {Environment} */
function environmentOf({path, properties: p}, uid) {
    return {
        id: p.Id, path, uid: p.Uid, user: p.User, name: p.Name, created: time(p.Created), gpus: p.Gpus, memory: p.GpuMemory,
        processes: p.Processes, kernels: p.Kernels,
        attached: p.Attached.map((/** @type {[number, number]} */ [index, end]) => ({index, expires: time(end)})),
        expires: time(p.Expires), lingering: p.Lingering, job: p.Job, parent: p.Parent, mine: p.Uid === uid,
        overSubscribable: p.OverSubscribable, waits: null, parking: parkingOf(p), preemptible: p.Preemptible ?? "no",
    };
}

/** @param {[string, number, number]} attachment @param {number} index @param {Map<string, Environment>} environments
 * @returns {Holder} */
function holderOf([id, share, since], index, environments) {
    const environment = environments.get(id);
    return {
        environment: id, name: environment?.name ?? "", user: environment?.user ?? "", uid: environment?.uid ?? 0,
        mine: environment?.mine ?? false, job: environment?.job ?? "", lingering: environment?.lingering ?? false,
        share, since: time(since),
        expires: environment?.attached.find(each => each.index === index)?.expires ?? null,
    };
}

/** @param {Record<string, any>} process as returned by DescribeProcesses @param {number} index @param {number} uid
 * @returns {Process[]} one process, or none if it does not use this device */
function processOn(process, index, uid) {
    const use = process.devices.find((/** @type {number[]} */ each) => each[0] === index);
    return use ? [{
        pid: process.pid, uid: process.uid, user: process.user, name: process.name, environment: process.environment,
        mine: process.uid === uid, memory: known64(use[1]), utilization: known32(use[2]),
    }] : [];
}

/** @param {Device} device
 * @returns {Device["state"]} */
function stateOf(device) {
    if (device.health === "lost")
        return "lost";
    if (device.holders.some(holder => holder.mine))
        return "mine";
    if (device.holders.length > 0)
        return "held";
    if (device.outsiders.length > 0 || device.unaccounted > 0)
        return "outside";
    return device.slurm ? "slurm" : "free";
}

/** @param {{path: string, properties: Record<string, any>}} object @param {Map<string, Environment>} environments
 * @param {Record<string, any>[]} processes @param {number} uid @param {Point[]} history
 * @returns {Device} */
function deviceOf({path, properties: p}, environments, processes, uid, history) {
    const own = processes.flatMap(process => processOn(process, p.Index, uid));
    const holders = p.Attachments.map((/** @type {any} */ each) => holderOf(each, p.Index, environments));
    const ids = new Set(holders.map((/** @type {Holder} */ holder) => holder.environment));
    /** @type {Device} */
    const device = {
        index: p.Index, path, uuid: p.UUID, model: p.Model, pci: p.PCIAddress, total: known64(p.TotalMemory),
        available: known64(p.AvailableMemory), used: known64(p.UsedMemory), utilization: known32(p.Utilization),
        conditions: conditionsOf(p),
        unaccounted: p.UnaccountedMemory, free: p.Free, health: p.Health, slurm: p.ReservedFor === "slurm", lockedBy: p.LockedBy, sampledAt: time(p.SampledAt),
        refused: known64(p.RefusedOpens), holders, processes: own, state: "free", history,
        // A process in a nested environment of a holder is not an outsider.
        outsiders: own.filter(process => !ids.has(process.environment) && !ids.has(environments.get(process.environment)?.parent ?? "")),
    };
    device.state = stateOf(device);
    return device;
}

/** @param {[string, string, string, number, number][]} rows id, name, user, bytes to move and the time for all in µs
 * @returns {Taking | null} */
function takingOf(rows) {
    return rows.length === 0 ? null : {
        names: rows.map(([id, name, user]) => format(_("$0 of $1"), name || id, user)),
        bytes: rows.reduce((sum, [, , , moved]) => sum + moved, 0), seconds: Math.max(1, Math.ceil(rows[0][4] / 1_000_000)),
    };
}

/** @param {Record<string, any>[]} rows as returned by DescribeQueue @param {Map<string, Environment>} environments @param {number} uid
 * @param {Map<number, string>} users
 * @returns {Waiter[]} */
function queueOf(rows, environments, uid, users) {
    return rows.map((row, index) => ({
        ticket: row.ticket, environment: row.environment, name: environments.get(row.environment)?.name ?? "",
        user: users.get(row.uid) ?? row.user ?? String(row.uid), uid: row.uid, mine: row.uid === uid, count: row.count, since: time(row.since),
        place: index + 1, resumes: row.resumes ?? false, expected: time(row["expected-start"] ?? 0), taking: takingOf(row.taking ?? []),
    }));
}

/** @param {{store: import("./store.js").Store, processes: Record<string, any>[], queue: any[], history: Map<number, Point[]>,
 *   uid: number}} input
 * @returns {Machine} */
export function machineOf({store, processes, queue, history, uid}) {
    const environments = [...store.environments.values()].map(object => environmentOf(object, uid))
        .sort((a, b) => (a.created ?? 0) - (b.created ?? 0));
    const byId = new Map(environments.map(environment => [environment.id, environment]));
    const users = new Map(environments.map(environment => [environment.uid, environment.user]));
    for (const process of processes)
        users.set(process.uid, process.user);
    const devices = [...store.devices.values()]
        .map(object => deviceOf(object, byId, processes, uid, history.get(object.properties.Index) ?? []))
        .sort((a, b) => a.index - b.index);
    const waiters = queueOf(queue, byId, uid, users);
    for (const environment of environments)
        environment.waits = waiters.find(waiter => waiter.environment === environment.id) ?? null;
    return {
        version: store.manager.Version ?? "", driver: store.manager.DriverVersion ?? "",
        isolation: store.manager.Isolation ?? "none", devices, environments,
        mine: environments.filter(environment => environment.mine), queue: waiters,
        isFair: store.manager.Policy?.Order?.v === "fair", users,
    };
}

/** @param {Machine} machine */
export function totals(machine) {
    const count = (/** @type {Device["state"][]} */ ...states) =>
        machine.devices.filter(device => states.includes(device.state)).length;
    const free = machine.devices.filter(device => device.free).length;
    return {gpus: machine.devices.length, free, outside: count("outside"), waiting: machine.queue.length};
}

/** Returns the models of the devices, without duplicates.
 * @param {Machine} machine */
export const models = machine => [...new Set(machine.devices.map(device => device.model))].sort();

/** Returns the devices of a model; of any model if it is "".
 * @param {Device[]} devices @param {string} model */
export const ofModel = (devices, model) => devices.filter(device => device.model.toLowerCase().includes(model.toLowerCase()));

/** Returns the number of devices of an environment, or of its devices of one model.
 * @param {Machine} machine @param {Environment} environment @param {string} model */
export function attachedOf(machine, environment, model) {
    const indices = ofModel(machine.devices, model).map(device => device.index);
    return environment.attached.filter(({index}) => indices.includes(index)).length;
}
