// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs: their words, the command of a submission, and the output as text.
import assert from "node:assert/strict";
import {execFileSync, spawnSync} from "node:child_process";
import test from "node:test";
import {jobOf, jobOfEnvironment, lost, ordered, remarkable, runTime, taskOf} from "../../../client/cockpit/job_model.js";
import {jobWords, wordsOf} from "../../../client/cockpit/job_words.js";
import {Output} from "../../../client/cockpit/output.js";
import {NO_FOLDER, commandIn, submitCommand, submitError} from "../../../client/cockpit/submitting.js";

const NOW = 1_700_000_000_000;
const job = (values = {}) => jobOf({number: 17, name: "", command: "python train.py", state: "running", reason: "", expected: 0, gpus: 1, tasks: 1,
    waiting: 0, running: 0, done: 0, failed: 0, canceled: 0, array: false, submitted: 1, started: 0, ended: 0, ...values});
const array = values => job({array: true, tasks: 200, ...values});

test("states read as in genvctl jobs", () => {
    const words = values => jobWords(job(values), NOW);
    assert.equal(words({state: "running"}), "running");
    assert.equal(words({state: "running", reason: "starting"}), "starting");
    assert.equal(words({state: "waiting", reason: "waits for free GPUs"}), "waiting for free GPUs");
    assert.equal(words({state: "waiting", reason: "waits for job 16"}), "waiting for job 16");
    assert.equal(words({state: "waiting", reason: "begins Sat 2026-11-21 22:00:00"}), "waiting: begins Sat 2026-11-21 22:00:00");
    assert.equal(words({state: "held", reason: "held"}), "held");
    assert.equal(words({state: "failed", reason: "exit status 3"}), "failed: exit status 3");
    assert.equal(words({state: "canceled", reason: ""}), "canceled");
    assert.equal(words({state: "running", reason: "parked for another request"}), "running: parked for another request");
    assert.match(words({state: "waiting", reason: "waits for free GPUs", expected: (NOW + 60_000) * 1000}), /^waiting for free GPUs, expected at \d\d:\d\d$/);
    assert.equal(jobWords(array({done: 137, running: 4, failed: 2, waiting: 57}), NOW), "137/200 done, 4 running, 2 failed");
    assert.equal(jobWords(array({done: 1, waiting: 199, state: "waiting", reason: "earlier tasks are next"}), NOW), "1/200 done, waiting: earlier tasks are next");
});

test("a state and a reason that this page does not know stay as they are", () => {
    assert.equal(wordsOf({state: "dreaming", reason: "of <b>sheep</b>"}), "dreaming: of <b>sheep</b>");
});

test("a change asks first exactly if work is lost", () => {
    assert.deepEqual(lost(job({waiting: 1}), "Cancel"), {running: 0, done: 0});
    assert.deepEqual(lost(job({running: 1}), "Cancel"), {running: 1, done: 0});
    assert.deepEqual(lost(job({running: 1}), "Hold"), {running: 0, done: 0});
    assert.deepEqual(lost(array({running: 3, failed: 1, done: 4}), "Requeue"), {running: 0, done: 0});
    assert.deepEqual(lost(array({running: 3, done: 4}), "Requeue"), {running: 3, done: 0});
    assert.deepEqual(lost(array({done: 200}), "Requeue"), {running: 0, done: 200});
});

test("unfinished jobs come first, and the newest first", () => {
    const jobs = [job({number: 1, done: 1}), job({number: 2, running: 1}), job({number: 3, done: 1}), job({number: 4, waiting: 1})];
    assert.deepEqual(ordered(jobs).map(each => each.number), [4, 2, 3, 1]);
});

test("an environment of a job is known by its id", () => {
    for (const [id, number] of [["job-17", 17], ["job-17.3-2", 17], ["job-18@1002.5", 18], ["job-offer", null], ["job-1x", null], ["my-job-1", null]])
        assert.equal(jobOfEnvironment(id), number, id);
});

test("tasks are read with the bytes of their values", () => {
    const task = taskOf({number: 3, value: Buffer.from("größe").toString("base64"), state: "failed", reason: "", started: 5_000_000, ended: 9_000_000});
    assert.equal(task.value, "größe");
    assert.equal(runTime(task, NOW), 4000);
    const states = ["waiting", "held", "running", "done", "failed", "lost", "canceled"];
    assert.deepEqual(remarkable(states.map(state => ({...task, state}))).map(each => each.state), ["running", "failed", "lost"]);
});

test("a line is split into words as a shell does", () => {
    for (const line of ["python train.py --seed {}", "echo 'a b' \"c \\\"d\\\" e\"", "a\\ b  c", "echo ''", "x 'it'\"'\"'s'", "model.layers=[1,2] --x=~", "run a#b"]) {
        if (line.startsWith("model"))
            continue; // a variable, below
        const shell = execFileSync("bash", ["-c", `printf '%s\\0' ${line}`]).toString().split("\0").slice(0, -1);
        assert.deepEqual(commandIn(line), shell, line);
    }
});

