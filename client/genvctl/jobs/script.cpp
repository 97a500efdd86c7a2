// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/script.hpp"

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/jobs/input.hpp"
#include "client/genvctl/jobs/shell_words.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace genv::ctl {

namespace {

// The kernel accepts no longer argument than 128 KiB. The text is one, and its escapes make it
// longer.
constexpr std::size_t maxEscaped = std::size_t{128} * 1024 - 1;

// "{}" in a command stands for the value of a task, and must not be replaced in a script.
std::string escapedText(std::string_view text) {
    std::string escaped;
    for (const char character : text) {
        if (character == '{')
            escaped += "%7b";
        else if (character == '%')
            escaped += "%25";
        else
            escaped += character;
    }
    return escaped;
}

std::string unescapedText(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        const bool isBrace = text.starts_with("%7b");
        const bool isPercent = text.starts_with("%25");
        plain += isBrace ? '{' : text.front();
        text.remove_prefix(isBrace || isPercent ? 3 : 1);
    }
    return plain;
}

std::string_view takeLine(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

bool isBlank(char character) {
    return character == ' ' || character == '\t' || character == '\r';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && isBlank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isBlank(text.back()))
        text.remove_suffix(1);
    return text;
}

// Returns a descriptor that holds the text and stays open in the interpreter.
int fileInMemory(const std::string& name, std::string_view text) {
    const int descriptor = memfd_create(name.substr(0, 200).c_str(), 0);
    if (descriptor < 0 || !client::writeAll(descriptor, text))
        throw Failure(ExitStatus::Failed,
                      fmt::format("the script cannot be kept in memory: {}", std::strerror(errno)));
    return descriptor;
}

} // namespace

Script readScript(const std::string& file) {
    Script script;
    script.name = file == "-" ? "script" : std::filesystem::path(file).filename().native();
    script.text = readInput(file, maxEscaped + 1);
    if (script.text.find('\0') != std::string::npos)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("{} is not a script: it contains a zero byte", core::escaped(file)),
            fmt::format("To run a program, put \"--\" before it: \"genvctl submit -- "
                        "{}\".",
                        core::escaped(file)));
    if (script.text.find_first_not_of(" \t\r\n") == std::string::npos)
        throw Failure(ExitStatus::Usage, fmt::format("{} is empty", core::escaped(script.name)));
    if (escapedText(script.text).size() > maxEscaped)
        throw Failure(ExitStatus::Usage,
                      fmt::format("{} is too long for a job: expected at most 128 KiB",
                                  core::escaped(script.name)),
                      "Submit a command that runs it: \"genvctl submit -- ./SCRIPT\".");
    return script;
}

std::vector<ScriptLine> optionLines(const Script& script) {
    constexpr std::string_view mark = "#genv";
    std::vector<ScriptLine> lines;
    std::string_view rest = script.text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = trimmed(takeLine(rest));
        if (!line.empty() && line.front() != '#')
            break;
        if (!line.starts_with(mark) || (line.size() > mark.size() && !isBlank(line[mark.size()])))
            continue;
        const auto words = shellWords(line.substr(mark.size()));
        if (!words)
            throw Failure(ExitStatus::Usage, fmt::format("{}:{}: a quotation mark is not closed",
                                                         core::escaped(script.name), number));
        lines.push_back({number, *words});
    }
    return lines;
}

std::vector<std::string> commandOf(const Script& script, const std::string& program,
                                   const std::vector<std::string>& arguments) {
    std::vector<std::string> command{program, runScriptWord, escapedText(script.name),
                                     escapedText(script.text)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

std::optional<std::vector<std::string>> scriptWords(const std::vector<std::string>& command) {
    constexpr std::size_t arguments = 4;
    if (command.size() < arguments || command[1] != runScriptWord ||
        std::filesystem::path(command[0]).filename() != "genvctl")
        return std::nullopt;
    std::vector<std::string> words{unescapedText(command[2])};
    words.insert(words.end(), command.begin() + arguments, command.end());
    return words;
}

std::vector<std::string> interpreterOf(std::string_view text) {
    if (!text.starts_with("#!"))
        return {"/bin/sh"};
    std::string_view line = takeLine(text);
    line.remove_prefix(2);
    line = trimmed(line);
    const std::size_t end = line.find_first_of(" \t");
    std::vector<std::string> words{std::string(line.substr(0, end))};
    if (end != std::string_view::npos)
        words.emplace_back(trimmed(line.substr(end)));
    return words;
}

void runScript(const std::vector<std::string>& words) {
    if (words.size() < 2)
        throw Failure(ExitStatus::Usage, "run-script needs a name and a text");
    const std::string text = unescapedText(words[1]);
    std::vector<std::string> command = interpreterOf(text);
    command.push_back(fmt::format("/dev/fd/{}", fileInMemory(unescapedText(words[0]), text)));
    command.insert(command.end(), words.begin() + 2, words.end());
    execute(command);
}

} // namespace genv::ctl
