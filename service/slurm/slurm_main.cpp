// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-slurm: runs Slurm's programs for genvd, which runs none itself. Reads one request from
// standard input, writes one line to standard output (slurm_protocol.hpp), and exits. Reads the
// folder of Slurm's programs from genvd.conf here, so that genvd passes no path.
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "service/posix/single_request.hpp"
#include "service/settings/settings_file.hpp"
#include "service/slurm/slurm_tools.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace genv;
using namespace genv::service;

// Returns the environment variables for Slurm's programs. They include the location of an
// administrator's slurm.conf, and the fact that this is a systemd unit. Without the latter,
// slurmd's plugin for cgroup v2 treats "slurmd -G" as a slurmd started by hand and moves it into
// the control group of the jobs, which fails here.
std::vector<std::string> environmentOfPrograms() {
    // Print times as seconds since the epoch, which do not depend on a time zone.
    std::vector<std::string> environment{"LC_ALL=C", "SLURM_TIME_FORMAT=%s"};
    for (const char* name : {"SLURM_CONF", "INVOCATION_ID"}) {
        if (const char* value = std::getenv(name))
            environment.push_back(fmt::format("{}={}", name, value));
    }
    return environment;
}

// systemd passes a list separated by colons; the first entry is the unit's own.
std::filesystem::path configurationFolder() {
    const char* variable = std::getenv("CONFIGURATION_DIRECTORY");
    const std::string list = variable != nullptr ? variable : "/etc/genv";
    return list.substr(0, list.find(':'));
}

SlurmAnswer answerTo(const SlurmRequest& request, const SlurmProgramBounds& bounds) {
    try {
        const SlurmFolders folders{readSettings(configurationFolder()).slurm.binDir};
        return carryOutSlurmRequest(request, folders, environmentOfPrograms(), bounds);
    } catch (const core::Error& error) {
        const std::string text =
            fmt::format("genv-slurm cannot read its configuration: {}", error.what());
        return core::SlurmFailure{text.substr(0, maxSlurmReason)};
    }
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Answer one request of genvd about Slurm, from standard input, with a line of "
                 "JSON. systemd starts this program; see genvd(8)",
                 "genv-slurm");
    SlurmProgramBounds bounds;
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    unsigned seconds = 10;
    app.add_option("--deadline", seconds, "End programs of Slurm after this many seconds")
        ->check(CLI::Range(1U, 3600U).description(""))
        ->type_name("SECONDS")
        ->capture_default_str();
    if (const auto status = core::exitAfterParsing(app, argc, argv))
        return *status;
    bounds.deadline = std::chrono::seconds{seconds};
    ::signal(SIGPIPE, SIG_IGN);
    // This also ends a process that hangs for any other reason, such as a remote file system.
    ::alarm(seconds + static_cast<unsigned>(requestTimeout.count()) + 1);
    try {
        const auto request = decodeSlurmRequest(readSingleRequest(maxSlurmRequest));
        writeSingleAnswer(encodeSlurmAnswer(answerTo(request, bounds)));
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-slurm: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
