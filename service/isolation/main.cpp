// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-isolation: sets up the kernel gate for GPU device nodes according to genvd.conf, and exits.
// The gate remains in place after that.
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/ports/log.hpp"
#include "service/gpu/drm_nodes.hpp"
#include "service/gpu/nvml_nodes.hpp"
#include "service/isolation/identities.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/isolation/kernel_texts.hpp"
#include "service/isolation/loader.hpp"
#include "service/isolation/shared_nodes.hpp"
#include "service/settings/settings_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace genv;
using core::IsolationMode;
using service::isolation::BpfError;
using service::isolation::Loader;

// The configuration is invalid. This is EX_CONFIG from sysexits.h, as in genvd.
constexpr int exitConfiguration = 78;

struct Options {
    std::string pins = service::isolation::defaultPins;
    std::string controlGroup; ///< empty: the root of the hierarchy
    bool remove = false;
    bool check = false;
};

// A prefix gives a line its severity in the journal, see sd-daemon(3).
void log(core::Severity severity, const std::string& line) {
    const std::string prefix = std::getenv("JOURNAL_STREAM") != nullptr
                                   ? fmt::format("<{}>", static_cast<int>(severity))
                                   : "genv-isolation: ";
    fmt::print(stderr, "{}{}\n", prefix, core::printable(line));
}

std::filesystem::path configurationFolder() {
    const char* value = std::getenv("CONFIGURATION_DIRECTORY");
    const std::string list = value != nullptr ? value : "/etc/genv";
    return list.substr(0, list.find(':'));
}

