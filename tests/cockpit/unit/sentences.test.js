// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences of the history, for each kind of event that the service records.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import {sentence} from "../../../client/cockpit/sentences.js";
import {PAGE, table} from "./support.js";

const HOUR = 3_600_000_000;
const CONTRACT = fs.readFileSync(path.join(PAGE, "../../service/journal/contract.hpp"), "utf8");
const KINDS = [...CONTRACT.matchAll(/Kind\{"([a-z-]+)", "[0-9a-f]{32}"\}/g)].map(([, kind]) => kind);

const mine = {environment: "58", name: "training", uid: 1001, user: "alice", time: 10 * HOUR, message: "the service's own"};
const own = {...mine, caller: 1001, "caller-user": "alice", reason: "user"};
const bySudo = {caller: 0, "caller-user": "root", "caller-login": 1002, "caller-login-user": "bob"};
const byService = {caller: 0, "caller-user": "root"};
const gpu = {device: 1, uuid: "GPU-1", model: "Tesla T4"};

/** Events with their sentences in English and German. */
const SAID = [
    [{...own, kind: "environment-started"}, "Environment training of alice started", "Umgebung training von alice gestartet"],
    [{...mine, ...byService, kind: "environment-ended", reason: "process-exit"}, "Environment training of alice ended · its last process ended",
        "Umgebung training von alice beendet · der letzte Prozess ist beendet"],
    [{...mine, ...gpu, kind: "lingering", pids: [7, 9]}, "Environment training of alice lingers on GPU 1: PID 7, 9",
        "Umgebung training von alice läuft auf GPU 1 nach: PID 7, 9"],
    [{...mine, ...gpu, ...bySudo, kind: "parked", reason: "admin", memory: 12 * 2 ** 30},
        "training of alice was parked: 12 GiB in host memory, GPU 1 free · by root (bob)",
        "training von alice wurde geparkt: 12 GiB im Hauptspeicher, GPU 1 frei · durch root (bob)"],
    [{...mine, ...gpu, kind: "detached", reason: "parked", held: HOUR}, "GPU 1 detached from training of alice after 1h · it was parked",
        "GPU 1 nach 1h von training von alice getrennt · geparkt"],
    [{...mine, ...gpu, kind: "resumed", took: HOUR}, "training of alice goes on on GPU 1 after 1h", "training von alice läuft nach 1h auf GPU 1 weiter"],
    [{...own, kind: "parking-failed", problem: "it uses MPS"}, "training of alice was not parked: it uses MPS",
        "training von alice wurde nicht geparkt: it uses MPS"],
    [{...mine, kind: "resume-delayed", problem: "GPU 1 is full"}, "training of alice cannot go on yet: GPU 1 is full",
        "training von alice kann noch nicht weiterlaufen: GPU 1 is full"],
    [{...mine, kind: "process-lost", pid: 7, command: "python3", problem: "no room"}, "Process 7 (python3) of training of alice is lost: no room",
        "Prozess 7 (python3) von training von alice ist verloren: no room"],
    [{...mine, ...gpu, kind: "parked", reason: "taken", memory: 12 * 2 ** 30, "taker-user": "bob"},
        "training of alice was parked for bob: 12 GiB in host memory, GPU 1 given up · for another request",
        "training von alice wurde für bob geparkt: 12 GiB im Hauptspeicher, GPU 1 abgegeben · für eine andere Anfrage"],
    [{...mine, ...gpu, kind: "taking-began", memory: 2 ** 30, left: HOUR}, "training of alice takes GPU 1 on loan: 1 GiB moves in about 1h",
        "training von alice übernimmt GPU 1 leihweise: 1 GiB zieht in etwa 1h um"],
    [{...mine, kind: "taking-ended"}, "training of alice has the GPUs that it took", "training von alice hat die übernommenen GPUs"],
    [{...mine, kind: "taking-ended", problem: "it uses MPS"}, "training of alice takes no GPUs: it uses MPS",
        "training von alice übernimmt keine GPUs: it uses MPS"],
    [{...mine, kind: "loan-ending", left: HOUR, "taker-user": "bob"}, "training of alice cannot be parked for bob and ends in 1h",
        "training von alice kann nicht für bob geparkt werden und endet in 1h"],
    [{...mine, kind: "parked-long", left: HOUR}, "training of alice was parked for too long and ends in 1h",
        "training von alice war zu lange geparkt und endet in 1h"],
    [{...own, ...gpu, kind: "attached"}, "GPU 1 attached to training of alice", "GPU 1 an training von alice zugeteilt"],
    [{...own, ...gpu, kind: "attached", share: 2 ** 32}, "4 GiB of GPU 1 attached to training of alice", "4 GiB von GPU 1 an training von alice zugeteilt"],
    [{...mine, ...gpu, ...bySudo, kind: "detached", reason: "admin", held: HOUR}, "GPU 1 detached from training of alice after 1h · by root (bob)",
        "GPU 1 nach 1h von training von alice getrennt · durch root (bob)"],
    [{...mine, ...gpu, ...byService, kind: "detached", reason: "expired"}, "GPU 1 detached from training of alice · the lease ended",
        "GPU 1 von training von alice getrennt · die Frist ist abgelaufen"],
    [{...mine, ...gpu, kind: "in-use", since: HOUR}, "training of alice uses GPU 1", "training von alice nutzt GPU 1"],
    [{...mine, ...gpu, kind: "idle", since: 8 * HOUR}, "training of alice has not used GPU 1 for 2h", "training von alice hat GPU 1 seit 2h nicht genutzt"],
    [{...mine, caller: 1001, "caller-user": "alice", kind: "wait-started", count: 2}, "training of alice waits for 2 GPUs", "training von alice wartet auf 2 GPUs"],
    [{...mine, caller: 1001, "caller-user": "alice", kind: "wait-granted", count: 2, devices: [0, 3], waited: HOUR},
        "training of alice got GPUs 0, 3 after waiting 1h", "training von alice hat nach 1h Wartezeit GPUs 0, 3 bekommen"],
    [{...mine, ...byService, kind: "wait-ended", count: 1, waited: HOUR, reason: "timeout"},
        "training of alice stopped waiting for 1 GPU after 1h · the timeout expired", "training von alice wartet nach 1h nicht mehr auf 1 GPU · die Wartezeit ist abgelaufen"],
    [{...gpu, ...byService, kind: "process-terminated", uid: 1002, user: "bob", pid: 7, command: "python3", reason: "rule:env-memory"},
        "Process 7 (python3) of bob on GPU 1 was told to end · by the rule env-memory",
        "Prozess 7 (python3) von bob auf GPU 1 wurde zum Beenden aufgefordert · durch die Regel env-memory"],
    [{...mine, kind: "refused", caller: 1002, "caller-user": "bob", method: "dev.genv.Environment.Detach", error: "org.freedesktop.DBus.Error.AccessDenied"},
        "bob was refused Detach on training of alice: not permitted", "Detach für training von alice wurde bob verweigert: nicht erlaubt"],
    [{kind: "refused", ...bySudo, method: "dev.genv.Manager.Activate", error: "dev.genv.Error.QuotaExceeded"},
        "root (bob) was refused Activate: over a limit", "Activate wurde root (bob) verweigert: über einer Grenze"],
    [{...byService, kind: "policy-changed", settings: "Grace=30s"}, "The configuration changed: Grace=30s · by root",
        "Die Konfiguration hat sich geändert: Grace=30s · durch root"],
    [{...mine, kind: "lease-ending", left: HOUR}, "The lease of training of alice ends in 1h", "Die Frist von training von alice endet in 1h"],
    [{...mine, ...gpu, kind: "lease-ending", left: HOUR}, "The lease of training of alice on GPU 1 ends in 1h", "Die Frist von training von alice auf GPU 1 endet in 1h"],
    [{kind: "rule-warning", uid: 1002, user: "bob", rule: "non-env-processes", left: 30_000_000}, "The rule non-env-processes warned bob and acts in 30s",
        "Die Regel non-env-processes hat bob gewarnt und greift in 30s"],
    [{kind: "rule-warning", uid: 1002, user: "bob", rule: "non-env-processes", left: 0}, "The rule non-env-processes warned bob",
        "Die Regel non-env-processes hat bob gewarnt"],
    [{...gpu, kind: "device-health", health: "lost"}, "The driver no longer finds GPU 1", "Der Treiber findet GPU 1 nicht mehr"],
    [{...gpu, kind: "device-health", health: "xid-79"}, "The driver reported an error of GPU 1: XID 79", "Der Treiber hat einen Fehler von GPU 1 gemeldet: XID 79"],
    [{...gpu, kind: "device-added"}, "GPU 1 was added: Tesla T4", "GPU 1 ist hinzugekommen: Tesla T4"],
    [{...gpu, kind: "device-removed"}, "GPU 1 was removed: Tesla T4", "GPU 1 ist entfallen: Tesla T4"],
    [{...gpu, kind: "open-refused", uid: 1002, user: "bob", count: 1}, "1 attempt of bob to open GPU 1 without holding it",
        "1 Versuch von bob, GPU 1 ohne Zuteilung zu öffnen"],
    [{...bySudo, kind: "isolation-changed", isolation: "user"}, "Isolation changed: isolated by the kernel · by root (bob)",
        "Abschottung geändert: vom Kernel abgeschottet · durch root (bob)"],
];

