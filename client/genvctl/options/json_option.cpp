// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/json_option.hpp"

#include "client/genvctl/definition/definition.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace genv::ctl {

CLI::Option* addJsonOption(CLI::App& app, JsonMode& mode) {
    const auto format = std::make_shared<std::string>();
    return addFlag(app, "--json{short}", *format,
                   "Print JSON, as short, pretty or off [default: short]",
                   {.values = OneOf{"short", "pretty", "off"}, .onCluster = cluster::mapped})
        ->check(CLI::IsMember({"short", "pretty", "off"}).description(""))
        ->type_name("FORMAT")
        ->each([format, &mode](const std::string& value) {
            mode = value == "off"      ? JsonMode::Off
                   : value == "pretty" ? JsonMode::Pretty
                                       : JsonMode::Short;
        });
}

} // namespace genv::ctl
