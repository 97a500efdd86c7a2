// SPDX-License-Identifier: LGPL-2.1-or-later
// Selects light or dark colours like Cockpit's own pages: by the setting of Cockpit's shell, or else of the browser.

export function followTheme() {
    const wantsDark = globalThis.matchMedia("(prefers-color-scheme: dark)");
    /** @param {string | null} [chosen] */
    const apply = chosen => {
        const style = chosen ?? localStorage.getItem("shell:style") ?? "auto";
        const isDark = style === "dark" || (style === "auto" && wantsDark.matches);
        document.documentElement.classList.toggle("dark", isDark);
    };
    window.addEventListener("storage", event => event.key === "shell:style" && apply());
    window.addEventListener("cockpit-style", event => apply(/** @type {CustomEvent} */ (event).detail.style));
    wantsDark.addEventListener("change", () => apply());
    apply();
}
