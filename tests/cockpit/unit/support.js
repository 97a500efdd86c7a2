// SPDX-License-Identifier: LGPL-2.1-or-later
// Shared parts of the tests of the page's modules.
import fs from "node:fs";
import path from "node:path";
import {fileURLToPath} from "node:url";
import vm from "node:vm";

export const PAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../client/cockpit");

/** Returns the modules of the page. */
export const sources = () => fs.readdirSync(PAGE, {recursive: true, withFileTypes: false})
    .filter(name => /\.js$/.test(name) && !/^po\./.test(name)).map(name => path.join(PAGE, name));

/** Returns the table of a file of translations. */
export function table(name) {
    let found;
    vm.runInNewContext(fs.readFileSync(path.join(PAGE, name), "utf8"), {cockpit: {locale: data => found = data}});
    return found;
}

const variant = (t, v) => ({t, v});
const typed = (types, values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, variant(types[name] ?? "s", value)]));

/** Returns a device in the form of GetManagedObjects. Without Free, it is free unless its other values say otherwise. */
export const device = (index, values = {}) => [`/dev/genv/Manager/device/${index}`, {"dev.genv.Device": typed({}, {
    Index: index, UUID: `GPU-${index}`, Model: "Tesla T4", PCIAddress: "", TotalMemory: 16 * 2 ** 30, AvailableMemory: 16 * 2 ** 30,
    Free: !values.Attachments?.length && !values.ReservedFor && (values.Health ?? "ok") === "ok", UnaccountedMemory: 0, Attachments: [],
    LockedBy: "", Health: "ok", ReservedFor: "", UsedMemory: 0, Utilization: 0, Temperature: 30, PowerUsage: 50_000, PowerLimit: 4294967295,
    RefusedOpens: 0, SampledAt: 1_000_000, ...values})}];

/** Returns an environment in the form of GetManagedObjects. */
export const environment = (id, uid, user, values = {}) => [`/dev/genv/Manager/environment/${id}`, {"dev.genv.Environment": typed({}, {
    Id: id, Uid: uid, User: user, Name: "", Created: 1_000_000, Gpus: 0, GpuMemory: 0, Processes: [], Kernels: [], Devices: [], Attached: [],
    Expires: 0, Lingering: false, Job: "", Parent: "", OverSubscribable: false, ...values})}];

/** Returns a request as DescribeQueue does, without its variants. */
export const waiter = (ticket, id, uid, count, values = {}) => ({ticket, environment: id, uid, count, since: 1_000_000, ...values});
