// SPDX-License-Identifier: LGPL-2.1-or-later
// Commands that keep an environment, or a position in the queue, without this page. Each runs as a unit of the user's
// systemd instance, which outlives the page and, with lingering, the login.

/** @typedef {{name: string, gpus: number, model: string, memory: string, lifetime: string, wait: string, share: boolean,
 *   consent: boolean, preemptible: string}} Wish `consent`: other users may share the GPUs; `preemptible`: park or end, or "" */

// systemd expands variables in the words of a command, so each $ is doubled.
const literal = (/** @type {string} */ word) => word.replaceAll("$", "$$$$");

/** @param {string} unit @param {string} errorFile @param {string[]} settings @param {string[]} command */
function run(unit, errorFile, settings, command) {
    return ["systemd-run", "--user", "--wait", "--collect", "--quiet", `--unit=${unit}`, "--description=genv, from Cockpit",
        "--service-type=exec", `--property=StandardError=truncate:${errorFile}`, ...settings, "--", ...command.map(literal)];
}

/** @param {Record<string, string | number>} options */
function given(options) {
    return Object.entries(options).filter(([, value]) => value !== "" && value !== 0).map(([name, value]) => `--${name}=${value}`);
}

/** Starts an environment. genvctl keeps it until it ends or the unit is stopped, because its standard input stays open.
 * @param {string} unit @param {string} errorFile @param {Wish} wish */
export function startCommand(unit, errorFile, wish) {
    const options = given({name: wish.name, gpus: wish.gpus, model: wish.model, "gpu-memory": wish.memory, lifetime: wish.lifetime,
        wait: wish.wait});
    if (wish.share)
        options.push("--over-subscribe");
    if (wish.consent)
        options.push("--allow-over-subscribe");
    if (wish.preemptible)
        options.push(`--preemptible=${wish.preemptible}`);
    return run(unit, errorFile, [],
        ["/bin/bash", "-c", 'exec genvctl run --hold "$@" < <(exec sleep infinity)', "genvctl", ...options]);
}

/** Waits for GPUs for an existing environment.
 * @param {string} unit @param {string} errorFile @param {string} environment
 * @param {{count: number, model: string, lifetime: string, wait: string, share: boolean}} wish */
export function waitCommand(unit, errorFile, environment, wish) {
    return run(unit, errorFile, [`--setenv=GENV_ENVIRONMENT_ID=${environment}`],
        ["genvctl", "attach", ...given({count: wish.count, model: wish.model, lifetime: wish.lifetime, wait: wish.wait}),
            ...wish.share ? ["--over-subscribe"] : []]);
}

/** Parks an environment.
 * @param {string} unit @param {string} errorFile @param {string} environment */
export const parkCommand = (unit, errorFile, environment) => run(unit, errorFile, [], ["genvctl", "park", `--id=${environment}`]);

/** Resumes a parked environment, after a wait in the queue if `wait` is a time.
 * @param {string} unit @param {string} errorFile @param {string} environment @param {string} wait */
export const resumeCommand = (unit, errorFile, environment, wait) =>
    run(unit, errorFile, [], ["genvctl", "resume", `--id=${environment}`, ...given({wait})]);

/** Returns the last message of genvctl, without the name of the program and without hints, which are for a shell.
 * @param {string | null} text */
export function complaint(text) {
    const lines = (text ?? "").split("\n").map(line => line.trim()).filter(line => line !== "");
    const last = lines.filter(line => line.startsWith("genvctl: ")).at(-1);
    return last?.slice("genvctl: ".length) ?? lines.join(" ");
}

const REFUSALS = /** @type {Record<number, string>} */ ({4: "AccessDenied", 5: "DeviceUnavailable", 7: "QuotaExceeded"});

/** Returns the name of the refusal behind an exit status of genvctl, or "" for another failure.
 * @param {number | null | undefined} status */
export const refusalOf = status => REFUSALS[status ?? 0] ?? "";
