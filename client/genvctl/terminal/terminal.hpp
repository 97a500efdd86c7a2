// SPDX-License-Identifier: LGPL-2.1-or-later
// What is written where: results to standard output, everything else to standard error, and colour
// only where a person sees it and did not ask for none (NO_COLOR).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genv::ctl {

/// Writes a result. Throws Failure when it cannot be written, such as to a full disk.
void print(std::string_view text);

/// Writes what is no result, but no complaint of this command either, to standard error.
void printAside(std::string_view text);

/// Writes "genvctl: what", made safe, to standard error: what goes on, no complaint.
void tellAside(std::string_view what);

/// The same where standard error is a terminal: for what a person wants to know and a script that
/// checks its output does not.
void tellPerson(std::string_view what);

/// Whether standard error is a terminal on which a line can be written again.
bool canRewriteAside();
/// Writes "genvctl: what" in the place of what was written so before, cut to the terminal's width.
void rewriteAside(std::string_view what);
/// Removes that line.
void clearAside() noexcept;

/// How wide the terminal on standard output is; nothing where it is none.
std::optional<std::size_t> terminalWidth();

/// Opens what of the standard descriptors is closed as something that can be neither read nor
/// written, so that nothing else that is opened is taken for them. A program that is run from here
/// finds them closed, as they were.
void guardStandardDescriptors();

/// The escape sequences that start and end a table's header on standard output; empty without
/// colour.
struct Emphasis {
    std::string before;
    std::string after;
};
Emphasis headerEmphasis();

/// Writes "genvctl: what" and, unless empty, the hint on a line of its own, to standard error.
/// Makes both safe.
void complain(std::string_view what, std::string_view hint = {});

/// The same for something that did not stop the command.
void warn(std::string_view what, std::string_view hint = {});

} // namespace genv::ctl
