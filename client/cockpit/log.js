// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the output of a job or task by "genvctl logs", which watches the file and ends with the job.
import {MAX_LINES, Output} from "./output.js";
import {complaint} from "./starting.js";

const TAIL = MAX_LINES + 1; // one more, so that the output knows that it is cut

export class Log {
    /** @param {any} cockpit @param {string} job such as 17 or 17.3 @param {() => void} onChange */
    constructor(cockpit, job, onChange) {
        this.job = job;
        this.output = new Output();
        /** Why there is no output, or "". */
        this.problem = "";
        this.hasEnded = false;
        this.process = cockpit.spawn(["genvctl", "logs", "--follow", `--tail=${TAIL}`, job], {err: "message", binary: true});
        this.process.stream((/** @type {Uint8Array} */ bytes) => {
            this.output.add(bytes);
            onChange();
        });
        const end = (/** @type {any} */ error) => {
            this.hasEnded = true;
            // The status is the job's, unless genvctl says why it failed. Without a status, it was not run.
            const message = String(error?.message ?? "");
            if (message.startsWith("genvctl: "))
                this.problem = complaint(message);
            else if (error && typeof error.exit_status !== "number")
                this.problem = message || String(error.problem);
            onChange();
        };
        this.process.then(() => end(null), end);
    }

    close() {
        if (!this.hasEnded)
            this.process.close("terminated");
    }
}
