// SPDX-License-Identifier: LGPL-2.1-or-later
// Light or dark, as Cockpit's own pages choose it: by the setting of the shell, or else the browser's.

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
