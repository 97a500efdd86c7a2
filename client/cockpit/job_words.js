// SPDX-License-Identifier: LGPL-2.1-or-later
// States of jobs in words: those of "genvctl jobs", in the language of the page.
import {clock} from "./format.js";
import {_, format, plural} from "./i18n.js";

/** @typedef {import("./job_model.js").Job} Job */

const STATES = /** @type {Record<string, () => string>} */ ({
    waiting: () => _("waiting"), held: () => _("held"), running: () => _("running"), done: () => _("done"), failed: () => _("failed"),
    lost: () => _("lost"), canceled: () => _("canceled"),
});

/** @param {string} state */
export const stateOf = state => STATES[state]?.() ?? state;

// The reasons of genv-jobs, in its words; others, such as an error of genvd, stay as they are.
const REASONS = /** @type {[RegExp, (match: string[]) => string][]} */ ([
    [/^begins (.*)$/, ([, when]) => format(_("begins $0"), when)],
    [/^(\d+) tasks? of this job run already$/, ([, count]) => plural("$0 task of this job run already", "$0 tasks of this job run already", Number(count))],
    [/^earlier requests are next$/, () => _("earlier requests are next")],
    [/^earlier tasks are next$/, () => _("earlier tasks are next")],
    [/^genvd does not run$/, () => _("genvd does not run")],
    [/^no user manager runs$/, () => _("no user manager runs")],
    [/^starting$/, () => _("starting")],
    [/^ending$/, () => _("ending")],
    [/^parked for another request$/, () => _("parked for another request")],
    [/^exit status (\d+)$/, ([, status]) => format(_("exit status $0"), status)],
    [/^ended by (.*)$/, ([, signal]) => format(_("ended by $0"), signal)],
    [/^its end was not seen$/, () => _("its end was not seen")],
]);

/** @param {string} what after "waits for " */
function waitingFor(what) {
    const [, word, numbers] = /^(jobs?) (.*)$/.exec(what) ?? [];
    if (numbers)
        return format(word === "job" ? _("waiting for job $0") : _("waiting for jobs $0"), numbers);
    return what === "free GPUs" ? _("waiting for free GPUs") : format(_("waiting for $0"), what);
}

/** @param {string} reason */
function reasonOf(reason) {
    for (const [pattern, sentence] of REASONS) {
        const match = pattern.exec(reason);
        if (match)
            return sentence(match);
    }
    return reason;
}

/** @param {{state: string, reason: string}} each a job that is no array, or a task */
export function wordsOf({state, reason}) {
    if (reason === "starting")
        return reasonOf(reason);
    if (state === "waiting" && reason.startsWith("waits for "))
        return waitingFor(reason.slice("waits for ".length));
    return reason && reason !== state ? format(_("$0: $1"), stateOf(state), reasonOf(reason)) : stateOf(state);
}

/** @param {Job} job @param {number} now */
function waits(job, now) {
    const words = wordsOf(job);
    return job.expected === null ? words : format(_("$0, expected at $1"), words, clock(job.expected, now));
}

/** Returns "137/200 done, 4 running, 2 failed".
 * @param {Job} job @param {number} now */
function progress(job, now) {
    return [format(_("$0/$1 done"), job.done, job.tasks), job.running > 0 && format(_("$0 running"), job.running),
        job.failed > 0 && format(_("$0 failed"), job.failed), job.canceled > 0 && format(_("$0 canceled"), job.canceled),
        job.waiting > 0 && job.running === 0 && waits(job, now)].filter(Boolean).join(", ");
}

/** @param {Job} job @param {number} now */
export function jobWords(job, now) {
    if (job.isArray)
        return progress(job, now);
    return job.state === "waiting" || job.state === "held" ? waits(job, now) : wordsOf(job);
}
