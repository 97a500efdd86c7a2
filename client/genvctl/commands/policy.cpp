// SPDX-License-Identifier: LGPL-2.1-or-later
// policy: suggests settings of the service, and checks files with the service's own parser.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/service_program.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/policy/present_use.hpp"
#include "client/genvctl/policy/suggest.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

// The service prints the errors on standard error itself.
void check(Context& context, const std::string& file) {
    const int status = checkWithService(file, false, findPresentUse(context)).status;
    if (WIFSIGNALED(status))
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} was ended by signal {}", serviceProgram(), WTERMSIG(status)));
    if (status != 0)
        throw Failure(ExitStatus::Failed, "");
}

constexpr std::array policyCheckExamples{
    Example{"Check a changed configuration file", "genvctl policy check genvd.conf.new"},
};

void addCheck(CLI::App& policy, Context& context) {
    CLI::App* command = addCommand(policy, "check", "Check whether a configuration file is valid",
                                   {.examples = policyCheckExamples});
    const auto file = std::make_shared<std::string>();
    addOption(*command, "FILE", *file, "Check FILE, such as a changed copy of genvd.conf",
              {.values = ValueKind::File})
        ->required()
        ->type_name("");
    command->footer(fmt::format(
        "Exits with status 0 if the file is valid, and prints its effects on those\n"
        "who use GPUs now. Otherwise exits with status 1 and prints the invalid lines\n"
        "to standard error. The command runs {}\n"
        "--check, or the program in the environment variable GENVD, and changes nothing.",
        GENV_SERVICE_PATH));
    command->callback(
        [&context, file] { context.command = [&context, file] { check(context, *file); }; });
}

constexpr std::array policySuggestExamples{
    Example{"Suggest settings after questions", "genvctl policy suggest"},
    Example{"Prepare settings for a class of students",
            "genvctl policy suggest --class --output 50-suggested.conf"},
};

void addSuggest(CLI::App& policy, Context& context) {
    CLI::App* command =
        addCommand(policy, "suggest", "Suggest settings, after at most five questions",
                   {.examples = policySuggestExamples});
    const auto arguments = std::make_shared<SuggestArguments>();
    std::vector<CLI::Option*> presets;
    for (const core::MachineUseWords& words : core::machineUses()) {
        CLI::Option* preset = command->add_flag_callback(
            fmt::format("--{}", words.name), [arguments, use = words.use] { arguments->use = use; },
            std::string(words.help));
        for (CLI::Option* other : presets)
            preset->excludes(other);
        presets.push_back(preset);
    }
    CLI::Option* output =
        Definition::of(*command)
            .describe(command->add_option_function<std::string>(
                          "--output",
                          [arguments](const std::string& file) { arguments->output = file; },
                          "Write to FILE instead of standard output"),
                      {.values = ValueKind::File})
            ->type_name("FILE");
    command->add_flag("--force", arguments->force, "Replace the file")->needs(output);
    command->footer(
        "Prints a commented file for " GENV_CONFIGURATION_FOLDER "/genvd.conf.d, and changes\n"
        "nothing itself. Three options answer all questions at once. Without them, the\n"
        "command needs a terminal.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { suggestPolicy(context, *arguments); };
    });
}

} // namespace

constexpr std::array policyExamples{
    Example{"Suggest settings for a research lab", "genvctl policy suggest --lab"},
    Example{"Check a changed configuration file", "genvctl policy check genvd.conf.new"},
};

void addPolicy(CLI::App& app, Context& context) {
    CLI::App* policy = addCommand(app, "policy", "Suggest and check limits and rules",
                                  {.examples = policyExamples});
    policy->require_subcommand(1);
    addSuggest(*policy, context);
    addCheck(*policy, context);
}

} // namespace genv::ctl
