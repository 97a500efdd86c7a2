// SPDX-License-Identifier: LGPL-2.1-or-later
// Every text of the page has a translation, and every translation has a text.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import vm from "node:vm";
import {PAGE, sources, table} from "./support.js";

const STRINGS = String.raw`((?:"(?:[^"\\]|\\.)*"\s*\+?\s*)+)`;

function textsOfThePage() {
    const texts = new Set();
    const plurals = new Map();
    for (const file of sources()) {
        const text = fs.readFileSync(file, "utf8");
        for (const [, words] of text.matchAll(new RegExp(String.raw`(?<![\w.])_\(\s*${STRINGS}\)`, "g")))
            texts.add(vm.runInNewContext(words));
        for (const [, one, many] of text.matchAll(new RegExp(String.raw`plural\(\s*${STRINGS},\s*${STRINGS},`, "g")))
            plurals.set(vm.runInNewContext(one), vm.runInNewContext(many));
    }
    return {texts, plurals};
}

test("German has every text of the page and no other", () => {
    const {texts, plurals} = textsOfThePage();
    assert.ok(texts.size > 100 && plurals.size > 2);
    const german = table("po.de.js");
    assert.deepEqual(Object.keys(german).filter(key => key !== "").sort(), [...texts, ...plurals.keys()].sort());
    for (const [one, many] of plurals)
        assert.equal(german[one][0], many);
});

test("German keeps the places of the values", () => {
    for (const [text, [, ...translations]] of Object.entries(table("po.de.js")).filter(([key]) => key !== "")) {
        for (const translation of translations)
            assert.deepEqual(translation.match(/\$\d/g)?.sort() ?? [], text.match(/\$\d/g)?.sort() ?? [], text);
    }
});

test("the manifest's label is translated", () => {
    const {label} = JSON.parse(fs.readFileSync(path.join(PAGE, "manifest.json.in"), "utf8")).menu.index;
    assert.ok(table("po.de.js")[label] && table("po.manifest.de.js")[label]);
});
