// SPDX-License-Identifier: LGPL-2.1-or-later
// top: executes genv-top, so that genvctl itself does not link ncurses.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/top/option_table.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

struct TopArguments {
    bool isOnce = false;
    bool isReadOnly = false;
    std::optional<std::string> gpus;
};

std::vector<std::string> wordsFor(const GlobalOptions& global, const TopArguments& arguments) {
    std::vector<std::string> words;
    if (arguments.isOnce)
        words.emplace_back(top::onceOption.name);
    if (arguments.isReadOnly)
        words.emplace_back(top::readOnlyOption.name);
    const auto add = [&](const std::string& name, const std::optional<std::string>& value) {
        if (value)
            words.push_back(name + "=" + *value);
    };
    add(top::gpuOption.name, arguments.gpus);
    add("--host", global.host);
    add("--cluster", global.cluster);
    if (global.noAskPassword)
        words.emplace_back("--no-ask-password");
    if (global.json != JsonMode::Off)
        words.emplace_back(global.json == JsonMode::Pretty ? "--json=pretty" : "--json=short");
    return words;
}

[[noreturn]] void becomeTop(const GlobalOptions& global, const TopArguments& arguments) {
    if constexpr (!GENV_WITH_TOP)
        throw Failure(ExitStatus::Failed, "this build of genv has no genv-top",
                      "Build genv with -DGENV_WITH_TOP=ON.");
    becomeSibling({"genv-top", GENV_TOP_PATH, "The program", "genv"}, wordsFor(global, arguments));
}

} // namespace

constexpr std::array topExamples{
    Example{"Watch the GPUs of this machine", "genvctl top"},
    Example{"Print the GPUs 0 to 3 once", "genvctl top --once --gpu 0-3"},
    Example{"Watch the GPUs of another machine", "genvctl -H gpu1 top"},
};

void addTop(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "top", "Show the users of each GPU, live",
                   {.onCluster = {cluster::Handling::Itself}, .examples = topExamples});
    const auto arguments = std::make_shared<TopArguments>();
    command->add_flag(top::onceOption.name, arguments->isOnce, top::onceOption.help);
    command->add_flag(top::readOnlyOption.name, arguments->isReadOnly, top::readOnlyOption.help);
    addOption(*command, top::gpuOption.name, arguments->gpus, top::gpuOption.help,
              {.values = ValueKind::Device})
        ->type_name(top::gpuOption.argument);
    command->footer("Press h for the keys, or q to quit.\n"
                    "If standard output is not a terminal, everything is printed once.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { becomeTop(context.options, *arguments); };
    });
}

} // namespace genv::ctl