function inGerman(action) {
    const german = table("po.de.js");
    globalThis.cockpit = {language: "de", gettext: text => german[text][1], ngettext: (one, _many, count) => german[one][count === 1 ? 1 : 2]};
    try {
        return action();
    } finally {
        delete globalThis.cockpit;
    }
}

test("each kind of event that the service records has sentences here", () => {
    assert.ok(KINDS.length >= 20);
    assert.deepEqual([...new Set(SAID.map(([event]) => event.kind))].sort(), [...KINDS].sort());
});

test("English", () => {
    for (const [event, text] of SAID)
        assert.equal(sentence(event), text);
});

test("German", () => inGerman(() => {
    for (const [event, , text] of SAID)
        assert.equal(sentence(event), text);
}));

test("the service's own sentence stands for what this page does not know", () => {
    for (const unknown of [{kind: "new-kind"}, {kind: "constructor"}, {kind: "device-health", health: "new-state", ...gpu}])
        assert.equal(sentence({...unknown, message: "in its own words"}), "in its own words");
    assert.equal(sentence({...mine, ...byService, kind: "environment-ended", reason: "new-reason"}), "Environment training of alice ended · new-reason");
});

test("names of users' choice are no places for values", () => {
    assert.equal(sentence({...own, ...gpu, kind: "attached", name: "$0 $1"}), "GPU 1 attached to $0 $1 of alice");
});

test("an environment without a name is shown by its job or id", () => {
    assert.equal(sentence({...own, kind: "environment-started", name: undefined}), "Environment 58 of alice started");
    assert.equal(sentence({...own, kind: "environment-started", name: undefined, job: 12}), "Environment Slurm job 12 of alice started");
    assert.equal(sentence({...own, kind: "environment-started", user: undefined}), "Environment training of 1001 started");
});
