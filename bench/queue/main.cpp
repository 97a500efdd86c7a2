// SPDX-License-Identifier: LGPL-2.1-or-later
// queue_bench [--trace FILE [--gpus N]]: replays a trace of requests through the real queue, by
// arrival and in fair order. Prints how long each user waited, how long GPUs idled while requests
// waited, and how often requests were overtaken. With --figures, prints figures for bench/run.
#include "bench/queue/simulation.hpp"
#include "core/command_line/help_formatter.hpp"
#include "core/command_line/parsing.hpp"
#include "core/error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace {

using namespace genv;
using std::chrono::seconds;

double hoursOf(seconds span) {
    return static_cast<double>(span.count()) / 3600;
}

struct Waits {
    double median = 0; ///< in hours, as the others
    double mean = 0;
    double longest = 0;
};

Waits waitsOf(std::vector<seconds> spans) {
    if (spans.empty())
        return {};
    std::ranges::sort(spans);
    const seconds sum = std::accumulate(spans.begin(), spans.end(), seconds{0});
    return {hoursOf(spans[spans.size() / 2]), hoursOf(sum) / static_cast<double>(spans.size()),
            hoursOf(spans.back())};
}

std::vector<seconds> allWaits(const bench::SimulationResult& result) {
    std::vector<seconds> all;
    for (const auto& [user, waits] : result.waits)
        all.insert(all.end(), waits.begin(), waits.end());
    return all;
}

void printRow(const std::string& name, std::size_t requests, const Waits& fifo, const Waits& fair) {
    fmt::print("{:<12} {:>8}   {:>6.2f} {:>6.2f} {:>7.2f}   {:>6.2f} {:>6.2f} {:>7.2f}\n", name,
               requests, fifo.median, fifo.mean, fifo.longest, fair.median, fair.mean,
               fair.longest);
}

void printSums(const char* order, const bench::Trace& trace,
               const bench::SimulationResult& result) {
    fmt::print("{}: {:.1f} idle GPU hours while requests waited, {:.1f} % of the GPUs held over "
               "{:.1f} days, {} overtakings, at most {} of one request\n",
               order, hoursOf(result.idle),
               100 * hoursOf(result.held) / (hoursOf(result.lasted) * trace.gpus),
               hoursOf(result.lasted) / 24, result.overtakings, result.mostOvertaken);
}

void printTable(const bench::Trace& trace, const bench::SimulationResult& fifo,
                const bench::SimulationResult& fair) {
    fmt::print("Hours that requests waited:\n"
               "USER         REQUESTS   ---------- fifo ------   ---------- fair ------\n"
               "                        median   mean longest   median   mean longest\n");
    for (const auto& [user, waits] : fifo.waits)
        printRow(trace.names.at(user), waits.size(), waitsOf(waits), waitsOf(fair.waits.at(user)));
    printRow("all", allWaits(fifo).size(), waitsOf(allWaits(fifo)), waitsOf(allWaits(fair)));
    fmt::print("\n");
    printSums("fifo", trace, fifo);
    printSums("fair", trace, fair);
}

void printFigure(const char* name, const char* order, const char* unit, double value) {
    const nlohmann::ordered_json figure{{"part", "queue"},
                                        {"name", name},
                                        {"with", {{"order", order}}},
                                        {"unit", unit},
                                        {"median", value}};
    fmt::print("{}\n", figure.dump());
}

void printFigures(const char* order, const bench::SimulationResult& result) {
    const Waits waits = waitsOf(allWaits(result));
    printFigure("median wait", order, "h", waits.median);
    printFigure("mean wait", order, "h", waits.mean);
    printFigure("idle GPUs", order, "h", hoursOf(result.idle));
    printFigure("overtakings", order, "", static_cast<double>(result.overtakings));
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Replay requests for GPUs by arrival and in fair order", "queue_bench"};
    app.formatter(core::helpFormatter());
    std::string file;
    app.add_option("--trace", file, "Replay this trace instead of a made-up month")
        ->type_name("FILE");
    std::uint32_t gpus = 8;
    app.add_option("--gpus", gpus, "Number of GPUs, for --trace [default: 8]")
        ->check(CLI::Range(1U, 1024U).description(""))
        ->type_name("N");
    bool figures = false;
    app.add_flag("--figures", figures, "Print figures for bench/run");
    bool isQuick = false; // the figures do not depend on the time
    app.add_flag("--quick", isQuick, "Accepted for bench/run");
    if (const auto status = core::exitAfterParsing(app, argc, argv))
        return *status;
    try {
        const bench::Trace trace =
            file.empty() ? bench::madeUpMonth() : bench::readTrace(file, gpus);
        const bench::SimulationResult fifo = bench::simulate(trace, {core::QueueOrder::Fifo});
        const bench::SimulationResult fair = bench::simulate(trace, {core::QueueOrder::Fair});
        if (figures) {
            printFigures("fifo", fifo);
            printFigures("fair", fair);
        } else {
            printTable(trace, fifo, fair);
        }
    } catch (const core::Error& error) {
        fmt::print(stderr, "queue_bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
