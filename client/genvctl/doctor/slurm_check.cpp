// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks a node of a Slurm cluster.
#include "client/genvctl/doctor/slurm_check.hpp"

#include "client/genvctl/common/listed_devices.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/slurm_configuration.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/slurm/hook_job.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace genv::ctl::doctor {

namespace {

namespace fs = std::filesystem;
using enum DoctorVerdict;

struct HookKey {
    const char* key;
    const char* script;
};
constexpr std::array hookKeys{HookKey{"Prolog", GENV_SLURM_FOLDER "/prolog"},
                              HookKey{"Epilog", GENV_SLURM_FOLDER "/epilog"},
                              HookKey{"TaskProlog", GENV_SLURM_FOLDER "/task-prolog"}};

// Uses the same search as Slurm's programs. The second path is the copy on a node without files of
// its own.
std::optional<fs::path> configurationFile(const SystemPlaces& places) {
    std::vector<fs::path> files{places.at("/etc/slurm/slurm.conf"),
                                places.at("/run/slurm/conf/slurm.conf"),
                                places.at("/etc/slurm-llnl/slurm.conf")};
    if (const char* named = std::getenv("SLURM_CONF"); named != nullptr && *named == '/')
        files.insert(files.begin(), places.at(named));
    std::error_code ignored;
    for (const fs::path& file : files) {
        if (fs::exists(file, ignored))
            return file;
    }
    return std::nullopt;
}

// Returns the files that match a pattern.
std::vector<fs::path> filesOf(const fs::path& pattern) {
    glob_t found{};
    const int status = glob(pattern.c_str(), 0, nullptr, &found);
    const std::unique_ptr<glob_t, decltype(&globfree)> owner(&found, &globfree);
    return status == 0 ? std::vector<fs::path>(found.gl_pathv, found.gl_pathv + found.gl_pathc)
                       : std::vector<fs::path>();
}

bool calls(const fs::path& file, const HookKey& hook) {
    std::ifstream stream(file);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const std::string name = fs::path(hook.script).filename();
    return text.find(hook.script) != std::string::npos ||
           text.find("genvctl slurm " + name) != std::string::npos;
}

HookFacts hookFacts(const SystemPlaces& places, const SlurmConfiguration& slurm,
                    const HookKey& hook) {
    HookFacts facts{hook.key, hook.script, HookState::Unset};
    const std::string value = slurm.value(hook.key);
    if (value.empty())
        return facts;
    const std::vector<fs::path> files = filesOf(places.at(value));
    // A pattern that matches no file also drains the node.
    if (files.empty())
        facts.state = HookState::NotThere;
    else if (std::any_of(files.begin(), files.end(),
                         [&](const fs::path& file) { return calls(file, hook); }))
        facts.state = HookState::RunsGenv;
    else
        facts.state = HookState::RunsOther;
    return facts;
}

// Reads a file of /etc/pam.d and its includes as pam.conf(5) describes, one line each.
void addPamLines(const SystemPlaces& places, const std::string& file,
                 std::vector<std::string>& lines, int depth = 0) {
    constexpr int maxDepth = 8; // limits files that include each other
    std::ifstream stream(places.at("/etc/pam.d/" + file));
    for (std::string line; depth < maxDepth && std::getline(stream, line);) {
        line.resize(std::min(line.find('#'), line.size()));
        std::istringstream words(line);
        std::string type;
        std::string control;
        std::string name;
        words >> type >> control >> name;
        if (type == "@include")
            addPamLines(places, control, lines, depth + 1);
        else if (control == "include" || control == "substack")
            addPamLines(places, name, lines, depth + 1);
        else
            lines.push_back(line);
    }
}

void readSshPam(const SystemPlaces& places, SlurmFacts& facts) {
    std::vector<std::string> lines;
    addPamLines(places, "sshd", lines);
    const auto isSession = [](const std::string& line) {
        return line.starts_with("session") || line.starts_with("-session");
    };
    for (const std::string& line : lines) {
        if (line.find("pam_slurm_adopt") != std::string::npos)
            facts.adoptsSsh = true;
        else if (isSession(line) && line.find("pam_systemd.so") != std::string::npos)
            facts.movesSsh = true;
    }
}

bool isReserved(const SystemBus& bus, const char* path) {
    try {
        return !bus.property<std::string>({dbus::contract::busName, path, "dev.genv.Device"},
                                          "ReservedFor")
                    .empty();
    } catch (const CallFailed&) {
        return false; // the device is gone
    }
}

void askService(SlurmFacts& facts) {
    const SystemBus bus;
    if (!bus.hasOwner(dbus::contract::busName))
        return;
    facts.known.emplace();
    for (const ListedDevice& device : listDevices(bus)) {
        facts.known->emplace(device.uuid);
        facts.reserves = facts.reserves || isReserved(bus, device.path.c_str());
    }
}

void readDevices(const SystemPlaces& places, SlurmFacts& facts) {
    const fs::path file = places.at(runtimeFolder() + "/slurm/devices");
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        return;
    try {
        facts.devices = readSlurmDevices(file);
    } catch (const SlurmJobError& error) {
        facts.devicesTrouble = error.what();
    }
}

// Collects the problems, one sentence each.
class Troubles {
  public:
    void add(DoctorVerdict verdict, const std::string& what, const std::string& advice) {
        verdict_ = std::max(verdict_, verdict);
        found_ += (found_.empty() ? "" : "; ") + what;
        advice_ += (advice_.empty() ? "" : advice_.ends_with('.') ? " " : ". ") + advice;
    }
    [[nodiscard]] bool isEmpty() const { return found_.empty(); }
    [[nodiscard]] DoctorFinding finding() const { return {verdict_, found_, advice_}; }