std::string readText(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::filesystem::path rootControlGroup() {
    const auto found = service::isolation::findControlGroups(readText("/proc/self/mountinfo"));
    if (!found)
        core::fail(core::ErrorCode::IsolationFailed,
                   "the root of the cgroup v2 hierarchy is not mounted; a container that sees only "
                   "part of it cannot isolate GPUs");
    return *found;
}

std::vector<std::uint32_t> guardedMajors() {
    std::vector<std::uint32_t> majors{service::isolation::nvidiaMajor};
    if (const auto mig = service::isolation::findCharacterMajor(readText("/proc/devices"),
                                                                service::isolation::migDriver))
        majors.push_back(*mig);
    return majors;
}

std::string hintFor(int error) {
    switch (error) {
    case EPERM:
    case EACCES:
        return "; this needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, which root lacks in a "
               "container";
    case ENOSYS:
        return "; the kernel was built without CONFIG_BPF_SYSCALL";
    case EINVAL:
        return "; the kernel may have been built without CONFIG_CGROUP_BPF, or be older than 5.10";
    case ENOMEM:
        return "; before Linux 5.11 this also needs a larger RLIMIT_MEMLOCK";
    default:
        return "";
    }
}

/// The gate that an earlier run installed.
struct Standing {
    std::optional<core::GateMode> mode; ///< unset: unknown, for example of another version
};

// Returns the gate that is loaded, if any.
std::optional<Standing> standingGate(const std::string& pins) {
    service::KernelGates gates(pins);
    if (!gates.absence().empty())
        return gates.isUnusable() ? std::optional(Standing{}) : std::nullopt;
    try {
        return Standing{gates.mode()};
    } catch (const core::Error&) {
        return Standing{};
    }
}

// Returns the state of the gate after a failure, so that nobody assumes it is "on".
std::string stateNow(const std::string& pins) {
    const std::optional<Standing> gate = standingGate(pins);
    if (!gate)
        return "GPUs are not isolated: every user can open every GPU";
    if (!gate->mode)
        return "cannot read the mode of the previous gate";
    switch (*gate->mode) {
    case core::GateMode::Open:
        return "GPUs are not isolated: the previous gate is open";
    case core::GateMode::Watch:
        return "the previous gate stays, and only watches";
    case core::GateMode::Refuse:
        break;
    }
    return "the previous gate stays, and refuses users without a grant";
}

int fail(const Options& options, const std::string& why, int status = EXIT_FAILURE) {
    if (options.check) {
        fmt::print(stderr, "{}\n", core::printable(why)); // "genvctl doctor" shows it
        return status;
    }
    log(core::Severity::Error, why);
    log(core::Severity::Error, stateNow(options.pins));
    return status;
}

int takeDown(const Options& options, const std::string& reason) {
    const bool wasThere = Loader(options.pins, {}).takeDown();
    if (wasThere)
        log(core::Severity::Notice, reason + ": removed the gate; every user can open every GPU");
    return EXIT_SUCCESS;
}

void requireBpfFileSystem(const std::filesystem::path& folder) {
    if (!service::KernelGates::hasBpfFileSystem(folder))
        core::fail(core::ErrorCode::IsolationFailed,
                   "no BPF file system on {0}: mount one (mount -t bpf -o mode=0700 bpf {0})",
                   folder.string());
}

std::filesystem::path controlGroup(const Options& options) {
    return options.controlGroup.empty() ? rootControlGroup()
                                        : std::filesystem::path(options.controlGroup);
}

// Checks what the gate needs, as far as the caller may. Only root may load a program.
int check(const Options& options) {
    requireBpfFileSystem(std::filesystem::path(options.pins).parent_path());
    std::ignore = controlGroup(options);
    if (::geteuid() == 0)
        Loader::tryToLoad();
    return EXIT_SUCCESS;
}

int putUp(const Options& options, const core::IsolationSettings& settings) {
    requireBpfFileSystem(std::filesystem::path(options.pins).parent_path());
    // The people whom genvd found among the uids of services stay as they are.
    service::isolation::Identities identities = service::isolation::IdentityFiles().read(
        settings, service::KernelGates(options.pins).people());
    for (const std::string& complaint : identities.complaints)
        log(core::Severity::Warning, complaint);
    const Loader loader(options.pins, controlGroup(options));
    const bool watches = settings.mode == IsolationMode::Watch;
    service::isolation::GatePlan plan{watches ? core::GateMode::Watch : core::GateMode::Refuse,
                                      guardedMajors(), std::move(identities.blocks)};
    plan.open = service::NvmlNodes("/proc").forEverybody();
    if (settings.renderNodes) {
        plan.renderNodes.emplace();
        for (const core::DriverNode& each : service::findDrmNodes("/sys"))
            plan.renderNodes->push_back(each.node);
    }
    const auto state = loader.putUp(plan);
    const std::string mode = core::toString(settings.mode);
    if (state.isSuspended)
        log(core::Severity::Warning,
            fmt::format("Isolation={}: installed the gate, but an administrator suspended it until "
                        "the next boot or \"genvctl isolation on\"",
                        mode));
    else
        log(core::Severity::Info,
            fmt::format("Isolation={}: {} the gate, which {}", mode,
                        state.wasReplaced ? "replaced" : "installed",
                        watches ? "watches who opens GPUs"
                                : "refuses GPUs to users who do not hold them"));
    return EXIT_SUCCESS;
}

// An error in another section than [Isolation] does not leave GPUs open. It may hide what the
// administrator wants, such as a misspelled [Isolation], so with an error the gate only gets
// stricter.
int apply(const Options& options, const service::IsolationConfiguration& configuration) {
    core::IsolationSettings settings = configuration.settings;
    for (const std::string& error : configuration.errorsElsewhere)
        log(core::Severity::Warning, error);
    if (!configuration.errorsElsewhere.empty()) {
        const std::optional<Standing> gate = standingGate(options.pins);
        if (settings.mode == IsolationMode::None && !gate)
            return fail(options, "cannot tell whether to isolate GPUs; correct the lines above",
                        exitConfiguration);
        if (settings.mode == IsolationMode::None) {
            log(core::Severity::Warning, stateNow(options.pins));
            return EXIT_SUCCESS;
        }
        if (gate && gate->mode == core::GateMode::Refuse)
            settings.mode = IsolationMode::User;
    }
    if (settings.mode == IsolationMode::None)
        return takeDown(options, "Isolation=none");
    return putUp(options, settings);
}

int run(const Options& options) {
    try {
        if (options.check)
            return check(options);
        if (options.remove)
            return takeDown(options, "--remove");
        return apply(options, service::readIsolation(configurationFolder()));
    } catch (const core::Error& error) {
        return fail(options, error.what(),
                    error.code() == core::ErrorCode::InvalidArgs ? exitConfiguration
                                                                 : EXIT_FAILURE);
    } catch (const BpfError& error) {
        return fail(options, error.what() + hintFor(error.error()));
    } catch (const std::filesystem::filesystem_error& error) {
        return fail(options, error.what());
    } catch (const std::exception& error) {
        return fail(options, fmt::format("internal error: {}", error.what()));
    }
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Set up the isolation of GPUs in the kernel, as genvd.conf says. systemd starts "
                 "this program at boot; see genv-isolation(8)",
                 "genv-isolation"};
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    app.set_version_flag("--version", std::string("genv-isolation " GENV_VERSION),
                         "Print the version");
    Options options;
    app.add_flag("--check", options.check,
                 "Check whether this machine can isolate GPUs; change nothing");
    app.add_flag("--remove", options.remove, "Remove the gate, regardless of genvd.conf");
    app.add_option("--pins", options.pins, "Keep maps in this folder of a BPF file system")
        ->type_name("FOLDER")
        ->capture_default_str();
    app.add_option("--control-group", options.controlGroup,
                   "Check processes of this control group [default: all]")
        ->type_name("FOLDER");
    app.footer("Exit status:\n  0   Success\n  1   Failure\n  2   Usage error\n  78  Invalid "
               "configuration\n\n"
               "Examples:\n  # Remove the gate\n  genv-isolation --remove");
    if (const auto status = core::exitAfterParsing(app, argc, argv))
        return *status;
    ::umask(077);
    return run(options);
}
