// SPDX-License-Identifier: LGPL-2.1-or-later
// queue_bench [--trace FILE [--gpus N]] [--quota N]: replays a trace of requests through the real
// queue, by arrival and in fair order. Prints how long each user waited, how long GPUs idled while
// requests waited, and how often requests were overtaken. Then does the same under quotas alone,
// quotas and loans, and fair order with loans, and also counts parks and their memory. With
// --figures, prints figures for bench/run.
#include "bench/queue/simulation.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <numeric>
#include <optional>
#include <span>

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

std::vector<seconds> sums(const std::vector<bench::WaitingTime>& waits) {
    std::vector<seconds> spans;
    for (const bench::WaitingTime& wait : waits)
        spans.push_back(wait.sum());
    return spans;
}

// Of all requests, or only of those that can be parked, or of the others.
std::vector<seconds> allWaits(const bench::SimulationResult& result,
                              std::optional<bool> canBeParked = {}) {
    std::vector<seconds> all;
    for (const auto& [user, waits] : result.waits) {
        for (const bench::WaitingTime& wait : waits) {
            if (!canBeParked || *canBeParked == wait.canBeParked)
                all.push_back(wait.sum());
        }
    }
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
        printRow(trace.names.at(user), waits.size(), waitsOf(sums(waits)),
                 waitsOf(sums(fair.waits.at(user))));
    printRow("all", allWaits(fifo).size(), waitsOf(allWaits(fifo)), waitsOf(allWaits(fair)));
    fmt::print("\n");
    printSums("fifo", trace, fifo);
    printSums("fair", trace, fair);
}

/// A replay under some rules.
struct Replay {
    const char* name;
    bench::SimulationRules rules;
    bench::SimulationResult result = {};
};

/// First by arrival and in fair order, then the three that are compared with each other.
std::vector<Replay> replayAll(const bench::Trace& trace, std::uint32_t quota) {
    using core::QueueOrder;
    std::vector<Replay> all{{"fifo", {QueueOrder::Fifo}},
                            {"fair", {QueueOrder::Fair}},
                            {"quotas", {QueueOrder::Fifo, quota, false}},
                            {"quotas and loans", {QueueOrder::Fifo, quota, true}},
                            {"fair with loans", {QueueOrder::Fair, std::nullopt, true}}};
    std::vector<std::future<bench::SimulationResult>> results;
    for (const Replay& replay : all)
        results.push_back(std::async(std::launch::async, [&trace, rules = replay.rules] {
            return bench::simulate(trace, rules);
        }));
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].result = results[i].get();
    return all;
}

double gibibytes(core::Bytes bytes) {
    return static_cast<double>(bytes.count) / (1ULL << 30U);
}

void printLoans(const bench::Trace& trace, std::span<const Replay> all) {
    fmt::print("\nHours that requests waited or were parked:\n"
               "                   -- preemptible requests --   ----- other requests -----\n"
               "                    median    mean   longest     median    mean   longest\n");
    for (const Replay& each : all) {
        const Waits loans = waitsOf(allWaits(each.result, true));
        const Waits others = waitsOf(allWaits(each.result, false));
        fmt::print("{:<18} {:>7.2f} {:>7.2f} {:>9.2f}    {:>7.2f} {:>7.2f} {:>9.2f}\n", each.name,
                   loans.median, loans.mean, loans.longest, others.median, others.mean,
                   others.longest);
    }
    fmt::print("\n");
    for (const Replay& each : all) {
        printSums(each.name, trace, each.result);
        if (each.rules.loans)
            fmt::print("  {} parks and {} that failed, {:.0f} GiB moved to host memory, at most "
                       "{:.0f} GiB there at once, parked for at most {:.2f} hours\n",
                       each.result.parks, each.result.failedParks, gibibytes(each.result.moved),
                       gibibytes(each.result.mostParked), hoursOf(each.result.longestParked));
    }
}

using Figure = nlohmann::ordered_json;

Figure figureOf(const char* name, const bench::SimulationRules& rules, const char* unit,
                double value) {
    Figure with{{"fair", rules.order == core::QueueOrder::Fair ? 1 : 0}};
    if (rules.quota)
        with["quota"] = *rules.quota;
    if (rules.loans)
        with["loans"] = 1;
    return {{"part", "queue"}, {"name", name}, {"with", with}, {"unit", unit}, {"median", value}};
}

Figure figureOf(const char* name, const bench::SimulationRules& rules, const Waits& waits) {
    Figure figure = figureOf(name, rules, "h", waits.median);
    figure["mean"] = waits.mean;
    figure["longest"] = waits.longest;
    return figure;
}

void printFigures(const Replay& replay) {
    const bench::SimulationRules& rules = replay.rules;
    const bench::SimulationResult& result = replay.result;
    const auto print = [](const Figure& figure) { fmt::print("{}\n", figure.dump()); };
    print(figureOf("wait of preemptible requests", rules, waitsOf(allWaits(result, true))));
    print(figureOf("wait of other requests", rules, waitsOf(allWaits(result, false))));
    print(figureOf("idle GPUs while requests wait", rules, "h", hoursOf(result.idle)));
    print(figureOf("overtakings", rules, "1", static_cast<double>(result.overtakings)));
    if (!rules.loans)
        return;
    print(figureOf("parks", rules, "1", static_cast<double>(result.parks)));
    print(figureOf("moved to host memory", rules, "GiB", gibibytes(result.moved)));
    print(figureOf("host memory in use at once", rules, "GiB", gibibytes(result.mostParked)));
    print(figureOf("longest time parked", rules, "h", hoursOf(result.longestParked)));
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
    std::uint32_t quota = 2;
    app.add_option("--quota", quota, "GPUs of a user, where quotas are in force [default: 2]")
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
        const std::vector<Replay> all = replayAll(trace, quota);
        if (figures) {
            std::ranges::for_each(all, printFigures);
        } else {
            printTable(trace, all[0].result, all[1].result);
            printLoans(trace, std::span(all).subspan(2));
        }
    } catch (const core::Error& error) {
        fmt::print(stderr, "queue_bench: {}\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
