// SPDX-License-Identifier: LGPL-2.1-or-later
// genvd: reads its directories from the environment variables that systemd sets, and runs the
// service until it is asked to stop.
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/error.hpp"
#include "service/gpu/nvml_gpus.hpp"
#include "service/gpu/simulated_gpus.hpp"
#include "service/journal/logger.hpp"
#include "service/limit_preview.hpp"
#include "service/loop/glib_log.hpp"
#include "service/loop/system_clock.hpp"
#include "service/processes/proc_server.hpp"
#include "service/service.hpp"
#include "service/settings/settings_file.hpp"
#include "service/system_manager.hpp"

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace genv;

// The configuration is invalid. This is EX_CONFIG from sysexits.h, as in other services.
constexpr int exitConfiguration = 78;

std::optional<std::string> variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// systemd passes a list separated by colons; the first entry is the unit's own.
std::filesystem::path directory(const std::string& name, const std::string& otherwise) {
    const std::string list = variable(name).value_or(otherwise);
    return list.substr(0, list.find(':'));
}

// Ends the process, because a change applied only partly in memory would be worse than none. The
// state is written before a change is made, so the next service that systemd starts reads all of
// it.
[[noreturn]] void endWithoutMemory() {
    constexpr std::string_view line =
        "genvd: out of memory; the service ends, to be started again\n";
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) {
        // Nothing more can be reported.
    }
    ::_exit(EXIT_FAILURE);
}

// Each root process and each client needs a descriptor.
void raiseDescriptorLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

std::unique_ptr<core::Gpus> makeGpus(core::Backend backend, const std::string& nvmlSocket,
                                     core::Log& log) {
    const bool simulated =
        backend == core::Backend::Simulated ||
        (backend == core::Backend::Auto && service::SimulatedGpus::areAskedFor(variable));
    if (simulated) {
        log.warning(
            "the GPUs are simulated, as the configuration or GENV_MOCK_DEVICE_COUNT asks for");
        return std::make_unique<service::SimulatedGpus>(variable);
    }
    service::NvmlSettings settings;
    settings.socket = nvmlSocket;
    if (nvmlSocket.empty())
        settings.helper =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "genv-nvml";
    return std::make_unique<service::NvmlGpus>(std::move(settings));
}

