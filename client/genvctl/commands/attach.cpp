// SPDX-License-Identifier: LGPL-2.1-or-later
// attach and detach: which devices the environment of this shell holds.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/requests.hpp"
#include "client/genvctl/commands/waiting_options.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/status_file.hpp"
#include "client/genvctl/terminal.hpp"
#include "core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace genv::ctl {

namespace {

struct AttachArguments {
    AttachOptions request;
    WaitingOptions waiting;
    bool configured = false;
    bool refresh = false;
};

// A shell without genv's function, such as the "sh -c" of a command of "run", keeps its variables:
// nobody can change those of a process from outside.
void warnOfUnchangedVariables(const std::string& visible) {
    const char* now = std::getenv("CUDA_VISIBLE_DEVICES");
    if (now == nullptr || now != visible)
        warn(fmt::format("the variables of this shell are unchanged: CUDA_VISIBLE_DEVICES is {}",
                         now == nullptr ? "not set" : core::escaped(now)),
             fmt::format("To use the attached GPUs: export CUDA_VISIBLE_DEVICES={}", visible));
}

void tellDevices(Context& context, const std::vector<std::uint32_t>& attached,
                 ShellCode code = {}) {
    const std::string visible = visibleDevices(context.client(), attached);
    if (!context.shell)
        warnOfUnchangedVariables(visible);
    code.set(deviceVariables(visible));
    context.tellShell(code);
}

void attach(Context& context, const AttachArguments& arguments) {
    context.inEnvironment([&](const std::string& id) {
        if (arguments.refresh) {
            tellDevices(context, context.client().environment(id).devices);
            return;
        }
        context.client().listenForNotices(geteuid());
        AttachOptions request = arguments.request;
        arguments.waiting.apply(request);
        const std::optional<std::string> before = lastGrant(id);
        const std::vector<std::uint32_t> attached = requestDevices(context, id, request);
        // What is answered here is no news at the next prompt.
        ShellCode code;
        if (const std::optional<std::string> grant = lastGrant(id); grant && grant != before)
            code.know(*grant);
        tellDevices(context, attached, std::move(code));
        context.warnOfNotices(id);
    });
}

void detach(Context& context, std::optional<std::uint32_t> index) {
    context.inEnvironment([&](const std::string& id) {
        std::vector<std::uint32_t> indices;
        if (index)
            indices.push_back(*index);
        tellDevices(context,
                    context.authorised([&](Client& client) { return client.detach(id, indices); }));
    });
}

} // namespace

void addAttach(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("attach", "Attach GPUs to this shell's environment");
    const auto arguments = std::make_shared<AttachArguments>();
    CLI::Option* configured =
        command->add_flag("--config", arguments->configured, "As many as are configured (default)");
    CLI::Option* count = command->add_option("--count", arguments->request.count, "So many")
                             ->type_name("N")
                             ->excludes(configured);
    CLI::Option* index =
        command->add_option("--index", arguments->request.index, "The one with this index")
            ->type_name("I")
            ->excludes(configured)
            ->excludes(count);
    CLI::Option* uuid =
        command->add_option("--uuid", arguments->request.uuid, "The one with this UUID")
            ->type_name("UUID")
            ->excludes(configured)
            ->excludes(count)
            ->excludes(index);
    CLI::Option* model = command
                             ->add_option("--model", arguments->request.model,
                                          "Only of a model whose name has this in it")
                             ->type_name("NAME")
                             ->excludes(uuid);
    CLI::Option* exact = command
                             ->add_flag("--exact", arguments->request.exact,
                                        "Detach the newest GPUs if more are attached")
                             ->excludes(index)
                             ->excludes(uuid);
    command
        ->add_flag("--refresh", arguments->refresh,
                   "None: only tell the shell again what is attached")
        ->excludes(exact)
        ->excludes(configured)
        ->excludes(count)
        ->excludes(index)
        ->excludes(uuid)
        ->excludes(model);
    command->add_flag("-o,--over-subscribe", arguments->request.overSubscribe,
                      "Take also GPUs that others hold");
    arguments->waiting.addTo(*command, "Give them back");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { attach(context, *arguments); };
    });
}

void addDetach(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("detach", "Give GPUs of this shell's environment back");
    const auto index = std::make_shared<std::optional<std::uint32_t>>();
    command->add_option("--index", *index, "Only the one with this index")->type_name("I");
    command->callback(
        [&context, index] { context.command = [&context, index] { detach(context, *index); }; });
}

} // namespace genv::ctl