test("what only a shell can run is a script", () => {
    for (const line of ["a | b", "a > out", "a && b", "echo $HOME", "echo \"$HOME\"", "echo `id`", "ls *.py", "cd x", "A=1 b", "a; b", "~/x", "# x", "'open", "a\nb", "#!/bin/sh\ntrue"])
        assert.equal(commandIn(line), null, line);
});

const WISH = {text: "true", folder: "/tmp", name: "", gpus: "", gpuMemory: "", model: "", array: "", lifetime: "", memory: "", cpus: "", retries: "", after: "", begin: "",
    preemptible: ""};

/** Runs the command of a submission with a genvctl that prints what it got. */
function submitted(wish, shell = "/bin/bash", profile = "") {
    const home = execFileSync("mktemp", ["-d"]).toString().trim();
    const file = (name, text) => execFileSync("sh", ["-c", 'printf "%s" "$2" >"$1" && chmod 755 "$1"', "sh", `${home}/${name}`, text]);
    file("genvctl", "#!/bin/sh\npwd\nprintf '<%s>' \"$@\"\necho\necho \"$FROM_PROFILE\"\ncat\necho error >&2\n");
    file(".profile", `export FROM_PROFILE=yes\nPATH=${home}:/usr/bin:/bin\necho noise\necho noise >&2\n${profile}`);
    const {command, input} = submitCommand(shell, {...WISH, ...wish});
    const result = spawnSync(command[0], command.slice(1), {input, env: {HOME: home, PATH: "/usr/bin:/bin"}, cwd: home});
    execFileSync("rm", ["-r", home]);
    return {status: result.status, out: result.stdout.toString().split("\n"), err: result.stderr.toString()};
}

test("genvctl gets the words, the folder and the variables of a login shell, and nothing of the profile's output", () => {
    const wish = {text: "echo 'a b' {}", folder: "/usr", array: "1-3%2", gpus: "2", name: "$(id) 'x'"};
    for (const shell of ["/bin/bash", "/bin/sh", "/usr/bin/fish"]) {
        const {out, err, status} = submitted(wish, shell);
        assert.deepEqual([status, err], [0, "error\n"], shell);
        assert.deepEqual(out.slice(0, 3), ["/usr", "<submit><--json><--name=$(id) 'x'><--gpus=2><--array=1-3%2><--><echo><a b><{}>", "yes"], shell);
    }
});

test("a script is the standard input of genvctl, which the profile cannot read", () => {
    const {out} = submitted({text: "#genv --gpus 2\necho $HOME"}, "/bin/bash", "cat\n");
    assert.deepEqual(out.slice(1), ["<submit><--json><->", "yes", "#genv --gpus 2", "echo $HOME", ""]);
});

test("a folder that is not there has a status of its own", () => {
    const {status, out} = submitted({folder: "/nonexistent"});
    assert.equal(status, NO_FOLDER);
    assert.deepEqual(out, [""]);
});

test("an error of genvctl is shown without hints for a shell", () => {
    assert.equal(submitError('genvctl: there are not enough GPUs\nSee "genvctl devices".\n'), "there are not enough GPUs");
    assert.equal(submitError("genvctl: jobs need systemd\nYou are not logged in here.\n"), "jobs need systemd. You are not logged in here.");
});

function textOf(...parts) {
    const output = new Output();
    for (const part of parts)
        output.add(Buffer.from(part, "latin1"));
    return output.text();
}

test("escape sequences do nothing, also if they come in parts", () => {
    assert.equal(textOf("\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b]8;;http://x\x1b\\link\x1b(B\x1b=\x1b[?25l."), "red plainlink.");
    for (const whole of ["a\x1b[38;5;1mb", "a\x1b]0;title\x07b", "a\x1bPdata\x1b\\b"]) {
        for (let at = 1; at < whole.length; ++at)
            assert.equal(textOf(whole.slice(0, at), whole.slice(at)), "ab", JSON.stringify([whole, at]));
    }
    assert.equal(textOf("\x1b[2J\x00\x07\x7f<b>x</b>"), "<b>x</b>");
});

test("a progress bar is the line that a terminal shows", () => {
    assert.equal(textOf("  0%\r 50%\r100%\nend"), "100%\nend");
    assert.equal(textOf("working...\rdone"), "doneing...");
    assert.equal(textOf("abc\b\bX\r\nnext"), "aXc\nnext");
});

test("characters that come in parts are whole", () => {
    const output = new Output();
    for (const byte of Buffer.from("größe"))
        output.add(Uint8Array.of(byte));
    assert.equal(output.text(), "größe");
});

test("any output needs little memory", () => {
    const output = new Output();
    for (let block = 0; block < 200; ++block)
        output.add(Buffer.from(`${block} ${"y".repeat(3000)}\n`.repeat(50)));
    assert.ok(output.isCut && output.text().length <= 1001 * 2001, `${output.text().length}`);
    assert.match(output.text().split("\n").at(-2), /^199 y/);
    output.add(Buffer.from(`\x1b]0;${"t".repeat(100_000)}`));
    assert.ok(output.rest.length < 5000 && output.text().length <= 1001 * 2001);
});
