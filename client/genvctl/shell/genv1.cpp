// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/shell/genv1.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/shell/shell_script.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genv::ctl {

namespace {

// genv 1 supports only bash.
constexpr const char* whatToDo = "To use this genv here, run this first, or put it into ~/.bashrc: "
                                 "eval \"$(genvctl shell --init)\"";

bool isNumber(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

// Whether this option of the program or of "remote" itself has its value in the next word.
bool takesValue(std::string_view option) {
    constexpr std::array options{"-H",         "--host", "--hostfile", "-l",
                                 "--username", "-t",     "--timeout",  "--cluster"};
    return std::find(options.begin(), options.end(), option) != options.end();
}

// Returns the words that are neither options nor values of options, at most `count`.
std::vector<std::string_view> firstArguments(const std::vector<std::string>& words,
                                             std::size_t count) {
    std::vector<std::string_view> arguments;
    for (auto word = words.begin(); word != words.end() && arguments.size() < count; ++word) {
        if (!word->starts_with('-'))
            arguments.emplace_back(*word);
        else if (takesValue(*word) && ++word == words.end())
            break;
    }
    return arguments;
}

// Returns what to use in place of "llm" with this subcommand.
std::string insteadOfLlm(std::string_view subcommand, bool isRemote) {
    const char* remote = isRemote ? "remote -H HOSTS " : "";
    if (subcommand == "ps")
        return fmt::format("\"genvctl {}envs\" lists environments; name one with --name.", remote);
    if (subcommand == "attach")
        return isRemote ? "\"ssh HOST ollama run MODEL\" talks to a model."
                        : "\"ollama run MODEL\" talks to a model.";
    return fmt::format("\"genvctl {}run --gpus 1 -- ollama serve\" serves models from a GPU.",
                       remote);
}

bool isOldSpelling(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return name == "-host" || name == "-hostfile";
}

// The exit status of the evaluated output, which becomes that of genv 1's shell function.
std::string withStatus(ExitStatus status) {
    return fmt::format("{}(exit {})\n", genv1CleanupScript, static_cast<int>(status));
}

} // namespace

std::optional<int> answerShellOfGenv1(const std::vector<std::string>& words) {
    if (words.size() < 3 || words[1] != "--shell" || !isNumber(words[2]))
        return std::nullopt;
    const bool activates = words[0] == "activate";
    if (!activates && words[0] != "deactivate")
        return std::nullopt;
    const auto old = namedEnvironment();
    ExitStatus status = ExitStatus::Ok;
    if (activates) {
        status = ExitStatus::Usage;
        complain("this shell was set up by genv 1, and is cleaned up now", whatToDo);
    } else if (old) {
        warn(fmt::format("this shell left environment {} of genv 1, which no longer holds GPUs",
                         old->id),
             whatToDo);
    } else {
        status = ExitStatus::NotInEnvironment;
        complain("Not running in an active environment", whatToDo);
    }
    print(withStatus(status));
    return static_cast<int>(status);
}

std::string genv1CleanupWhereNeeded() {
    return fmt::format(
        "if [[ -n ${{GENV_ENVS-}} ]] || declare -F _genv_replace_env >/dev/null; then\n"
        "{}fi\n",
        genv1CleanupScript);
}

void refuseRemovedCommand(const std::vector<std::string>& words) {
    auto arguments = firstArguments(words, 3);
    const bool isRemote = !arguments.empty() && arguments.front() == "remote";
    if (isRemote)
        arguments.erase(arguments.begin());
    if (arguments.empty() || arguments.front() != "llm")
        return;
    throw Failure(
        ExitStatus::Usage,
        fmt::format("\"{}llm\" of genv 1 is not part of this genv", isRemote ? "remote " : ""),
        insteadOfLlm(arguments.size() > 1 ? arguments[1] : "", isRemote));
}

std::vector<std::string> asSpelledToday(std::vector<std::string> words) {
    auto word = std::find(words.begin(), words.end(), "remote");
    while (word != words.end() && ++word != words.end() && word->starts_with('-') &&
           *word != "--") {
        if (isOldSpelling(*word))
            word->insert(0, 1, '-');
        if (takesValue(*word) && ++word == words.end())
            break;
    }
    return words;
}

} // namespace genv::ctl
