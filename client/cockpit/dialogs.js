// SPDX-License-Identifier: LGPL-2.1-or-later
// Modal dialogs, one at a time, and short messages at the edge of the page.
import {_} from "./i18n.js";
import {h, render} from "./vdom.js";

/** @typedef {{title: string, body: import("./vdom.js").Child[], action: string, danger?: boolean,
 *   submit: (form: FormData) => Promise<unknown> | unknown}} Question */

/** A question that follows from a form: `submit` throws it, and the dialog asks it in place of the form, which it keeps. */
export class Choice extends Error {
    /** @param {string} sentence @param {import("./vdom.js").Child[]} body @param {string} action
     * @param {(form: FormData) => Promise<unknown>} submit */
    constructor(sentence, body, action, submit) {
        super(sentence);
        this.body = body;
        this.action = action;
        this.submit = submit;
    }
}

const MESSAGE_TIME = 10_000;
let asked = 0;
let told = 0;

/** Gives the focus to a button that appears in a dialog.
 * @param {HTMLElement} element */
const focus = element => globalThis.queueMicrotask(() => element.focus());

/** Opens a dialog. If `submit` throws an error, the dialog shows it and stays open.
 * @param {Question} question */
export function ask(question) {
    const root = document.getElementById("dialogs");
    const key = ++asked;
    let problem = "";
    /** @type {Choice | null} */
    let choice = null;
    let busy = false;
    const close = () => {
        if (key !== asked)
            return;
        // close() returns the focus to the element that had it before.
        root?.querySelector("dialog")?.close();
        render(root, []);
    };
    const submit = async (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        busy = true;
        problem = "";
        draw();
        try {
            await (choice ?? question).submit(new FormData(/** @type {HTMLFormElement} */ (event.target)));
            close();
        } catch (error) {
            busy = false;
            choice = error instanceof Choice ? error : null;
            problem = choice ? "" : /** @type {any} */ (error)?.message ?? String(error);
            draw();
        }
    };
    const back = () => {
        choice = null;
        draw();
    };
    const draw = () => {
        if (key !== asked)
            return;
        render(root, [h("dialog", {key, "aria-labelledby": "dialog-title", onclose: close,
            oncreate: (/** @type {HTMLDialogElement} */ element) => globalThis.queueMicrotask(() => element.showModal())},
        h("form", {onsubmit: submit},
            h("h2", {id: "dialog-title"}, question.title),
            h("div", {key: "form", hidden: choice !== null}, ...question.body),
            choice && h("div", {key: "choice"}, h("p", {role: "alert"}, choice.message), ...choice.body),
            problem && h("p", {key: "problem", class: "alert", role: "alert"}, problem),
            h("footer", {key: "buttons"},
                choice ? h("button", {key: "choose", type: "submit", class: "primary", disabled: busy, oncreate: focus}, choice.action)
                    : h("button", {key: "submit", type: "submit", class: question.danger ? "danger" : "primary", disabled: busy}, question.action),
                choice && h("button", {key: "back", type: "button", class: "secondary", onclick: back}, _("Back")),
                h("button", {key: "cancel", type: "button", class: "link", onclick: close}, _("Cancel")))))]);
    };
    draw();
}

/** Opens a dialog that only shows something. `draw` shows its present state, until it is closed.
 * @param {{title: () => string, body: () => import("./vdom.js").Child[], onClose: () => void}} content */
export function view(content) {
    const root = document.getElementById("dialogs");
    const key = ++asked;
    const close = () => {
        if (key !== asked)
            return;
        asked += 1; // nothing draws it again
        root?.querySelector("dialog")?.close();
        render(root, []);
        content.onClose();
    };
    const draw = () => {
        if (key !== asked)
            return;
        render(root, [h("dialog", {key, class: "view", "aria-labelledby": "dialog-title", onclose: close,
            oncreate: (/** @type {HTMLDialogElement} */ element) => globalThis.queueMicrotask(() => element.showModal())},
        // The title gets the focus, so that a screen reader begins with it, and a phone shows no keyboard.
        h("h2", {id: "dialog-title", tabindex: -1, autofocus: true}, content.title()), ...content.body(),
        h("footer", {key: "buttons"}, h("button", {key: "close", type: "button", class: "secondary", onclick: close}, _("Close"))))]);
    };
    return {draw};
}

/** @type {{key: number, text: string, bad: boolean}[]} */
let messages = [];

function drawMessages() {
    const forget = (/** @type {number} */ key) => {
        messages = messages.filter(message => message.key !== key);
        drawMessages();
    };
    render(document.getElementById("announcements"), messages.map(({key, text, bad}) =>
        h("div", {key, class: bad ? "message bad" : "message"}, h("p", {}, text),
            h("button", {type: "button", class: "link", "aria-label": _("Close this message"), onclick: () => forget(key)}, "✕"))));
    return forget;
}

/** @param {string} text @param {boolean} [bad] an error, which stays until it is closed */
export function announce(text, bad = false) {
    const key = ++told;
    // What was done lately is enough; what failed stays.
    const done = messages.filter(message => !message.bad).slice(-1);
    messages = [...messages.filter(message => message.bad || done.includes(message)), {key, text, bad}];
    const forget = drawMessages();
    if (!bad)
        globalThis.setTimeout(() => forget(key), MESSAGE_TIME);
}
