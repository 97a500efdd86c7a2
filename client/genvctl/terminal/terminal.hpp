// SPDX-License-Identifier: LGPL-2.1-or-later
// Output: results go to standard output, everything else to standard error. Colour is used only on
// a terminal and without NO_COLOR.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genv::ctl {

/// Writes a result. Throws Failure if it cannot be written, for example to a full disk.
void print(std::string_view text);

/// Writes text to standard error that is neither a result nor an error of this command.
void printAside(std::string_view text);

/// Writes "genvctl: what", made safe, to standard error as information, not as an error.
void printNote(std::string_view what);

/// The same, but only if standard error is a terminal: for information that is useful to a person
/// but not to a script that checks the output.
void printNoteForPerson(std::string_view what);

/// Whether standard error is a terminal on which a line can be rewritten.
bool canRewriteAside();
/// Returns how many cells the text of such a line may take.
std::size_t asideWidth();
/// Replaces the last such line with "genvctl: what", cut to the width of the terminal.
void rewriteAside(std::string_view what);
/// Removes that line.
void clearAside() noexcept;

/// Returns the width of the terminal on standard output, or nothing if it is not a terminal.
std::optional<std::size_t> terminalWidth();

/// Opens each closed standard descriptor as one that can be neither read nor written, so that
/// another file does not get its number. A program started from here finds these descriptors closed
/// again.
void guardStandardDescriptors();

/// The escape sequences before and after a table's header on standard output. Empty without colour.
struct HeaderEmphasis {
    std::string before;
    std::string after;
};
HeaderEmphasis headerEmphasis();

/// Writes "genvctl: what" and, unless it is empty, the hint on its own line to standard error.
/// Makes both safe.
void complain(std::string_view what, std::string_view hint = {});

/// The same for a problem that did not stop the command.
void warn(std::string_view what, std::string_view hint = {});

} // namespace genv::ctl
