// SPDX-License-Identifier: LGPL-2.1-or-later
// isolation_bench GENV_ISOLATION [--quick] [--gpu MINOR]: measures the cost of the kernel gate.
// Opens are measured alternately in a control group with the gate and in one without it. The gate
// applies to no other process. With --gpu, only the open of a real GPU is measured. Prints one
// figure per line for bench/run.
#include "bench/bus/series.hpp"
#include "bench/core/machine.hpp"
#include "core/isolation/isolation.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/isolation/loader.hpp"
#include "tests/service/isolation/gate_machine.hpp"
#include "tests/service/isolation/gate_users.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace genv;
using bench::Clock;
using bench::Series;
using tests::alice;
using tests::GateMachine;

// A process that moves to another processor also pays for cold caches.
void stayOnOneProcessor() {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(static_cast<unsigned>(std::max(::sched_getcpu(), 0)), &processors);
    ::sched_setaffinity(0, sizeof processors, &processors);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Returns the microseconds for one open(2) and the close(2) of its result. Uses the fastest of
// several batches, which is the one without interruptions.
double timeOfOpen(const std::filesystem::path& path, int opens) {
    constexpr int batches = 5;
    double best = 0;
    for (int batch = 0; batch < batches; ++batch) {
        const auto began = Clock::now();
        for (int n = 0; n < opens; ++n) {
            const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
            if (fd >= 0)
                ::close(fd);
        }
        const std::chrono::duration<double, std::micro> time = Clock::now() - began;
        const double each = time.count() / opens;
        best = batch == 0 ? each : std::min(best, each);
    }
    return best;
}

class OpenCosts {
  public:
    // A real GPU takes longer to open, so it is opened less often.
    OpenCosts(const GateMachine& gated, const GateMachine& free, bool quick, bool isReal)
        : gated_(gated), free_(free), pairs_(quick    ? 7
                                             : isReal ? 21
                                                      : 61),
          opens_(isReal  ? 200
                 : quick ? 1000
                         : 3000),
          part_(isReal ? "gpu" : "isolation"),
          shared_(static_cast<double*>(::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (shared_ == MAP_FAILED)
            throw std::runtime_error("no memory");
    }

    void print(const std::string& name, core::DeviceNode node) const {
        std::vector<double> times;
        std::vector<double> ratios;
        for (int pair = 0; pair < pairs_; ++pair) {
            double with = 0;
            double without = 0;
            for (int turn = 0; turn < 2; ++turn) { // the first may find cold caches
                if ((turn + pair) % 2 == 0)
                    with = measure(gated_, gated_.pathOf(node));
                else
                    without = measure(free_, gated_.pathOf(node));
            }
            times.push_back(with);
            ratios.push_back(with / without);
        }
        fmt::print(R"({{"part": "{}", "name": "{}", "with": {{}}, "unit": "µs", )"
                   R"("median": {:.4f}, "reference": "the same without the gate", )"
                   R"("ratio": {:.4f}}})"
                   "\n",
                   part_, name, median(times), median(ratios));
    }

  private:
    [[nodiscard]] double measure(const GateMachine& machine,
                                 const std::filesystem::path& path) const {
        *shared_ = 0;
        machine.inGroup(alice, [&] {
            *shared_ = timeOfOpen(path, opens_);
            return 0;
        });
        if (*shared_ <= 0)
            throw std::runtime_error("nothing was measured");
        return *shared_;
    }

    const GateMachine& gated_;
    const GateMachine& free_;
    int pairs_;
    int opens_;
    const char* part_;
    double* shared_;
};

void printTimes(const std::string& name, std::size_t grants, const Series& times) {
    fmt::print(R"({{"part": "isolation", "name": "{}", "with": {{"grants": {}}}, "unit": "µs", )"
               R"("median": {:.3f}, "p99": {:.3f}}})"
               "\n",
               name, grants, times.median(), times.percentile(0.99));
}

Series timesOf(int times, const std::function<void(unsigned)>& act) {
    Series series;
    for (int n = 0; n < times; ++n) {
        const auto began = Clock::now();
        act(static_cast<unsigned>(n));
        series.add(Clock::now() - began);
    }
    return series;
}

void printChanges(service::KernelGates& gates, std::size_t held, bool quick) {
    constexpr core::Uid firstUid = 1'000'000;
    for (unsigned n = 0; n < held; ++n)
        gates.grant({{tests::gpuMajor, n % 8}, firstUid + n});
    const int times = quick ? 200 : 5000;
    const auto grantOf = [](unsigned n) { return core::Grant{tests::gpu, 2 * firstUid + n}; };
    printTimes("grant", held, timesOf(times, [&](unsigned n) { gates.grant(grantOf(n)); }));
    printTimes("revoke", held, timesOf(times, [&](unsigned n) { gates.revoke(grantOf(n)); }));
}

class NoLog : public core::Log {
  public:
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

// Measures the comparison of the kernel's grants with the ledger at the start of the service. Some
// grants are missing in the kernel, and the same number are stale.
void printStart(service::KernelGates& gates, core::Pid attachments, bool quick) {
    constexpr core::DeviceIndex devices = 1024; // so that each attachment is a separate grant
    bench::Machine machine({attachments, devices});
    for (core::DeviceSample& sample : machine.seen.devices)
        sample.nodes = {{tests::gpuMajor, sample.facts.index}};
    NoLog log;
    core::IsolationSettings settings;
    settings.mode = core::IsolationMode::User;
    const auto start = [&] {
        core::Isolation isolation(machine.ledger, gates, machine.events, log,
                                  [&]() -> const core::IsolationSettings& { return settings; });
        isolation.learn(machine.seen);
        isolation.check();
        if (isolation.inForce() != core::IsolationMode::User)
            throw std::runtime_error("isolation is not in force");
    };

    start();
    const std::vector<core::Grant> wanted = gates.grants();
    if (wanted.size() != attachments)
        throw std::runtime_error(fmt::format("{} grants", wanted.size()));
    constexpr core::Uid nobodys = 3'000'000;
    const core::Pid changed = attachments / 100;
    Series series;
    for (int n = 0; n < (quick ? 3 : 51); ++n) {
        for (core::Pid i = 0; i < changed; ++i) {
            gates.revoke(wanted[i]);
            gates.grant({wanted[i].node, nobodys + i});
        }
        const auto began = Clock::now();
        start();
        series.add(Clock::now() - began);
    }
    if (gates.grants().size() != attachments)
        throw std::runtime_error("the grants were not corrected");
    fmt::print(R"({{"part": "isolation", "name": "grants compared at a start", "with": )"
               R"({{"grants": {}, "missing": {}, "stale": {}}}, "unit": "µs", )"
               R"("median": {:.3f}, "p99": {:.3f}}})"
               "\n",
               attachments, changed, changed, series.median(), series.percentile(0.99));
}

// Measures the whole program, as an upgrade runs it.
void printReplacement(const GateMachine& machine, const std::string& program, std::size_t held,
                      bool quick) {
    const std::string command =
        fmt::format("CONFIGURATION_DIRECTORY={} {} --pins={} --control-group={} 2>/dev/null",
                    machine.folder().string(), program, machine.pins().string(),
                    machine.controlGroup().string());
    printTimes("genv-isolation, replacing the gate", held, timesOf(quick ? 2 : 11, [&](unsigned) {
                   if (std::system(command.c_str()) != 0)
                       throw std::runtime_error("genv-isolation failed");
               }));
}

struct Options {
    bool isQuick = false;
    std::optional<core::DeviceNode> gpu;
};

// Parses the arguments after the first. Returns nothing if they are wrong.
std::optional<Options> parse(const std::vector<std::string_view>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint32_t minor = 0;
        if (words[i] == "--quick") {
            options.isQuick = true;
        } else if (words[i] == "--gpu" && i + 1 < words.size()) {
            const std::string_view text = words[++i];
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), minor);
            if (error != std::errc{} || end != text.data() + text.size())
                return std::nullopt;
            options.gpu = core::DeviceNode{tests::gpuMajor, minor};
        } else {
            return std::nullopt;
        }
    }
    return options;
}

} // namespace

