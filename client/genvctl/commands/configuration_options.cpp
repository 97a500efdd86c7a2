// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/configuration_options.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void ConfigurationOptions::addTo(CLI::App& command) {
    addNameTo(command);
    addDevicesTo(command);
}

void ConfigurationOptions::addNameTo(CLI::App& command) {
    command.add_option("--name", name, "The environment's name")->type_name("NAME");
}

void ConfigurationOptions::addDevicesTo(CLI::App& command) {
    command.add_option("--gpus", gpus, "How many GPUs to attach")->type_name("N");
    command
        .add_option("--gpu-memory", gpuMemory,
                    "How much of each GPU's memory, such as 4g; without it, all of it")
        ->type_name("AMOUNT");
}

Configuration ConfigurationOptions::read() const {
    Configuration configuration;
    if (name)
        setField(configuration, Field::Name, *name);
    if (gpuMemory)
        setField(configuration, Field::GpuMemory, *gpuMemory);
    if (gpus)
        setField(configuration, Field::Gpus, *gpus);
    return configuration;
}

Configuration merged(Configuration first, const Configuration& second) {
    if (!first.name)
        first.name = second.name;
    if (!first.gpus)
        first.gpus = second.gpus;
    if (!first.gpuMemoryBytes)
        first.gpuMemoryBytes = second.gpuMemoryBytes;
    return first;
}

} // namespace genv::ctl
