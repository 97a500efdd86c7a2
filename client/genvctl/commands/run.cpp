// SPDX-License-Identifier: LGPL-2.1-or-later
// run: an environment for one command. The command takes the place of genvctl in the same process,
// so that its pid, exit status and signals are its own and the environment ends with it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/configuration_options.hpp"
#include "client/genvctl/commands/requests.hpp"
#include "client/genvctl/commands/waiting_options.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/execution.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace genv::ctl {

namespace {

struct RunArguments {
    ConfigurationOptions configuration;
    std::optional<std::string> model;
    bool overSubscribe = false;
    bool nvmlFilter = false;
    WaitingOptions waiting;
};

void setVariables(const std::vector<Variable>& variables) {
    for (const auto& [name, value] : variables) {
        if (value)
            setenv(name.c_str(), value->c_str(), 1);
        else
            unsetenv(name.c_str());
    }
}

std::string usualPath() {
    std::string path(confstr(_CS_PATH, nullptr, 0), '\0');
    confstr(_CS_PATH, path.data(), path.size());
    path.resize(path.empty() ? 0 : path.size() - 1); // the closing zero
    return path;
}

void putShimsFirst() {
    const char* path = std::getenv("PATH");
    // Without one, as a cron job or a unit may be, commands are looked for where they always are.
    const std::string folders = path != nullptr ? path : usualPath();
    setenv("PATH", fmt::format("{}:{}", shimsFolder(), folders).c_str(), 1);
}

// The environment with its devices. Where they cannot be had, the end of this process ends it.
std::string start(Context& context, const RunArguments& arguments) {
    ActivateOptions options;
    options.configuration = arguments.configuration.read();
    if (arguments.model && !options.configuration.gpus)
        options.configuration.gpus = 1;
    options.pid = static_cast<std::uint32_t>(getpid());
    options.attach = options.configuration.gpus.value_or(0) > 0 && !arguments.model;
    options.overSubscribe = arguments.overSubscribe;
    arguments.waiting.apply(options);
    // A lifetime begins when there are devices, not with the wait for them.
    const bool waitsForModel = arguments.model && options.wait;
    if (waitsForModel)
        options.lifetime.reset();
    options.wait = options.wait && *options.attach;
    const std::string id = requestEnvironment(context, options);
    if (arguments.model) {
        // Starting an environment knows no models.
        AttachOptions devices;
        devices.count = options.configuration.gpus;
        devices.model = arguments.model;
        devices.overSubscribe = arguments.overSubscribe;
        arguments.waiting.apply(devices);
        if (!waitsForModel)
            devices.lifetime.reset(); // the environment's is enough
        requestDevices(context, id, devices);
    }
    return id;
}

void run(Context& context, const RunArguments& arguments, const std::vector<std::string>& words) {
    std::vector<Variable> filter;
    if (arguments.nvmlFilter)
        filter.push_back(nvmlFilterVariable());
    context.client().listenForNotices(geteuid());
    const std::string id = start(context, arguments);
    const Environment environment = context.client().environment(id);
    setVariables(
        environmentVariables(environment, visibleDevices(context.client(), environment.devices)));
    setVariables(filter);
    putShimsFirst();
    context.warnOfNotices(id);
    execute(words);
}

} // namespace

void addRun(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("run", "Run a command in an environment of its own");
    const auto arguments = std::make_shared<RunArguments>();
    arguments->configuration.addTo(*command);
    command->add_option("--model", arguments->model, "Only GPUs of a model with this in its name")
        ->type_name("NAME");
    command->add_flag("-o,--over-subscribe", arguments->overSubscribe,
                      "Take also GPUs that others hold");
    command->add_flag("--nvml-filter", arguments->nvmlFilter,
                      "Show the environment's GPUs to every program that uses NVML");
    arguments->waiting.addTo(*command, "End the environment");
    command->footer(
        "The environment ends with the command. Without --gpus the command sees no GPU. Also in\n"
        "an active environment the command gets one of its own, with its own GPUs.");
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, arguments, command] {
        const std::vector<std::string> words = commandWords(*command);
        context.command = [&context, arguments, words] { run(context, *arguments, words); };
    });
}

} // namespace genv::ctl
