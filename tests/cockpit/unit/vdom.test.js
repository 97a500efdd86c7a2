// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing on a document that implements only the necessary parts of the DOM.
import assert from "node:assert/strict";
import test from "node:test";
import {h, render} from "../../../client/cockpit/vdom.js";

class Text {
    constructor(document, data) {
        Object.assign(this, {ownerDocument: document, data, parent: null});
    }
    remove() {
        this.parent?.take(this);
    }
    get nextSibling() {
        return this.parent.children[this.parent.children.indexOf(this) + 1] ?? null;
    }
    toString() {
        return this.data;
    }
}

class Element extends Text {
    constructor(document, space, tag) {
        super(document, "");
        Object.assign(this, {namespaceURI: space, tag, children: [], attributes: {}, moves: 0});
    }
    get firstChild() {
        return this.children[0] ?? null;
    }
    take(child) {
        this.children.splice(this.children.indexOf(child), 1);
        child.parent = null;
        if (this.ownerDocument.activeElement === child)
            this.ownerDocument.activeElement = null;
    }
    insertBefore(child, before) {
        if (child.parent)
            child.parent.take(child);
        this.children.splice(before ? this.children.indexOf(before) : this.children.length, 0, child);
        child.parent = this;
        child.moves = (child.moves ?? 0) + 1;
    }
    setAttribute(name, value) {
        this.attributes[name] = value;
    }
    removeAttribute(name) {
        delete this.attributes[name];
    }
    contains(other) {
        return this === other || this.children.some(child => child instanceof Element && child.contains(other));
    }
    focus() {
        this.ownerDocument.activeElement = this;
    }
    toString() {
        return `<${this.tag}>${this.children.join("")}</${this.tag}>`;
    }
}

function root() {
    const document = {activeElement: null, createTextNode: data => new Text(document, data),
        createElement: tag => new Element(document, "html", tag), createElementNS: (space, tag) => new Element(document, space, tag)};
    return document.createElement("body");
}

const row = key => h("li", {key}, `row ${key}`);

test("texts are texts", () => {
    const body = root();
    render(body, [h("p", {title: "<b>"}, "<img src=x>", null, false, 5)]);
    assert.ok(body.children[0].children.every(child => child.constructor === Text));
    assert.equal(body.children[0].children[0].data, "<img src=x>");
    assert.equal(body.children[0].attributes.title, "<b>");
});

test("an element stays for as long as its key does, wherever it is", () => {
    const body = root();
    render(body, ["a", "b", "c"].map(row));
    const [a, b, c] = body.children;
    render(body, ["c", "a", "d"].map(row));
    assert.deepEqual(body.children.slice(0, 2), [c, a]);
    assert.equal(body.toString(), "<body><li>row c</li><li>row a</li><li>row d</li></body>");
    assert.equal(b.parent, null);
});

test("what stays after something that goes does not move", () => {
    const body = root();
    render(body, ["a", "b", "c"].map(row));
    const [, b, c] = body.children;
    render(body, ["b", "c"].map(row));
    assert.deepEqual([b.moves, c.moves], [1, 1]);
});

test("an optional part before another does not take its place", () => {
    const body = root();
    render(body, [null, h("p", {}, "second")]);
    const [second] = body.children;
    render(body, [h("p", {}, "first"), h("p", {}, "second")]);
    assert.equal(body.children[1], second);
    assert.equal(second.moves, 1);
});

test("the focus stays with what moves, and goes with what goes", () => {
    const body = root();
    render(body, ["a", "b"].map(row));
    const [a] = body.children;
    a.focus();
    render(body, ["b", "a"].map(row));
    assert.equal(body.ownerDocument.activeElement, a);
    render(body, ["b"].map(row));
    assert.equal(body.ownerDocument.activeElement, null);
});

test("attributes come, change and go; handlers are the latest", () => {
    const body = root();
    const calls = [];
    render(body, [h("button", {disabled: true, "aria-label": "x", onclick: () => calls.push(1)})]);
    const [button] = body.children;
    assert.deepEqual(button.attributes, {disabled: "", "aria-label": "x"});
    render(body, [h("button", {disabled: false, onclick: () => calls.push(2)})]);
    assert.deepEqual(button.attributes, {});
    button.onclick();
    assert.deepEqual(calls, [2]);
});

test("what a person types stays", () => {
    const body = root();
    render(body, [h("input", {value: "2h"})]);
    body.children[0].value = "3h";
    render(body, [h("input", {value: "2h"})]);
    assert.equal(body.children[0].value, "3h");
});

test("graphics are made as such, and their parts too", () => {
    const body = root();
    render(body, [h("svg", {}, h("path", {d: "M0,0"}))]);
    assert.ok(body.children[0].namespaceURI.endsWith("/svg"));
    assert.equal(body.children[0].children[0].namespaceURI, body.children[0].namespaceURI);
});
