// SPDX-License-Identifier: LGPL-2.1-or-later
import assert from "node:assert/strict";
import test from "node:test";
import {complaint, parkCommand, refusalOf, resumeCommand, startCommand, waitCommand} from "../../../client/cockpit/starting.js";

const WISH = {name: "", gpus: 2, model: "", memory: "", lifetime: "", wait: "", share: false, consent: false, preemptible: ""};

test("an environment is a unit of the person's own systemd", () => {
    const command = startCommand("genv-x", "/run/user/1003/genv-x.log", {...WISH, name: "training", lifetime: "7200s", share: true, consent: true});
    assert.deepEqual(command.slice(0, 2), ["systemd-run", "--user"]);
    assert.ok(command.includes("--unit=genv-x") && command.includes("--property=StandardError=truncate:/run/user/1003/genv-x.log"));
    assert.deepEqual(command.slice(command.indexOf("genvctl")), ["genvctl", "--name=training", "--gpus=2", "--lifetime=7200s", "--over-subscribe",
        "--allow-over-subscribe"]);
});

test("an environment on loan is started with the option", () => {
    assert.ok(!startCommand("u", "f", WISH).some(word => word.startsWith("--preemptible")));
    assert.ok(startCommand("u", "f", {...WISH, preemptible: "end"}).includes("--preemptible=end"));
});

test("what people type is neither an option nor a variable", () => {
    const command = startCommand("u", "f", {...WISH, name: "--hold ${HOME} $PATH", model: "$(id)"});
    assert.ok(command.includes("--name=--hold $${HOME} $$PATH"));
    assert.ok(command.includes("--model=$$(id)"));
    // systemd-run turns $$ into $, so bash expands its own variable.
    assert.ok(command.some(word => word.includes('"$$@"')));
});

test("waiting is a command of its own for an environment that is there", () => {
    const command = waitCommand("u", "f", "web-1", {count: 3, model: "H100", lifetime: "", wait: "7200s", share: false});
    assert.ok(command.indexOf("--setenv=GENV_ENVIRONMENT_ID=web-1") < command.indexOf("--"));
    assert.deepEqual(command.slice(command.indexOf("--") + 1), ["genvctl", "attach", "--count=3", "--model=H100", "--wait=7200s"]);
    const sharing = waitCommand("u", "f", "web-1", {count: 3, model: "", lifetime: "", wait: "7200s", share: true});
    assert.equal(sharing.at(-1), "--over-subscribe");
});

test("parking and resuming outlive the page, too", () => {
    const words = command => command.slice(command.indexOf("--") + 1);
    assert.deepEqual(words(parkCommand("u", "f", "web-1")), ["genvctl", "park", "--id=web-1"]);
    assert.deepEqual(words(resumeCommand("u", "f", "web-1", "")), ["genvctl", "resume", "--id=web-1"]);
    assert.deepEqual(words(resumeCommand("u", "f", "web-1", "7200s")), ["genvctl", "resume", "--id=web-1", "--wait=7200s"]);
    assert.deepEqual(parkCommand("u", "f", "web-1").slice(0, 2), ["systemd-run", "--user"]);
});

test("what genvctl said last is the reason, without its hints for a shell", () => {
    assert.equal(complaint("genvctl: waiting for 2 GPUs\ngenvctl: No available devices\n\"--wait\" waits.\n"), "No available devices");
    assert.equal(complaint("Failed to start\n"), "Failed to start");
    assert.equal(complaint(null), "");
});

test("the exit status of genvctl tells a refusal from another failure", () => {
    assert.deepEqual([4, 5, 7].map(refusalOf), ["AccessDenied", "DeviceUnavailable", "QuotaExceeded"]);
    assert.deepEqual([0, 1, 2, 6, null, undefined].map(refusalOf), ["", "", "", "", "", ""]);
});
