// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs and tasks as the views show them, from the rows of genv-jobs (dev.genv.Jobs.xml). Pure.
import {time} from "./values.js";

/** @typedef {{number: number, name: string, command: string, state: string, reason: string, expected: number | null, gpus: number,
 *   isArray: boolean, tasks: number, waiting: number, running: number, done: number, failed: number, canceled: number,
 *   submitted: number | null, started: number | null, ended: number | null}} Job times in milliseconds */
/** @typedef {{number: number, value: string, state: string, reason: string, started: number | null, ended: number | null}} Task */

/** @param {Record<string, any>} p
 * @returns {Job} */
export function jobOf(p) {
    return {
        number: p.number, name: p.name || p.command, command: p.command, state: p.state, reason: p.reason ?? "", expected: time(p.expected),
        gpus: p.gpus, isArray: p.array === true, tasks: p.tasks, waiting: p.waiting, running: p.running, done: p.done, failed: p.failed,
        canceled: p.canceled, submitted: time(p.submitted), started: time(p.started), ended: time(p.ended),
    };
}

/** @param {Record<string, any>} p
 * @returns {Task} */
export function taskOf(p) {
    return {number: p.number, value: textOfBytes(p.value), state: p.state, reason: p.reason ?? "", started: time(p.started), ended: time(p.ended)};
}

/** Returns the text of an array of bytes, which the bridge writes in base64.
 * @param {string} base64 */
export function textOfBytes(base64) {
    return new TextDecoder().decode(Uint8Array.from(globalThis.atob(base64), character => character.charCodeAt(0)));
}

/** Returns whether it runs a script, whose text is a part of its command.
 * @param {Job} job */
export const isScript = job => /^\S*genvctl run-script /.test(job.command);

/** Returns the job of an environment, from its id; null for another id.
 * @param {string} environment */
export function jobOfEnvironment(environment) {
    const match = /^job-(\d+)(\.\d+)?(-\d+)?(@\d+(\.\d+)?)?$/.exec(environment);
    return match ? Number(match[1]) : null;
}

/** @param {Job} job */
export const hasEnded = job => job.waiting === 0 && job.running === 0;

/** Returns the tasks that an array's list shows one by one, as "genvctl job" does.
 * @param {Task[]} tasks */
export const remarkable = tasks => tasks.filter(task => !["waiting", "held", "done", "canceled"].includes(task.state));

/** Returns unfinished jobs, then ended ones, each the newest first.
 * @param {Job[]} jobs */
export const ordered = jobs => [...jobs].sort((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)) || b.number - a.number);

/** Returns milliseconds for which it has run, or null if it has not started.
 * @param {{started: number | null, ended: number | null}} each @param {number} now */
export function runTime({started, ended}, now) {
    return started === null ? null : Math.max(0, (ended !== null && ended >= started ? ended : now) - started);
}

/** Returns what ends without its result if the action is made: tasks that run, or results of tasks that are done.
 * @param {Job} job @param {"Cancel" | "Hold" | "Release" | "Requeue"} action */
export function lost(job, action) {
    if (action === "Cancel")
        return {running: job.running, done: 0};
    // As genv-jobs chooses: tasks that did not succeed, or those that run, or all.
    if (action !== "Requeue" || job.failed + job.canceled > 0)
        return {running: 0, done: 0};
    return job.running > 0 ? {running: job.running, done: 0} : {running: 0, done: job.done};
}
