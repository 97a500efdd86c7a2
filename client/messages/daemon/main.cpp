// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-notify-core: sends the user who runs it messages by mail, to a webhook and to a command,
// also while they are logged out.
#include "client/descriptor_functions.hpp"
#include "client/messages/daemon/core.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

namespace {

/// Returns an exit status, or nothing if the program should run.
std::optional<int> readOptions(int count, char** arguments) {
    CLI::App app("Send messages about your GPUs and jobs (started by systemd)", "genv-notify-core");
    app.formatter(genv::core::helpFormatter());
    app.set_help_flag("--help", "Print this help");
    app.set_version_flag("--version", "genv-notify-core " GENV_VERSION, "Print the version");
    app.footer("notify.conf(5) says where messages go. \"genvctl notify test\" tries it.\n\n"
               "Exit status:\n  0  Success\n  1  Failure\n  2  Usage error");
    return genv::core::exitAfterParsing(app, count, arguments);
}

} // namespace

int main(int count, char** arguments) {
    try {
        if (const auto status = readOptions(count, arguments))
            return *status;
        genv::client::openStandardDescriptors();
        std::signal(SIGPIPE, SIG_IGN);
        return genv::messages::Core().run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-notify: %s\n", genv::core::escaped(error.what(), 512).c_str());
        return EXIT_FAILURE;
    }
}
