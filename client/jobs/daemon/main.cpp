// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-jobs: keeps the jobs of the user who runs it, and runs them when their turn comes.
#include "client/descriptor_functions.hpp"
#include "client/jobs/daemon/daemon.hpp"
#include "client/jobs/daemon/machines.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace {

using genv::jobs::DaemonOptions;

/// Returns an exit status, or nothing if the program should run.
std::optional<int> readOptions(int count, char** arguments, DaemonOptions& options,
                               bool& listsMachines) {
    CLI::App app("Keep the jobs of a user and run them (started by the user's bus)", "genv-jobs");
    app.formatter(genv::core::helpFormatter());
    // An empty group hides the option: it is for tests.
    app.add_option_function<unsigned>(
           "--idle-timeout",
           [&](unsigned milliseconds) {
               options.idleTimeout = std::chrono::milliseconds(milliseconds);
           },
           "End after this many milliseconds without a job or a call")
        ->group("");
    app.add_flag("--machines", listsMachines,
                 "Print your jobs on other machines that share your home, as JSON");
    app.set_help_flag("--help", "Print this help");
    app.set_version_flag("--version", "genv-jobs " GENV_VERSION, "Print the version");
    app.footer("Users call it through \"genvctl submit\" and \"genvctl jobs\".\n\n"
               "Exit status:\n  0  Success\n  1  Failure\n  2  Usage error");
    return genv::core::exitAfterParsing(app, count, arguments);
}

// Returns the path of genv-job: beside this program, also where it is built.
std::string runnerPath() {
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = own.parent_path() / "genv-job";
    return ::access(beside.c_str(), X_OK) == 0 ? beside.native() : GENV_JOB_PATH;
}

} // namespace

int main(int count, char** arguments) {
    bool listsMachines = false;
    DaemonOptions options;
    options.runner = runnerPath();
    try {
        if (const auto status = readOptions(count, arguments, options, listsMachines))
            return *status;
        if (listsMachines)
            return std::puts(genv::jobs::jobsOfOtherMachines().c_str()) < 0 ? EXIT_FAILURE
                                                                            : EXIT_SUCCESS;
        genv::client::openStandardDescriptors();
        genv::jobs::Daemon daemon(std::move(options));
        return daemon.run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-jobs: %s\n", genv::core::escaped(error.what(), 512).c_str());
        return EXIT_FAILURE;
    }
}
