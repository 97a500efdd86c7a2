// SPDX-License-Identifier: LGPL-2.1-or-later
// A script that is submitted as a job. The job has the script's text, so that a later change of the
// file changes no job: its command is "genvctl run-script NAME TEXT [ARGUMENT]...", which gives the
// text to the interpreter of its first line as a file in memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// The first argument of genvctl in the command of such a job.
inline constexpr const char* runScriptWord = "run-script";

struct Script {
    std::string name; ///< of the file; "script" from standard input
    std::string text;
};

/// The options in a line of a script.
struct ScriptLine {
    std::size_t number = 0; ///< from 1
    std::vector<std::string> words;
};

/// Reads a script from a file, or from standard input if the file is "-". Throws Failure.
Script readScript(const std::string& file);

/// Returns the lines "#genv ..." among the comments and empty lines at the start of the text. Words
/// are quoted as in a shell. Throws Failure(Usage).
std::vector<ScriptLine> optionLines(const Script& script);

/// Returns the command of a job that runs the script. `program` is the path of genvctl.
std::vector<std::string> commandOf(const Script& script, const std::string& program,
                                   const std::vector<std::string>& arguments);
/// Returns the name and the arguments of the script, if this is such a command.
std::optional<std::vector<std::string>> scriptWords(const std::vector<std::string>& command);

/// Returns the words of the interpreter in the first line, "#!..." as the kernel reads it; /bin/sh
/// without such a line.
std::vector<std::string> interpreterOf(std::string_view text);

/// Runs the script of such a command in place of this process. The words are those after
/// "run-script".
[[noreturn]] void runScript(const std::vector<std::string>& words);

} // namespace genv::ctl
