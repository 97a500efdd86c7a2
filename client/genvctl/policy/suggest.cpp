// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/policy/suggest.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/files.hpp"
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/policy/interview.hpp"
#include "client/genvctl/policy/present_use.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/settings/suggested_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <system_error>

namespace genv::ctl {

namespace {

namespace fs = std::filesystem;

// As genvd.conf, which users may read.
constexpr mode_t configurationMode = 0644;

std::string obstacleOrNothing() {
    try {
        return obstacleToIsolation();
    } catch (const Failure&) {
        return {}; // not known, as for a program that is not installed
    }
}

core::MachineFigures findFigures(Context& context) {
    core::MachineFigures figures;
    figures.noIsolation = obstacleOrNothing();
    if (!isServiceRunning()) {
        figures.whyAssumed = "genvd is not running";
        return figures;
    }
    try {
        const std::size_t count = context.client().devices().size();
        if (count == 0)
            figures.whyAssumed = "genvd sees no GPU";
        else
            figures.gpus = static_cast<std::uint32_t>(count);
    } catch (const Error&) {
        figures.whyAssumed = "genvd does not answer";
    }
    return figures;
}

// Refused before the questions, so that nobody answers them for nothing. The file is created
// without a race later.
void requireFree(const SuggestArguments& arguments) {
    if (!arguments.output)
        return;
    const fs::path& file = *arguments.output;
    if (file.extension() != ".conf")
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid file name \"{}\": expected a name that ends in .conf",
                                  file.native()),
                      "genvd reads no other names.");
    std::error_code error;
    const fs::file_type type = fs::symlink_status(file, error).type();
    if (type == fs::file_type::directory)
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} is a directory: nothing was written", file.native()));
    if (type != fs::file_type::not_found && type != fs::file_type::none && !arguments.force)
        throwExisting(file);
}

core::PolicyAnswers findAnswers(const SuggestArguments& arguments,
                                const core::MachineFigures& figures) {
    if (arguments.use)
        return core::usualAnswers(*arguments.use, figures);
    return interview(
        std::cin, [](std::string_view text) { printAside(text); }, figures);
}

// A file elsewhere must be copied, or genvd does not read it.
std::string nextSteps(const fs::path& file, const core::PolicyAnswers& answers) {
    const std::string name = shown(file.native());
    const fs::path folder = GENV_CONFIGURATION_FOLDER "/genvd.conf.d";
    std::error_code error;
    const bool isInPlace = fs::equivalent(fs::absolute(file, error).parent_path(), folder, error);
    return fmt::format("Wrote {}.\nNext, as root:\n  genvctl policy check {}\n{}  {}\n", name, name,
                       isInPlace ? "" : fmt::format("  cp {} {}/\n", name, folder.native()),
                       core::commandToApply(answers));
}

} // namespace

void suggestPolicy(Context& context, const SuggestArguments& arguments) {
    if (!arguments.use && (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0))
        throw Failure(ExitStatus::Usage, "no terminal for the questions",
                      "Without one, give --lab, --class or --cluster.");
    requireFree(arguments);
    const core::MachineFigures figures = findFigures(context);
    if (!figures.whyAssumed.empty())
        printNote(fmt::format("{}: assuming {} GPUs", figures.whyAssumed, figures.gpus));
    const core::PolicyAnswers answers = findAnswers(arguments, figures);
    const std::string text = core::suggestedFile(answers, figures);
    if (!arguments.output) {
        print(text);
        return;
    }
    writeFile(*arguments.output, text, configurationMode,
              arguments.force ? Existing::Replaced : Existing::Refused);
    print(nextSteps(*arguments.output, answers));
}

} // namespace genv::ctl
