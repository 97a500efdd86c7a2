// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-notify-send: sends one waiting message to the webhook of the user who runs it. Its unit is
// the only one with a network. The URL comes from notify.conf, never from an argument.
#include "client/descriptor_functions.hpp"
#include "client/messages/files/batch.hpp"
#include "client/messages/files/durable_file.hpp"
#include "client/messages/files/message_places.hpp"
#include "client/messages/webhook/post.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

namespace {

using namespace genv::messages;
using namespace std::chrono_literals;

constexpr auto timeout = 10s;

/// Returns an exit status, or nothing if the program should run.
std::optional<int> readOptions(int count, char** arguments, std::string& instance) {
    CLI::App app("Send a waiting message to your webhook (started by systemd)", "genv-notify-send");
    app.formatter(genv::core::helpFormatter());
    app.add_option("MESSAGE", instance, "Name of the message in its folder")->type_name("");
    app.set_help_flag("--help", "Print this help");
    app.set_version_flag("--version", "genv-notify-send " GENV_VERSION, "Print the version");
    app.footer("notify.conf(5) names the webhook.\n\n"
               "Exit status:\n  0  Success\n  1  Failure\n  2  Usage error");
    return genv::core::exitAfterParsing(app, count, arguments);
}

// Returns why the message was not sent.
std::optional<std::string> send(const Batch& batch) {
    const auto read = readConfiguration();
    if (!read || !read->configuration.contains(Channel::Webhook))
        return "notify.conf has no [Webhook]";
    const DeliveryTarget& target = read->configuration.at(Channel::Webhook);
    const Contents contents{machineName(), batch.events, batch.missing, target.names};
    if (auto fault = post(target.value, requestOf(contents, target.format), timeout))
        return "the webhook failed: " + *fault;
    return std::nullopt;
}

int run(const std::string& instance) {
    const auto folder = spoolFolder(Channel::Webhook);
    const auto batch = isInstance(instance) ? readBatch(batchFile(folder, instance)) : std::nullopt;
    if (!batch) {
        std::fprintf(stderr, "genv-notify-send: no such message\n");
        return EXIT_FAILURE;
    }
    std::optional<std::string> fault;
    try {
        fault = send(*batch);
    } catch (const std::exception& error) {
        fault = error.what();
    }
    if (!fault) {
        removeDurably(batchFile(folder, instance));
        return EXIT_SUCCESS;
    }
    std::fprintf(stderr, "genv-notify-send: %s\n", genv::core::printable(*fault).c_str());
    writeDurably(reasonFile(folder, instance), *fault);
    return EXIT_FAILURE;
}

} // namespace

int main(int count, char** arguments) {
    std::string instance;
    try {
        if (const auto status = readOptions(count, arguments, instance))
            return *status;
        genv::client::openStandardDescriptors();
        std::signal(SIGPIPE, SIG_IGN);
        return run(instance);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-notify-send: %s\n",
                     genv::core::escaped(error.what(), 512).c_str());
        return EXIT_FAILURE;
    }
}
