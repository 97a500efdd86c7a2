// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/top_options.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/top/option_table.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace genv::top {

namespace {

constexpr std::uint32_t highestIndex = 65535;

// Parses indices and ranges, separated by commas: "0-3,7".
std::vector<std::uint32_t> readIndices(std::string_view text) {
    std::vector<std::uint32_t> indices;
    const auto number = [&](std::string_view word) {
        const auto value = ctl::parseNumber(word);
        if (!value || *value > highestIndex)
            core::refuseValue("--gpu", text, "indices and ranges, such as 0-3,7");
        return *value;
    };
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        const std::size_t dash = word.find('-');
        const std::uint32_t first = number(word.substr(0, dash));
        const std::uint32_t last =
            dash == std::string_view::npos ? first : number(word.substr(dash + 1));
        for (std::uint32_t index = first; index <= last; ++index)
            indices.push_back(index);
        begin = end + 1;
    }
    return indices;
}

void define(CLI::App& app, TopOptions& options) {
    app.add_flag(onceOption.name, options.isOnce, onceOption.help);
    app.add_flag(readOnlyOption.name, options.isReadOnly, readOnlyOption.help);
    app.add_option_function<std::string>(
           gpuOption.name, [&](const std::string& text) { options.gpus = readIndices(text); },
           gpuOption.help)
        ->type_name(gpuOption.argument);
    app.add_option_function<std::string>(
           "-H,--host",
           [&](const std::string& text) {
               try {
                   options.host = remote::readHost(text);
               } catch (const remote::InvalidHost& error) {
                   throw CLI::ValidationError(fmt::format("-H: {}", error.what()));
               }
           },
           "Talk to the service of another machine, over SSH")
        ->type_name("[USER@]HOST[:PORT]");
    app.add_option("--cluster", options.cluster, "Show the GPUs of a Slurm cluster: slurm or none")
        ->check(CLI::IsMember({"slurm", "none"}).description(""))
        ->type_name("WHICH");
    app.add_flag_callback(
        "--no-ask-password", [&] { options.mayAskPassword = false; }, "Never ask for a password");
    app.set_version_flag("--version", "genv-top " GENV_VERSION, "Print the version");
    app.footer("See genv-top(1). \"genvctl top\" starts this program.");
}

} // namespace

TopOptions parseOptions(int count, char** arguments) {
    TopOptions options;
    std::string json = "off";
    CLI::App app("Show the users of each GPU, live", "genvctl top"); // as users start it
    app.formatter(core::helpFormatter());
    app.add_flag("--json{short}", json, "Print JSON: short, pretty or off")
        ->check(CLI::IsMember({"short", "pretty", "off"}).description(""))
        ->type_name("HOW");
    define(app, options);
    if (const auto text = core::parseCommandLine(app, count, arguments)) {
        fmt::print("{}", *text);
        options.isAboutItself = true;
    }
    if (json != "off")
        options.json = json == "pretty" ? TopOptions::Json::Pretty : TopOptions::Json::Short;
    if (options.host && options.cluster == "slurm")
        throw core::UsageError("--cluster cannot be combined with --host",
                               "Leave --host out: Slurm knows all nodes.");
    return options;
}

} // namespace genv::top
