// SPDX-License-Identifier: LGPL-2.1-or-later
// The nvidia-smi of an environment. Runs the real nvidia-smi for the environment's devices (--id),
// with the NVML filter in front of its library, and corrects output that bypasses the filter
// (correction.hpp lists which mode uses which method). It makes no decisions: the service reports
// the attached devices and the environment's processes. Without this report, the real program runs
// unchanged. Outside an environment and with GENV_BYPASS=1, this becomes the real program.
#include "genv/client.hpp"
#include "shims/nvidia_smi/identity.hpp"
#include "shims/nvidia_smi/real_tool.hpp"
#include "shims/printable.hpp"
#include "shims/program_environment.hpp"
#include "shims/real_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <set>

namespace genv::shims::nvidia_smi {

namespace {

// NVML_ERROR_NOT_FOUND, with which the real program also exits if there is no device.
constexpr int noDevice = 6;
// The service's sample is at most this old, so querying more often yields nothing newer.
constexpr std::chrono::seconds oldestView{1};

class Notes {
  public:
    void add(const std::string& text) {
        if (!printed_.insert(text).second)
            return;
        std::fflush(stdout);
        fmt::print(stderr, "genv: {}\n", text);
    }

  private:
    std::set<std::string> printed_;
};

std::string filterFile() {
    std::string file = ownFolder() + "/libgenv-nvml-filter.so";
    return access(file.c_str(), R_OK) == 0 ? file : std::string();
}

// The visible devices and processes, refreshed during the run.
class Sight {
  public:
    Sight(std::string real, Notes& notes) : real_(std::move(real)), notes_(notes) {}

    /// Queries them for the first time. Returns false if this process is in no environment. Throws
    /// genv::Error and AnothersEnvironment.
    bool open(const Whereabouts& where) {
        const auto environment = ownEnvironment(client_, where);
        if (!environment)
            return false;
        environment_ = *environment;
        look();
        return true;
    }
    [[nodiscard]] const View& view() const { return view_; }
    [[nodiscard]] const std::string& environment() const { return environment_.id; }
    [[nodiscard]] const std::string& real() const { return real_; }

    const Seen* seen() {
        if (isLost_ || std::chrono::steady_clock::now() - lookedAt_ < oldestView)
            return isLost_ ? nullptr : &seen_;
        try {
            look();
        } catch (const std::exception& error) {
            isLost_ = true;
            notes_.add(fmt::format("genvd no longer answers: showing all GPUs and processes ({})",
                                   printable(error.what())));
            return nullptr;
        }
        return &seen_;
    }

    std::vector<std::string> uuids() const {
        std::vector<std::string> list;
        for (const SeenGpu& gpu : seen_.gpus())
            list.push_back(gpu.uuid);
        return list;
    }

    const std::vector<GpuIdentity>& identities() {
        if (!identities_)
            identities_ = askIdentities(real_, uuids());
        return *identities_;
    }

  private:
    void look() {
        view_ = readView(client_, environment_);
        if (hasInstances(view_) && (listing_.empty() || view_.size() != listedFor_)) {
            listing_ = parseListing(outputOf(real_, {"-L"}));
            // Under isolation, the command fails at the first GPU that this user may not open.
            if (listing_.empty())
                listing_ = parseListing(outputOf(real_, {"-L"}, filterFile()));
            listedFor_ = view_.size();
        }
        seen_ = Seen(view_, listing_);
        lookedAt_ = std::chrono::steady_clock::now();
    }

    std::string real_;
    client::NamedEnvironment environment_;
    Notes& notes_;
    Client client_;
    View view_;
    Seen seen_;
    std::vector<ListedGpu> listing_;
    std::size_t listedFor_ = 0;
    std::optional<std::vector<GpuIdentity>> identities_;
    std::chrono::steady_clock::time_point lookedAt_;
    bool isLost_ = false;
};

void warnOfExcess(const Sight& sight) {
    constexpr std::uint64_t mib = 1U << 20U;
    for (const VisibleDevice& device : sight.view()) {
        const auto used = device.usedMemoryBytes();
        if (device.shareBytes && used && *used > *device.shareBytes)
            fmt::print(stderr,
                       "genv: environment {} uses {}MiB on GPU {}, over its capacity of {}MiB\n",
                       printable(sight.environment()), *used / mib, device.index,
                       *device.shareBytes / mib);
    }
}

// Runs the real program for the visible devices.
int show(Sight& sight, Arguments arguments, Notes& notes) {
    std::vector<std::string> uuids;
    if (arguments.id) {
        const ChosenDevices choice =
            choose(*arguments.id, sight.view(), *sight.seen(), [&] { return sight.identities(); });
        if (!choice.refused.empty()) {
            fmt::print(stderr,
                       "genv: GPU {} is not attached to environment {}\n"
                       "Attached: {}. \"genvctl devices\" shows who holds the others.\n",
                       printable(choice.refused), printable(sight.environment()),
                       indicesOf(sight.view()));
            return noDevice;
        }
        uuids = choice.uuids;
    } else if (arguments.takesId()) {
        uuids = sight.uuids();
    }
    warnOfExcess(sight);

    std::unique_ptr<Corrector> corrector;
    if (!arguments.file) {
        if (const std::string field = missingField(arguments); !field.empty())
            arguments.addField(field);
        corrector = makeCorrector(
            arguments, {[&] { return sight.seen(); },
                        [&](std::string_view busId) { return uuidOf(sight.identities(), busId); },
                        [&](const std::string& text) { notes.add(text); }});
    }
    const bool showsNothing = arguments.mode == Mode::Change || arguments.mode == Mode::QueryOther;
    const auto onEnd = [&](const FilterReport& report) {
        const bool isFiltered = report.hasView && !report.hasExportTable;
        if (corrector == nullptr && !showsNothing && !isFiltered && !report.hasNoService)
            notes.add("cannot correct this output: it may show other GPUs and processes than the "
                      "environment's");
    };
    return runReal(sight.real(), arguments.forReal(uuids), filterFile(), corrector.get(), onEnd);
}

int run(const std::vector<std::string>& given) {
    constexpr const char* name = "nvidia-smi";
    const Whereabouts where = readWhereabouts();
    const auto real = findRealProgram(name, ownFolder());
    const Arguments arguments = parseArguments(given);
    if (isBypassed() || !where.mayBeInside() || !real || arguments.mode == Mode::Information)
        executeReal(name, given);

    Notes notes;
    std::optional<Sight> sight;
    try {
        if (!sight.emplace(*real, notes).open(where))
            executeReal(name, given);
    } catch (const Error& error) {
        notes.add(fmt::format("genvd does not answer: showing all GPUs and processes ({})",
                              printable(error.what())));
        executeReal(name, given);
    } catch (const AnothersEnvironment& error) {
        notes.add(fmt::format("{}: showing all GPUs and processes", error.what()));
        executeReal(name, given);
    }
    if (sight->view().empty()) {
        fmt::print("No devices were found\n");
        return noDevice;
    }
    if (sight->uuids().empty()) {
        fmt::print(stderr, "genv: nvidia-smi -L does not list the attached MIG instances\n");
        return noDevice;
    }
    return show(*sight, arguments, notes);
}

} // namespace

} // namespace genv::shims::nvidia_smi

int main(int count, char** words) {
    try {
        return genv::shims::nvidia_smi::run({words + 1, words + count});
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv: {}\n", genv::shims::printable(error.what()));
        return 255;
    }
}
