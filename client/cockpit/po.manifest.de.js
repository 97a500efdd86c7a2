// SPDX-License-Identifier: LGPL-2.1-or-later
// The texts of the manifest that later versions of Cockpit translate.
cockpit.locale({
    "": {"plural-forms": n => n !== 1, "language": "de", "language-direction": "ltr"},
    "GPUs": [null, "GPUs"],
});
