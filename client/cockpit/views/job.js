// SPDX-License-Identifier: LGPL-2.1-or-later
// One job: what it runs, its remarkable tasks, and its output.
import {duration, gpus} from "../format.js";
import {_, format, plural} from "../i18n.js";
import {isScript, runTime} from "../job_model.js";
import {wordsOf} from "../job_words.js";
import {h} from "../vdom.js";
import {state} from "./jobs.js";
import {button, row, table} from "./parts.js";

/** @typedef {import("../job_model.js").Job} Job */
/** @typedef {import("../job_watch.js").JobWatch} Watch */

/** @param {Job} job */
export const detailTitle = job => format(_("Job $0: $1"), job.number, job.name);

// A script's text is a word, and needs no quotes to be understood.
const quoted = (/** @type {string} */ word) => /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** @param {string[]} words */
function commandText(words) {
    const at = words.indexOf("run-script");
    return at === 1 && words.length > 3 ? format(_("$0 (script)"), [words[2], ...words.slice(4)].map(quoted).join(" ")) : words.map(quoted).join(" ");
}

/** @param {Watch} watch @param {Job} job @param {number} now */
function facts(watch, job, now) {
    const time = runTime(job, now);
    const {description} = watch;
    const rows = /** @type {[string, import("../vdom.js").Child | import("../vdom.js").Child[]][]} */ ([
        [_("State"), state(job, now)],
        [_("Command"), h("code", {}, description ? commandText(description.command) : isScript(job) ? "…" : job.command)],
        [_("Folder"), description?.folder ?? "…"],
        [_("GPUs"), job.isArray ? format(_("$0 for each task"), gpus(job.gpus)) : gpus(job.gpus)],
        ...time === null ? [] : [[_("Time"), duration(time / 1000)]],
    ]);
    return h("dl", {key: "facts"}, ...rows.flatMap(([name, value]) => [h("dt", {key: name}, name), h("dd", {key: `${name} value`}, ...[value].flat())]));
}

/** @param {Watch} watch @param {Job} job @param {number} now */
function tasks(watch, job, now) {
    if (!job.isArray)
        return [];
    const columns = [_("Task"), _("Value"), _("Time"), _("State"), ""];
    const rows = watch.tasks.map(task => {
        const time = runTime(task, now);
        return row(task.number, columns, [task.number, task.value, time === null ? "–" : duration(time / 1000), wordsOf(task),
            button(_("Output"), () => watch.follow(String(task.number)), format(_("Output of task $0"), task.number), "small")]);
    });
    return [
        rows.length > 0 && h("div", {key: "tasks", class: "tasks", tabindex: 0, role: "group", "aria-label": _("Tasks that run or failed")},
            table(_("Tasks that run or failed"), columns, rows)),
        watch.omitted > 0 && h("p", {key: "omitted"}, h("small", {}, plural("and $0 more task", "and $0 more tasks", watch.omitted))),
        h("p", {key: "choose", class: "field choose"}, h("label", {for: "task"}, _("Output of task")),
            h("input", {id: "task", type: "number", min: 0, placeholder: _("all"), value: watch.task,
                onchange: (/** @type {any} */ event) => watch.follow(event.target.value)})),
    ];
}

/** Scrolls to the end, unless the user has scrolled away from it.
 * @param {any} element */
function keepAtEnd(element) {
    let isAtEnd = true;
    element.addEventListener("scroll", () => {
        isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
    });
    const observer = new globalThis.MutationObserver(() => {
        if (isAtEnd)
            element.scrollTop = element.scrollHeight;
    });
    observer.observe(element, {childList: true, characterData: true, subtree: true});
}

/** @param {Watch} watch @param {Job} job */
function output(watch, job) {
    const {log} = watch;
    const text = log?.output.text() ?? "";
    const title = watch.task ? format(_("Output of task $0"), watch.task) : _("Output");
    const none = log?.hasEnded ? _("No output.") : job.waiting > 0 && job.running === 0 ? _("No output yet: the job waits.") : _("No output yet.");
    return [
        h("h3", {key: "title"}, title),
        log?.output.isCut && h("p", {key: "cut"}, h("small", {}, format(_("Only the last lines. All of it: \"genvctl logs $0\"."), log.job))),
        log?.problem ? h("p", {key: "problem", class: "nothing"}, log.problem)
            : text === "" && h("p", {key: "none", class: "nothing"}, none),
        // New output is not read aloud; the screen reader reads it on request.
        h("pre", {key: `log ${watch.task}`, class: "log", tabindex: 0, role: "log", "aria-live": "off", "aria-label": title, hidden: text === "", oncreate: keepAtEnd}, text),
        log?.hasEnded && !log.problem && h("p", {key: "end"}, h("small", {}, _("The output is complete."))),
    ];
}

/** @param {Watch} watch @param {Job} job @param {number} now
 * @returns {import("../vdom.js").Child[]} */
export function details(watch, job, now) {
    return [watch.problem && h("p", {key: "trouble", class: "alert", role: "alert"}, watch.problem),
        facts(watch, job, now), ...tasks(watch, job, now), ...output(watch, job)];
}
