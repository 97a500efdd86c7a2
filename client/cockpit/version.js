// SPDX-License-Identifier: LGPL-2.1-or-later
// The version of this page, and the way to a later one.

/** A test compares this with the version of genv. */
export const VERSION = "2.0.0";

/** Returns whether a version is older than another.
 * @param {string} version such as 2.0.0 @param {string} other */
export function isOlder(version, other) {
    const [parts, others] = [version, other].map(each => each.split(".").map(part => Number.parseInt(part, 10) || 0));
    const at = others.findIndex((part, index) => part !== (parts[index] ?? 0));
    return at >= 0 && (parts[at] ?? 0) < others[at];
}

/** Loads the page that is installed now. Cockpit's bridge knows the files of all pages from its start. It gives them an
 * address with a checksum, under which the browser keeps them, so a simple reload would show the same page again.
 * @param {any} cockpit */
export async function reloadPage(cockpit) {
    const {location} = globalThis;
    const bridge = cockpit.dbus(null, {bus: "internal"});
    try {
        await bridge.call("/packages", "cockpit.Packages", "Reload", []);
        // With an answer of the bridge, the web server learns the new checksum.
        await fetch(location.pathname, {cache: "no-store"});
    } catch {
        // Without it, the page may only be the same again.
    } finally {
        bridge.close();
    }
    // The web server redirects this address to the one with the present checksum.
    location.replace(location.pathname.replace(/\/[$@][^/]+\//, `/@${cockpit.transport.host}/`));
}
