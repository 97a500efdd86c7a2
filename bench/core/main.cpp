// SPDX-License-Identifier: LGPL-2.1-or-later
// core_bench [--quick] [GOOGLE-BENCHMARK-OPTION]...: measures the core without a bus, on machines
// from the size of a workstation to that of a data centre. Prints one figure per line for
// bench/run: the median of the repetitions, each of which is a mean.
#include "bench/core/machine.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

namespace {

using namespace genv;

/// Returns the reason why a run failed, or nothing if it succeeded. Google Benchmark 1.8 treats a
/// failure as a kind of skipping; 1.7 does not.
template <typename Run>
std::optional<std::string> failureOf(const Run& run) {
    if constexpr (requires { run.skip_message; })
        return run.skipped ? std::optional(run.skip_message) : std::nullopt;
    else
        return run.error_occurred ? std::optional(run.error_message) : std::nullopt;
}

/// Prints the medians as figures.
class FigureReporter : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context& /*context*/) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (const auto failure = failureOf(run)) {
                std::fprintf(stderr, "core_bench: %s: %s\n", run.benchmark_name().c_str(),
                             failure->c_str());
                failed_ = true;
            } else if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") {
                print(run);
            }
        }
    }

    [[nodiscard]] bool failed() const { return failed_; }

  private:
    static void print(const Run& run) {
        const nlohmann::ordered_json figure{{"part", "core"},
                                            {"name", run.run_name.function_name},
                                            {"with", sizesOf(run.run_name.args)},
                                            {"unit", "µs"},
                                            {"median", run.GetAdjustedRealTime()}};
        std::printf("%s\n", figure.dump().c_str());
        std::fflush(stdout);
    }

    // Converts "environments:100/devices:8" to an object.
    static nlohmann::ordered_json sizesOf(const std::string& text) {
        nlohmann::ordered_json sizes = nlohmann::ordered_json::object();
        std::istringstream parts(text);
        for (std::string part; std::getline(parts, part, '/');) {
            const std::size_t colon = part.find(':');
            sizes[part.substr(0, colon)] = std::stoul(part.substr(colon + 1));
        }
        return sizes;
    }

    bool failed_ = false;
};

bool takeQuick(int& count, char** arguments) {
    char** end = std::remove_if(arguments + 1, arguments + count, [](const char* argument) {
        return std::strcmp(argument, "--quick") == 0;
    });
    const bool found = end != arguments + count;
    count = static_cast<int>(end - arguments);
    return found;
}

// Adds the sizes one after another, so that only one machine at a time is in the processor's
// caches.
void addBenchmarks(bool quick) {
    const std::vector<core::Pid> environments =
        quick ? std::vector<core::Pid>{10, 10'000} : std::vector<core::Pid>{10, 100, 1000, 10'000};
    const std::vector<core::DeviceIndex> devices =
        quick ? std::vector<core::DeviceIndex>{8, 1024}
              : std::vector<core::DeviceIndex>{8, 128, 1024};
    for (const core::Pid count : environments) {
        for (const core::DeviceIndex index : devices) {
            const auto machine = std::make_shared<bench::LazyMachine>(bench::Size{count, index});
            bench::addLedgerBenchmarks(machine);
            bench::addPlacementBenchmarks(machine);
            bench::addReadingsBenchmarks(machine);
            bench::addRulesBenchmarks(machine);
            bench::addSnapshotBenchmarks(machine);
        }
        bench::addStoreBenchmarks(count);
    }
    bench::addQueueBenchmarks();
}

std::vector<char*> withDefaults(int count, char** arguments, std::vector<std::string>& defaults) {
    std::vector<char*> words{arguments[0]};
    for (std::string& word : defaults)
        words.push_back(word.data());
    words.insert(words.end(), arguments + 1, arguments + count);
    return words;
}

} // namespace

int main(int argc, char** argv) {
    const bool quick = takeQuick(argc, argv);
    std::vector<std::string> defaults{quick ? "--benchmark_repetitions=3"
                                            : "--benchmark_repetitions=9",
                                      quick ? "--benchmark_min_time=0.005" UNIT_OF_MIN_TIME
                                            : "--benchmark_min_time=0.02" UNIT_OF_MIN_TIME};
    std::vector<char*> words = withDefaults(argc, argv, defaults);
    int count = static_cast<int>(words.size());
    benchmark::SetDefaultTimeUnit(benchmark::kMicrosecond);
    benchmark::Initialize(&count, words.data());
    if (benchmark::ReportUnrecognizedArguments(count, words.data()))
        return 2;
    addBenchmarks(quick);
    FigureReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::Shutdown();
    return reporter.failed() ? EXIT_FAILURE : EXIT_SUCCESS;
}
