// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws the nodes returned by views. An element is kept as long as its key exists, so that focus, scroll positions and
// open parts stay. Texts become text nodes, never markup.

/** @typedef {{tag: string, key: string | number | undefined, attributes: Record<string, any>, children: Child[]}} Node */
/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";
// Properties that the user changes. The page sets them only once.
const STATE = new Set(["value", "checked", "open"]);
const drawn = Symbol("what was drawn");

/** @param {string} tag
 * @param {Record<string, any>} [attributes] `key` names the element among its siblings; `oncreate` is called once with the element
 * @param {...(Child | Child[])} children
 * @returns {Node} */
export function h(tag, attributes = {}, ...children) {
    const {key, ...rest} = attributes;
    return {tag, key, attributes: rest, children: children.flat()};
}

/** @param {any} element @param {string} name @param {any} value @param {any} before */
function setAttribute(element, name, value, before) {
    if (name === "oncreate" || value === before)
        return;
    if (name.startsWith("on")) {
        element[name] = value ?? null;
    } else if (STATE.has(name)) {
        if (before === undefined)
            element[name] = value;
    } else if (value === null || value === undefined || value === false) {
        element.removeAttribute(name);
    } else {
        element.setAttribute(name, value === true ? "" : String(value));
    }
}

/** @param {any} element @param {Node} node */
function update(element, node) {
    const before = element[drawn]?.attributes ?? {};
    for (const name of Object.keys(before)) {
        if (!(name in node.attributes))
            setAttribute(element, name, null, before[name]);
    }
    for (const [name, value] of Object.entries(node.attributes))
        setAttribute(element, name, value, before[name]);
    element[drawn] = node;
    draw(element, node.children);
}

/** @param {any} parent @param {Child} child */
function create(parent, child) {
    const document = parent.ownerDocument;
    if (typeof child !== "object" || child === null)
        return document.createTextNode("");
    const space = child.tag === "svg" ? SVG : parent.namespaceURI;
    return space === SVG ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
}

/** @param {Child} child @param {number} index */
function keyOf(child, index) {
    return typeof child === "object" && child !== null ? `${child.tag} ${child.key ?? `#${index}`}` : `text #${index}`;
}

/** @param {any} parent @param {Child[]} children */
function draw(parent, children) {
    /** @type {Map<string, Child>} */
    const wanted = new Map();
    children.forEach((child, index) => {
        if (child !== null && child !== undefined && child !== false)
            wanted.set(keyOf(child, index), child);
    });
    /** @type {Map<string, any>} */
    const there = parent[keys] ?? new Map();
    // Elements are removed first, so that the remaining ones need not be moved.
    for (const [key, element] of there) {
        if (!wanted.has(key))
            element.remove();
    }
    const now = new Map();
    let cursor = parent.firstChild;
    for (const [key, child] of wanted) {
        const known = there.get(key);
        const element = known ?? create(parent, child);
        now.set(key, element);
        if (element === cursor)
            cursor = cursor.nextSibling;
        else
            parent.insertBefore(element, cursor);
        if (typeof child === "object" && child !== null) {
            update(element, child);
            if (!known)
                child.attributes.oncreate?.(element);
        } else if (element.data !== String(child)) {
            element.data = String(child);
        }
    }
    parent[keys] = now;
}
const keys = Symbol("the children by key");

/** Replaces the content of `parent` by the nodes.
 * @param {any} parent
 * @param {Child[]} nodes */
export function render(parent, nodes) {
    const focused = parent.ownerDocument.activeElement;
    draw(parent, nodes);
    // An element that was moved has lost the focus.
    if (focused && focused !== parent.ownerDocument.activeElement && parent.contains(focused))
        focused.focus({preventScroll: true});
}
