// SPDX-License-Identifier: LGPL-2.1-or-later
// config: the configuration of this shell's environment, and saving it in .genv.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"
#include "core/model/preemptible.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace genv::ctl {

namespace {

constexpr const char* preemptibleField = "preemptible";

// What others may do to an environment that holds devices. It is not saved in .genv.
struct SharingConfiguration {
    bool overSubscribable = false;
    std::string preemptible; ///< "no", "park" or "end"
};

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
    /// Whether the named field is `preemptible`, which no .genv has.
    [[nodiscard]] bool isPreemptible() const { return field == preemptibleField; }
    /// Throws Failure(Usage).
    void check() const;
    /// Returns the fields that the command is about: the named one, or all.
    [[nodiscard]] std::vector<Field> fields() const {
        if (isPreemptible())
            return {};
        if (field)
            return {*fieldOf(*field)};
        return {std::begin(allFields), std::end(allFields)};
    }
};

void ConfigArguments::check() const {
    if (!isPreemptible())
        return;
    if (load || save)
        throw Failure(ExitStatus::Usage, "preemptible is not a part of .genv",
                      "\"genvctl config preemptible park\" sets it for this environment.");
    if (value && !core::parsePreemptible(*value))
        throw Failure(
            ExitStatus::Usage,
            fmt::format("invalid value \"{}\": expected park, end or no", core::escaped(*value)));
}

SharingConfiguration sharingOf(Client& client, const std::string& id) {
    const Environment environment = client.environment(id);
    return {environment.overSubscribable, environment.preemptible};
}

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
ConfigurationChange wantedChange(const ConfigArguments& arguments,
                                 const SharingConfiguration& before) {
    Configuration wanted;
    if (arguments.value && !arguments.isPreemptible())
        setField(wanted, arguments.fields().front(), *arguments.value);
    else if (arguments.load)
        wanted = loadProject(requireProjectFolder());
    ConfigurationChange change;
    if (const auto allowed = arguments.consent.setting())
        change.setOverSubscribable(*allowed);
    else if (arguments.clearsAll() && before.overSubscribable)
        change.setOverSubscribable(false);
    if (arguments.isPreemptible() && (arguments.value || arguments.clear))
        change.setPreemptible(arguments.value.value_or("no"));
    else if (arguments.clearsAll() && before.preemptible != "no")
        change.setPreemptible("no");
    if (!arguments.changesFields())
        return change;
    for (const Field field : arguments.fields()) {
        if (!arguments.load || fieldText(wanted, field))
            put(change, wanted, field);
    }
    return change;
}

void printConfiguration(const GlobalOptions& global, const ConfigArguments& arguments,
                        const Configuration& configuration, const SharingConfiguration& sharing) {
    if (arguments.isPreemptible()) {
        if (!printJson(global, {{"preemptible", sharing.preemptible}}))
            print(shown(sharing.preemptible) + '\n');
        return;
    }
    if (arguments.field) {
        const Field field = arguments.fields().front();
        const Json all = toJson(configuration);
        const char* key = field == Field::GpuMemory ? "gpu_memory_bytes" : fieldName(field);
        if (printJson(global, {{key, all.at(key)}}))
            return;
        if (const auto text = fieldText(configuration, field))
            print(shown(*text) + '\n');
        return;
    }
    Json json = toJson(configuration);
    json["over_subscribable"] = sharing.overSubscribable;
    json["preemptible"] = sharing.preemptible;
    if (printJson(global, json))
        return;
    std::string lines;
    for (const Field field : allFields)
        lines += fmt::format("{}: {}\n", fieldName(field),
                             shown(fieldText(configuration, field).value_or("N/A")));
    if (sharing.overSubscribable)
        lines += "over-subscribable: yes\n";
    if (sharing.preemptible != "no")
        lines += fmt::format("preemptible: {}\n", shown(sharing.preemptible));
    print(lines);
}

void config(Context& context, const ConfigArguments& arguments) {
    arguments.check();
    context.inEnvironment([&](const std::string& id) {
        if (arguments.changesFields() || arguments.refresh)
            context.requireWritable(configurationVariables({}));
        if (arguments.changes()) {
            const ConfigurationChange change =
                wantedChange(arguments, sharingOf(context.client(), id));
            context.authorized([&](Client& client) { client.configure(id, change); });
        }
        const Configuration now = context.client().environment(id).configuration;
        ShellCode code;
        code.set(configurationVariables(now));
        context.sendToShell(code);
        if (arguments.save)
            saveProject(makeProjectFolder(), now, arguments.fields());
        if (!arguments.changes() && !arguments.save && !arguments.refresh && !arguments.quiet)
            printConfiguration(context.options, arguments, now, sharingOf(context.client(), id));
    });
}

} // namespace

constexpr std::array configExamples{
    Example{"Ask for two GPUs at the next attach", "genv config gpus 2"},
    Example{"Lend the GPUs to requests of others", "genv config preemptible park"},
    Example{"Save the configuration with the project", "genv config --save"},
    Example{"Load only the number of GPUs from .genv", "genv config gpus --load"},
};

void addConfig(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "config", "Show or change the environment's configuration",
                                   {.examples = configExamples});
    const auto arguments = std::make_shared<ConfigArguments>();
    CLI::Option* field =
        addOption(*command, "FIELD", arguments->field,
                  "Show or change gpus, gpu-memory, name or preemptible",
                  {.values = OneOf{"gpus", "gpu-memory", "name", "preemptible"}})
            ->check(CLI::IsMember({"gpus", "gpu-memory", "name", preemptibleField}).description(""))
            ->type_name("");
    CLI::Option* value = addOption(*command, "VALUE", arguments->value, "Set FIELD to VALUE",
                                   {.values = ValueKind::Free})
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
