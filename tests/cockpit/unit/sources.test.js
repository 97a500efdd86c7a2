// SPDX-License-Identifier: LGPL-2.1-or-later
// Constructs that the sources of the page must not contain.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import {PAGE, sources} from "./support.js";

test("nothing makes markup of text", () => {
    for (const file of sources())
        assert.doesNotMatch(fs.readFileSync(file, "utf8"), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/, file);
});

test("nothing needs more than Cockpit's policy for contents allows", () => {
    const html = fs.readFileSync(path.join(PAGE, "index.html"), "utf8");
    assert.doesNotMatch(html, /\son\w+=|\sstyle=|<style|<script>|https?:/);
    for (const file of sources())
        assert.doesNotMatch(fs.readFileSync(file, "utf8"), /\bstyle:|setAttribute\("style"/, file);
});

test("administrative access is never tried for what is one's own", () => {
    for (const file of sources())
        assert.doesNotMatch(fs.readFileSync(file, "utf8"), /superuser: "try"/, file);
});

test("each file says its licence and is short", () => {
    const others = fs.readdirSync(PAGE).filter(name => /\.(css|html|js)$/.test(name)).map(name => path.join(PAGE, name));
    for (const file of new Set([...sources(), ...others])) {
        const text = fs.readFileSync(file, "utf8");
        assert.match(text.split("\n").slice(0, 2).join("\n"), /SPDX-License-Identifier: LGPL-2\.1-or-later/, file);
        // Each text of the page has a line in a table of translations.
        assert.ok(text.split("\n").length < 400 || /\/po\.[a-z]+\.js$/.test(file), file);
    }
});
