// SPDX-License-Identifier: LGPL-2.1-or-later
// The output of a job as lines of text: as a terminal without colors shows them, where a carriage return begins a line
// anew, as progress bars do. Escape sequences are left out. It keeps the last lines only, so any output needs little memory.
export const MAX_LINES = 1000;
const MAX_LENGTH = 2000; // of a line

// A sequence of ESC (ECMA-48): CSI, a string (OSC, DCS, SOS, PM, APC), or a short one. The same with C1 controls.
// eslint-disable-next-line no-control-regex
const SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-OQ-WYZ\\`-~]/g;
// The start of a sequence whose end has not come yet.
const UNFINISHED = /(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x9c]*)$/;
const MAX_SEQUENCE = 4000;

export class Output {
    constructor() {
        /** @type {string[]} */
        this.lines = [];
        this.line = "";
        this.column = 0;
        this.decoder = new TextDecoder();
        this.rest = "";
        this.isCut = false;
    }

    /** @param {Uint8Array} bytes */
    add(bytes) {
        let text = this.rest + this.decoder.decode(bytes, {stream: true});
        text = text.replace(SEQUENCE, "");
        const start = UNFINISHED.exec(text);
        this.rest = start && text.length - start.index < MAX_SEQUENCE ? text.slice(start.index) : "";
        if (start)
            text = text.slice(0, start.index);
        for (const part of text.split(/([\r\n\b])/))
            this.#write(part);
        if (this.lines.length > MAX_LINES) {
            this.lines.splice(0, this.lines.length - MAX_LINES);
            this.isCut = true;
        }
    }

    /** @param {string} part */
    #write(part) {
        if (part === "\n") {
            this.lines.push(this.line);
            // More than this is removed anyway, and needs no memory meanwhile.
            if (this.lines.length > 2 * MAX_LINES)
                this.lines.splice(0, MAX_LINES);
            this.line = "";
            this.column = 0;
        } else if (part === "\r") {
            this.column = 0;
        } else if (part === "\b") {
            this.column = Math.max(0, this.column - 1);
        } else {
            const shown = part.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
            this.line = (this.line.slice(0, this.column) + shown + this.line.slice(this.column + shown.length)).slice(0, MAX_LENGTH);
            this.column = Math.min(this.column + shown.length, MAX_LENGTH);
        }
    }

    text() {
        return [...this.lines, this.line].join("\n");
    }
}
