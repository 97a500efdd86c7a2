// SPDX-License-Identifier: LGPL-2.1-or-later
// config: the configuration of this shell's environment, and saving it in .genv.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace genv::ctl {

namespace {

struct ConfigArguments {
    std::optional<std::string> field;
    std::optional<std::string> value;
    ConsentOptions consent;
    bool clear = false;
    bool save = false;
    bool load = false;
    bool quiet = false;
    bool refresh = false;

    [[nodiscard]] bool clearsAll() const { return clear && !field; }
    [[nodiscard]] bool changesFields() const { return value || clear || load; }
    [[nodiscard]] bool changes() const { return changesFields() || consent.setting(); }
    /// Returns the fields that the command is about: the named one, or all.
    [[nodiscard]] std::vector<Field> fields() const {
        if (field)
            return {*fieldOf(*field)};
        return {std::begin(allFields), std::end(allFields)};
    }
};

void put(ConfigurationChange& change, const Configuration& from, Field field) {
    switch (field) {
    case Field::Name:
        change.setName(from.name);
        break;
    case Field::Gpus:
        change.setGpus(from.gpus);
        break;
    case Field::GpuMemory:
        change.setGpuMemoryBytes(from.gpuMemoryBytes);
        break;
    }
}

// Clearing applies the values of an empty configuration, and loading those of the saved one. A
// field that is not saved keeps its value.
ConfigurationChange wantedChange(const ConfigArguments& arguments, bool isOverSubscribable) {
    Configuration wanted;
    if (arguments.value)
        setField(wanted, arguments.fields().front(), *arguments.value);
    else if (arguments.load)
        wanted = loadProject(requireProjectFolder());
    ConfigurationChange change;
    if (const auto allowed = arguments.consent.setting())
        change.setOverSubscribable(*allowed);
    else if (arguments.clearsAll() && isOverSubscribable)
        change.setOverSubscribable(false);
    if (!arguments.changesFields())
        return change;
    for (const Field field : arguments.fields()) {
        if (!arguments.load || fieldText(wanted, field))
            put(change, wanted, field);
    }
    return change;
}

void printConfiguration(Context& context, const ConfigArguments& arguments,
                        const Configuration& configuration, bool isOverSubscribable) {
    if (arguments.field) {
        const Field field = arguments.fields().front();
        const Json all = toJson(configuration);
        const char* key = field == Field::GpuMemory ? "gpu_memory" : fieldName(field);
        if (context.printJson({{key, all.at(key)}}))
            return;
        if (const auto text = fieldText(configuration, field))
            print(shown(*text) + '\n');
        return;
    }
    Json json = toJson(configuration);
    json["over_subscribable"] = isOverSubscribable;
    if (context.printJson(json))
        return;
    std::string lines;
    for (const Field field : allFields)
        lines += fmt::format("{}: {}\n", fieldName(field),
                             shown(fieldText(configuration, field).value_or("N/A")));
    if (isOverSubscribable)
        lines += "over-subscribable: yes\n";
    print(lines);
}

void config(Context& context, const ConfigArguments& arguments) {
    context.inEnvironment([&](const std::string& id) {
        if (arguments.changesFields() || arguments.refresh)
            context.requireWritable(configurationVariables({}));
        if (arguments.changes()) {
            const ConfigurationChange change =
                wantedChange(arguments, context.client().isOverSubscribable(id));
            context.authorized([&](Client& client) { client.configure(id, change); });
        }
        const Configuration now = context.client().environment(id).configuration;
        ShellCode code;
        code.set(configurationVariables(now));
        context.sendToShell(code);
        if (arguments.save)
            saveProject(makeProjectFolder(), now, arguments.fields());
        if (!arguments.changes() && !arguments.save && !arguments.refresh && !arguments.quiet)
            printConfiguration(context, arguments, now, context.client().isOverSubscribable(id));
    });
}

} // namespace

void addConfig(CLI::App& app, Context& context) {
    CLI::App* command =
        app.add_subcommand("config", "Show or change the environment's configuration");
    const auto arguments = std::make_shared<ConfigArguments>();
    CLI::Option* field =
        command
            ->add_option("FIELD", arguments->field, "Show or change only gpus, gpu-memory or name")
            ->check(CLI::IsMember({"gpus", "gpu-memory", "name"}).description(""))
            ->type_name("");
    CLI::Option* value = command->add_option("VALUE", arguments->value, "Set FIELD to VALUE")
                             ->type_name("")
                             ->needs(field);
    CLI::Option* clear =
        command->add_flag("--clear", arguments->clear, "Unset FIELD, or all fields")
            ->excludes(value);
    command->add_flag("--load", arguments->load, "Load FIELD, or all fields, from .genv")
        ->excludes(value)
        ->excludes(clear);
    arguments->consent.addTo(*command);
    command->add_flag("--save", arguments->save, "Save FIELD, or all fields, in .genv");
    command->add_flag("-q,--quiet", arguments->quiet, "Print nothing");
    command->add_flag("--refresh", arguments->refresh,
                      "Refresh the shell's variables without changes");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { config(context, *arguments); };
    });
}

} // namespace genv::ctl
