# SPDX-License-Identifier: LGPL-2.1-or-later
"""Accessibility rules that a browser can check, as scripts that return the violations."""

# Elements that are wider than the window.
OVERFLOW = """
const wide = [...document.querySelectorAll("main *, dialog *")].filter(each => {
    const box = each.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.right > innerWidth + 1 || box.left < -1) && !each.closest(".hidden, thead");
});
return wide.map(each => `${each.tagName} ${each.className.baseVal ?? each.className} ${each.textContent.slice(0, 40)}`);
"""

# Texts of cards that are cut.
CLIPPED = """
return [...document.querySelectorAll(".card *")].filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1
    && getComputedStyle(each).overflow !== "visible").map(each => each.textContent.slice(0, 60));
"""

# Parts of cards that begin higher or lower than those of their neighbors.
UNALIGNED = """
const top = each => Math.round(each.getBoundingClientRect().top);
const rows = Map.groupBy(document.querySelectorAll(".card"), top);
return [...rows.values()].flatMap(cards => [".model", ".who", ".graph", ".bar", ".conditions"].filter(part =>
    new Set(cards.map(card => top(card.querySelector(part)))).size > 1));
"""

# Names, roles, ids, headings, and the contrast of text (WCAG 2.1 AA).
RULES = """
const broken = [];
const shown = each => each.getClientRects().length > 0 && !each.closest(".hidden");
const name = each => each.getAttribute("aria-label")?.trim() || each.labels?.[0]?.innerText.trim()
    || document.getElementById(each.getAttribute("aria-labelledby"))?.innerText.trim() || each.innerText?.trim() || "";
for (const each of document.querySelectorAll("button, input, select, summary, table, dialog, section, [role=img], [role=meter]")) {
    if (shown(each) && !name(each))
        broken.push(`no name: ${each.outerHTML.slice(0, 100)}`);
}
for (const each of document.querySelectorAll("button[aria-label]")) {
    if (/\\w/.test(each.innerText) && !each.getAttribute("aria-label").includes(each.innerText.trim()))
        broken.push(`the name lacks what is seen: ${each.outerHTML.slice(0, 100)}`);
}
for (const each of document.querySelectorAll("main svg:not([role]):not([aria-hidden])"))
    if (!each.closest("[aria-hidden]"))
        broken.push(`a picture without words: ${each.outerHTML.slice(0, 100)}`);
const ids = [...document.querySelectorAll("[id]")].map(each => each.id);
broken.push(...ids.filter((id, index) => ids.indexOf(id) !== index).map(id => `twice the id ${id}`));
for (const each of document.querySelectorAll("[aria-labelledby], [aria-describedby], label[for]")) {
    for (const id of [each.getAttribute("aria-labelledby"), each.getAttribute("aria-describedby"), each.htmlFor].filter(Boolean))
        if (!document.getElementById(id))
            broken.push(`nothing has the id ${id}`);
}
let level = 0;
for (const each of document.querySelectorAll("main h1, main h2, main h3")) {
    const now = Number(each.tagName[1]);
    if (now > level + 1)
        broken.push(`a heading skips a level: ${each.innerText}`);
    level = now;
}
if (document.querySelectorAll("main h1").length !== 1 || !document.documentElement.lang || !document.title)
    broken.push("no one first heading, language or title");

const channels = text => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const luminance = color => color.slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
const back = each => {
    for (; each; each = each.parentElement) {
        const color = channels(getComputedStyle(each).backgroundColor);
        if (color.length < 4 || color[3] === 1)
            return color;
    }
    return [255, 255, 255];
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(element) || element.closest("svg, option, :disabled, .empty-frame"))
        continue;
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(back(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5)
        broken.push(`too little contrast (${((a + 0.05) / (b + 0.05)).toFixed(1)}): ${texts.currentNode.data}`);
}
return [...new Set(broken)];
"""