  private:
    DoctorVerdict verdict_ = Ok;
    std::string found_;
    std::string advice_;
};

void judgeHook(const HookFacts& hook, Troubles& troubles) {
    switch (hook.state) {
    case HookState::RunsGenv:
        return;
    case HookState::NotThere:
        troubles.add(
            Problem,
            fmt::format("{}= in slurm.conf names a missing file, which fails each job", hook.key),
            fmt::format("Set {}={} in slurm.conf.", hook.key, hook.script));
        return;
    case HookState::Unset:
        troubles.add(Problem, fmt::format("slurm.conf has no {}=", hook.key),
                     fmt::format("Set {}={} in slurm.conf.", hook.key, hook.script));
        return;
    case HookState::RunsOther:
        break;
    }
    troubles.add(Problem, fmt::format("{}= in slurm.conf does not run genv", hook.key),
                 fmt::format("Run {} from it.", hook.script));
}

void judgeDevices(const SlurmFacts& facts, Troubles& troubles) {
    if (!facts.devicesTrouble.empty()) {
        troubles.add(Problem, facts.devicesTrouble, "As root: systemctl restart genvd");
        return;
    }
    if (!facts.devices) {
        troubles.add(Problem, "genvd has not learned from Slurm which GPUs it has here",
                     "\"journalctl -u genvd\" says why.");
        return;
    }
    std::uint32_t next = 0;
    for (const auto& [number, uuid] : *facts.devices) {
        if (number != next++)
            troubles.add(Problem, fmt::format("genvd knows no device for Slurm's GPU {}", next - 1),
                         "\"journalctl -u genvd\" names its device node.");
        if (facts.known && !facts.known->contains(uuid))
            troubles.add(
                Problem,
                fmt::format("Slurm's GPU {} is {}, which genvd does not list", number, uuid),
                "As root: systemctl reload genvd");
        next = number + 1;
    }
    if (facts.devices->empty())
        troubles.add(Problem, "no GPU that gres.conf names is a device of genvd",
                     "Compare File= in gres.conf with \"genvctl devices\".");
}

} // namespace

SlurmFacts gatherSlurmFacts(const SystemPlaces& places) {
    SlurmFacts facts;
    readDevices(places, facts);
    const auto file = configurationFile(places);
    const auto slurm = file ? SlurmConfiguration::read(*file) : std::nullopt;
    if (!slurm)
        return facts;
    facts.isConfigured = true;
    const auto gres = SlurmConfiguration::read(file->parent_path() / "gres.conf");
    const auto cgroup = SlurmConfiguration::read(file->parent_path() / "cgroup.conf");
    facts.hasGpus =
        slurm->has("GresTypes", "gpu") && (slurm->hasGpus() || (gres && gres->hasGpus()));
    for (const HookKey& hook : hookKeys)
        facts.hooks.push_back(hookFacts(places, *slurm, hook));
    facts.containsJobs = slurm->has("PrologFlags", "Contain");
    facts.constrainsDevices =
        slurm->has("TaskPlugin", "task/cgroup") && cgroup && cgroup->has("ConstrainDevices", "yes");
    readSshPam(places, facts);
    return facts;
}

DoctorFinding judgeSlurm(const SlurmFacts& facts) {
    const bool isUsed = facts.devices || !facts.devicesTrouble.empty() || facts.reserves;
    if (!isUsed && !facts.isConfigured)
        return {Ok, "no Slurm on this machine", ""};
    if (!isUsed && !facts.hasGpus)
        return {Ok, "Slurm schedules no GPUs", ""};
    if (!facts.isConfigured)
        return {Problem, "genvd.conf assigns GPUs to Slurm, but this user can read no slurm.conf",
                "Run it again as root, or remove Devices= in [Slurm] of genvd.conf."};
    Troubles troubles;
    if (!facts.hasGpus)
        troubles.add(Problem, "neither slurm.conf nor gres.conf has GPUs",
                     "Set GresTypes=gpu and Gres=gpu:N of the node in slurm.conf, and File= in "
                     "gres.conf.");
    if (isUsed)
        judgeDevices(facts, troubles);
    else
        troubles.add(
            Warning, "Slurm schedules GPUs, and genvd does not know which",
            "Set Devices= in [Slurm] of genvd.conf, then, as root: systemctl reload genvd");
    for (const HookFacts& hook : facts.hooks)
        judgeHook(hook, troubles);
    if (!facts.containsJobs)
        troubles.add(Problem, "PrologFlags= in slurm.conf lacks Contain",
                     "Set PrologFlags=Alloc,Contain.");
    if (!facts.constrainsDevices)
        troubles.add(Warning, "Slurm does not keep a job from the GPUs of others",
                     "Set ConstrainDevices=yes in cgroup.conf and TaskPlugin=task/cgroup in "
                     "slurm.conf.");
    if (!facts.adoptsSsh)
        troubles.add(Warning, "processes that come by SSH belong to no job",
                     "Add pam_slurm_adopt.so to /etc/pam.d/sshd.");
    else if (facts.movesSsh)
        troubles.add(Warning, "pam_systemd takes processes that come by SSH out of their job again",
                     "In /etc/pam.d/sshd, write the lines of \"@include common-session\" without "
                     "pam_systemd.so in its place.");
    if (!troubles.isEmpty())
        return troubles.finding();
    return {Ok,
            fmt::format("{} {} of this machine {} Slurm's", facts.devices->size(),
                        facts.devices->size() == 1 ? "device" : "devices",
                        facts.devices->size() == 1 ? "is" : "are"),
            ""};
}

DoctorFinding checkSlurm(const SystemPlaces& places) {
    SlurmFacts facts = gatherSlurmFacts(places);
    if (facts.devices || facts.isConfigured)
        askService(facts);
    return judgeSlurm(facts);
}

} // namespace genv::ctl::doctor