int main(int argc, char** argv) {
    const auto options = argc < 2 ? std::nullopt : parse({argv + 2, argv + argc});
    if (!options) {
        fmt::print(stderr, "usage: isolation_bench GENV_ISOLATION [--quick] [--gpu MINOR]\n");
        return EXIT_FAILURE;
    }
    const bool quick = options->isQuick;
    if (const std::string reason = tests::whyNoGate(); !reason.empty()) {
        fmt::print(stderr, "isolation_bench: {}\n", reason);
        return EXIT_FAILURE;
    }
    try {
        stayOnOneProcessor();
        const GateMachine free;
        const GateMachine machine;
        machine.write("genvd.conf", "[Isolation]\nIsolation=user\n");
        service::isolation::Loader(machine.pins(), machine.controlGroup())
            .putUp({core::GateMode::Refuse, {tests::gpuMajor}, {}});
        service::KernelGates gates(machine.pins());
        gates.grant({options->gpu.value_or(tests::gpu), alice});

        const OpenCosts costs(machine, free, quick, options->gpu.has_value());
        if (options->gpu) {
            costs.print("open of the GPU", *options->gpu);
            return EXIT_SUCCESS;
        }
        costs.print("open of a device that is not guarded", {1, 3}); // /dev/null
        costs.print("open of a GPU that is held", tests::gpu);
        costs.print("open of a GPU that is refused", tests::otherGpu);
        printChanges(gates, 100, quick);
        printChanges(gates, 10'000, quick);
        printStart(gates, 10'000, quick);
        printReplacement(machine, argv[1], 10'000, quick);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "isolation_bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
