// SPDX-License-Identifier: LGPL-2.1-or-later
// What later versions of Cockpit translate of the manifest.
cockpit.locale({
    "": {"plural-forms": n => n !== 1, "language": "de", "language-direction": "ltr"},
    "GPUs": [null, "GPUs"],
});
