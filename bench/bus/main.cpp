// SPDX-License-Identifier: LGPL-2.1-or-later
// bus_bench: measures the service over a bus, with simulated devices. Runs as root within
// tests/private_bus/private-bus. Prints one JSON object per line for each figure; bench/run
// displays them. Each measurement is compared with a reference that was measured in alternation
// with it, because only such a ratio is meaningful on another machine.
#include "bench/bus/parts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace {

using namespace genv::bench;

struct Part {
    const char* name;
    void (*measure)(const Plan&);
};

constexpr std::array parts{
    Part{"reads", measureReads},
    Part{"changes", measureChanges},
    Part{"authorization", measureAuthorization},
    Part{"enforcement", measureEnforcement},
    Part{"endings", measureEndings},
    Part{"start", measureStart},
    Part{"idle", measureIdleness},
    Part{"listeners", measureListeners},
};

} // namespace

int main(int argc, char** argv) {
    Plan plan;
    std::vector<std::string> names;
    std::vector<std::string> wanted;
    for (const Part& part : parts)
        names.emplace_back(part.name);
    CLI::App app{
        "Measures genvd over the bus of tests/private_bus/private-bus; prints JSON lines."};
    app.add_option("--genvd", plan.genvd, "Measure this program")
        ->required()
        ->check(CLI::ExistingFile);
    auto* calls = app.add_option("--calls", plan.calls, "Make each call N times [default: 500]")
                      ->check(CLI::PositiveNumber);
    app.add_flag("--quick", plan.quick, "Use small sizes and few calls");
    app.add_option("--part", wanted, "Measure only these parts")->check(CLI::IsMember(names));
    CLI11_PARSE(app, argc, argv);
    if (plan.quick && calls->empty())
        plan.calls = 50;
    try {
        for (const Part& part : parts) {
            if (!wanted.empty() &&
                std::find(wanted.begin(), wanted.end(), part.name) == wanted.end())
                continue;
            fmt::print(stderr, "bus_bench: {}\n", part.name);
            part.measure(plan);
        }
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bus_bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
