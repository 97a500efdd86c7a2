// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/work.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/jobs/script_options.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace genv::ctl {

namespace {

// Returns the name for a job without --name; nothing if the file's name is not a valid one.
std::optional<std::string> nameOfScript(const Script& script) {
    try {
        core::requireName(script.name);
        return script.name;
    } catch (const core::Error&) {
        return std::nullopt;
    }
}

void requireScript(const std::string& word) {
    std::error_code error;
    const bool isFile = word == "-" || (std::filesystem::exists(word, error) &&
                                        !std::filesystem::is_directory(word, error));
    if (!isFile)
        throw Failure(ExitStatus::Usage,
                      fmt::format("there is no script \"{}\"", core::escaped(word)),
                      fmt::format("Put \"--\" before a command: \"genvctl submit -- {}\".",
                                  core::escaped(word)));
}

bool isGpuRequest(const CLI::App& options) {
    return options.count("--gpus") + options.count("--model") + options.count("--index") +
               options.count("--uuid") >
           0;
}

} // namespace

Work readWork(const CLI::App& command, const std::vector<std::string>& words, bool isCommand,
              const std::function<void(const CLI::App&)>& check) {
    Work work;
    const bool isMarked = !words.empty() && words.front() == "--";
    if (!isCommand && !isMarked) {
        if (words.empty())
            throw Failure(ExitStatus::Usage, "missing command or script",
                          "\"genvctl submit -- COMMAND\" submits a command, \"genvctl submit "
                          "FILE\" a script.");
        requireScript(words.front());
        work.script = readScript(words.front());
        work.arguments.assign(words.begin() + 1, words.end());
    }
    work.job = readWithScript(command, work.script.value_or(Script{}), [&](const CLI::App& all) {
        work.namesGpus = isGpuRequest(all);
        check(all);
    });
    if (!work.script)
        work.job.command = commandWords(command);
    else if (!work.job.name)
        work.job.name = nameOfScript(*work.script);
    return work;
}

} // namespace genv::ctl