// Returns the memory of large messages to the system. Without this, malloc() raises the threshold
// to the size of the largest block ever freed.
void giveLargeBlocksBack() {
    ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

// Ensures that the process ends even if a worker hangs in a remote user database.
void endInAnyCase(int status) {
    static volatile sig_atomic_t exitStatus = 0;
    exitStatus = status;
    ::signal(SIGALRM, [](int) { ::_exit(exitStatus); });
    ::alarm(20);
}

/// The sockets on which systemd starts the helpers; empty if there is none.
struct Sockets {
    std::string nvml;
    std::string slurm;
    std::string park;
};

int serve(const Sockets& sockets, service::Logger& log) {
    service::Directories directories{directory("RUNTIME_DIRECTORY", "/run/genv"),
                                     directory("CONFIGURATION_DIRECTORY", "/etc/genv"),
                                     sockets.slurm, sockets.park,
                                     directory("STATE_DIRECTORY", "/var/lib/genv")};
    service::GlibLoop loop;
    const core::Settings settings = service::readSettings(directories.configuration);
    service::Service service(loop, log, directories, settings,
                             makeGpus(settings.backend, sockets.nvml, log));

    const auto stop = [&service] { service.stop(); };
    const auto terminated = service::GlibLoop::onSignal(SIGTERM, stop);
    const auto interrupted = service::GlibLoop::onSignal(SIGINT, stop);
    const auto hungUp = service::GlibLoop::onSignal(SIGHUP, [&service] {
        try {
            service.reload(0, [] {});
        } catch (const core::Error&) {
            // The old configuration stays in force, and the service has logged why.
        }
    });
    const int status = loop.run();
    endInAnyCase(status);
    return status;
}

/// The present use of the machine, which `genvctl policy check` knows.
struct PresentUse {
    std::vector<std::string> used;
    std::vector<std::string> outside;
};

// Prints whom the settings concern that the file would bring into force. The file is valid, but
// another one may not be.
void preview(const std::string& file, const PresentUse& present) {
    try {
        const core::Settings settings =
            service::readSettings(directory("CONFIGURATION_DIRECTORY", "/etc/genv"), file);
        for (const std::string& sentence : service::previewLimits(settings, present.used))
            fmt::print("{}\n", sentence);
        for (const std::string& sentence : service::previewOutside(settings, present.outside))
            fmt::print("{}\n", sentence);
    } catch (const core::Error& error) {
        fmt::print(stderr, "warning: no preview: {}\n", core::printable(error.what()));
    }
}

// Implements `genvctl policy check`: reports whether a configuration file would be accepted.
int checkConfiguration(const std::string& file, const PresentUse& present) {
    const service::SettingsCheck check = file.empty()
                                             ? service::SettingsCheck{{"missing file name"}, {}}
                                             : service::checkSettingsFile(file);
    for (const auto* lines : {&check.errors, &check.warnings}) {
        for (const std::string& line : *lines)
            fmt::print(stderr, "{}\n", core::printable(line));
    }
    if (!check.errors.empty())
        return EXIT_FAILURE;
    if (!present.used.empty() || !present.outside.empty())
        preview(file, present);
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Share the GPUs of this machine. systemd starts this service; see genvd(8)",
                 "genvd"};
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    app.set_version_flag("--version", std::string("genvd " GENV_VERSION), "Print the version");
    std::optional<std::string> checked;
    app.add_option("--check", checked, "Check this configuration file and exit")->type_name("FILE");
    PresentUse present;
    app.add_option("--used", present.used, "With --check, compare this use with the limits")
        ->group(""); // internal: genvctl policy check passes what GetLimits reports
    app.add_option("--outside", present.outside, "With --check, judge this process")
        ->group(""); // internal: the processes on GPUs outside every environment
    Sockets sockets;
    app.add_option("--nvml-socket", sockets.nvml,
                   "Ask for GPUs at this socket instead of a child process")
        ->type_name("PATH");
    app.add_option("--slurm-socket", sockets.slurm, "Ask Slurm at this socket")->type_name("PATH");
    app.add_option("--park-socket", sockets.park, "Park processes through this socket")
        ->type_name("PATH");
    pid_t reader = 0;
    app.add_option("--read-processes", reader, "Read /proc for this process, which is the parent")
        ->group(""); // internal: genvd starts itself with this
    app.footer("Exit status:\n  0   Success\n  1   Failure\n  2   Usage error\n  78  Invalid "
               "configuration\n\n"
               "Examples:\n  # Check a changed configuration\n  genvd --check genvd.conf.new");
    if (const auto status = core::exitAfterParsing(app, argc, argv))
        return *status;
    if (checked)
        return checkConfiguration(*checked, present);
    if (reader != 0)
        return service::serveProcReads(reader);

    ::umask(077); // files for everybody get their mode explicitly
    ::signal(SIGPIPE, SIG_IGN);
    std::set_new_handler(endWithoutMemory);
    raiseDescriptorLimit();
    giveLargeBlocksBack();
    service::Logger log;
    const service::SystemClock clock;
    const service::GlibLog complaints(log, clock);
    complaints.install();
    try {
        return serve(sockets, log);
    } catch (const core::Error& error) {
        log.error("{}", error.what());
        service::SystemManager::failed(error.what());
        return error.code() == core::ErrorCode::InvalidArgs ? exitConfiguration : EXIT_FAILURE;
    } catch (const std::exception& error) {
        const std::string why =
            fmt::format("the service cannot go on: {}", core::escaped(error.what(), 512));
        log.error("{}", why);
        service::SystemManager::failed(why);
        return EXIT_FAILURE;
    }
}
