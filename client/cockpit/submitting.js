// SPDX-License-Identifier: LGPL-2.1-or-later
// The command that submits a job: genvctl itself, so that variables, checks and options are those of a terminal. It runs
// in a login shell of the user.
import {complaint} from "./starting.js";

/** @typedef {{text: string, folder: string, name: string, gpus: string, gpuMemory: string, model: string, array: string, lifetime: string,
 *   memory: string, cpus: string, retries: string, after: string, begin: string, preemptible: string}} JobWish `text`: a command or a script; "" is no wish */

// A shell gives these a meaning, so that a line with one of them is a script.
const OF_SHELL = "|&;<>()$`*?";
/** The exit status of the shell below if the folder cannot be entered; genvctl has none over 125. */
export const NO_FOLDER = 126;

/** Splits a line into words as a shell does. Returns null if only a shell can run it.
 * @param {string} line */
export function splitWords(line) {
    /** @type {string[]} */
    const words = [];
    /** @type {string | null} */
    let word = null;
    for (let at = 0; at < line.length; ++at) {
        const character = line[at];
        if (/\s/.test(character)) {
            if (word !== null)
                words.push(word);
            word = null;
        } else if (character === "'") {
            const end = line.indexOf("'", at + 1);
            if (end < 0)
                return null;
            word = (word ?? "") + line.slice(at + 1, end);
            at = end;
        } else if (character === '"') {
            for (++at; line[at] !== '"'; ++at) {
                if (at >= line.length || line[at] === "$" || line[at] === "`")
                    return null;
                if (line[at] === "\\" && '"\\$`'.includes(line[at + 1]))
                    ++at;
                word = (word ?? "") + line[at];
            }
            word ??= "";
        } else if (character === "\\" && at + 1 < line.length) {
            word = (word ?? "") + line[++at];
        } else if (OF_SHELL.includes(character) || (word === null && (character === "~" || character === "#"))) {
            return null;
        } else {
            word = (word ?? "") + character;
        }
    }
    if (word !== null)
        words.push(word);
    // NAME=VALUE before a command, or a builtin of the shell.
    return words.length === 0 || /^\w+=/.test(words[0]) || ["cd", "source", ".", "export"].includes(words[0]) ? null : words;
}

/** Returns the words of a command, or null for a script: more than a line, or a line that only a shell can run.
 * @param {string} text */
export const commandIn = text => text.includes("\n") ? null : splitWords(text);

/** @param {JobWish} wish */
function optionsOf(wish) {
    const options = {name: wish.name, gpus: wish.gpus, "gpu-memory": wish.gpuMemory, model: wish.model, array: wish.array, lifetime: wish.lifetime,
        memory: wish.memory, cpus: wish.cpus, retries: wish.retries, after: wish.after, begin: wish.begin, preemptible: wish.preemptible};
    return Object.entries(options).filter(([, value]) => value !== "").map(([name, value]) => `--${name}=${value}`);
}

const SHELLS = new Set(["bash", "dash", "ksh", "mksh", "sh", "zsh"]);

// What the user's profile reads or prints is not genvctl's.
const OUTER = 'exec 3<&0 4>&1 5>&2 </dev/null >/dev/null 2>&1; exec "$0" -lc "$@"';
const INNER = `cd -- "$1" || exit ${NO_FOLDER}; shift; exec genvctl submit "$@" <&3 >&4 2>&5 3<&- 4>&- 5>&-`;

/** Returns the command, and its standard input. It prints the result as JSON.
 * @param {string} shell of the user @param {JobWish} wish */
export function submitCommand(shell, wish) {
    const words = commandIn(wish.text);
    const known = SHELLS.has(shell.split("/").at(-1) ?? "") ? shell : "/bin/sh";
    return {
        command: ["/bin/sh", "-c", OUTER, known, INNER, "genvctl", wish.folder || ".", "--json", ...optionsOf(wish), ...words ? ["--", ...words] : ["-"]],
        input: words ? "" : `${wish.text}\n`,
    };
}

/** Returns the error of genvctl, with its hint, which also helps outside a shell.
 * @param {string} text of its standard error */
export function submitError(text) {
    const sentence = complaint(text);
    const lines = text.split("\n").map(line => line.trim());
    const hint = lines[lines.indexOf(`genvctl: ${sentence}`) + 1] ?? "";
    return /genvctl|--/.test(hint) || hint === sentence ? sentence : [sentence, hint].filter(Boolean).join(". ");
}
