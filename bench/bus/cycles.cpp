// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures a cycle of the rules: its duration, the processor time of each thread, and the delay for
// other clients meanwhile. A hundred environments share one device, and the processes on it are
// divided among them. The rules find nothing, which is the usual case. The helper queries a fake
// driver, because simulated devices would search all of /proc for their processes.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/references.hpp"
#include "bench/bus/threads.hpp"
#include "tests/bus/support/service.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace genv::bench {

namespace {

constexpr unsigned environmentCount = 100;
constexpr unsigned maxCycles = 50;

// A fake driver with one device.
class FakeDriver {
  public:
    // Takes effect at the service's next start.
    void serve(tests::Service& service) const {
        std::ofstream(tests::Service::configurationFolder() / "genvd.conf", std::ios::app)
            << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", file_);
    }
    // Reports these processes as users of the device from now on.
    void show(const std::vector<core::Pid>& pids) const {
        std::vector<std::string> processes;
        for (const core::Pid pid : pids)
            processes.push_back(fmt::format(R"({{"pid":{},"memory":1000000}})", pid));
        std::ofstream(file_ + ".new")
            << fmt::format(R"({{"devices":[{{"uuid":"GPU-a","name":"NVIDIA A100",)"
                           R"("memory":{{"total":16000000000,"used":1000}},"processes":[{}]}}]}})",
                           fmt::join(processes, ","));
        std::filesystem::rename(file_ + ".new", file_);
    }

  private:
    const std::string file_ = (tests::Service::configurationFolder() / "driver.json").string();
};

class Cycles {
  public:
    explicit Cycles(const Plan& plan) : plan_(plan), scene_(plan, 1) {
        driver_.serve(scene_.service);
        driver_.show({});
        scene_.start();
        for (unsigned i = 0; i < environmentCount; ++i)
            addEnvironment();
    }

    void measure(unsigned processes) {
        std::vector<core::Pid> pids;
        for (const auto& crowd : crowds_) {
            crowd->add((processes - processes_) / environmentCount);
            pids.insert(pids.end(), crowd->children().begin(), crowd->children().end());
        }
        processes_ = processes;
        driver_.show(pids);
        const auto before = threadsOf(scene_.service.pid());
        const auto series = measureInTurns({ping(scene_.root()), cycle()},
                                           {maxCycles, 1, 8 * plan_.maxTimePerCall()});
        const auto after = threadsOf(scene_.service.pid());
        printTimes("Enforce", with(), series.at(1), "Peer.Ping", series.at(0));
        for (const auto& [thread, use] : between(before, after)) {
            const auto each = use.processor / (series.at(1).count() + 1); // plus the warm-up cycle
            if (each > std::chrono::microseconds{10})
                print({"processor time of Enforce in " + use.name, with(), "µs",
                       std::chrono::duration<double, std::micro>(each).count()});
        }
        measureLists();
        measurePingMeanwhile();
        constexpr double mebibyte = 1024.0 * 1024.0;
        print({"memory after cycles", with(), "MiB", scene_.residentMemory() / mebibyte});
    }

  private:
    void addEnvironment() {
        // Its root process starts the processes on the device.
        crowds_.push_back(std::make_unique<Crowd>());
        const std::string id =
            scene_.root()
                .manager("Activate", "a{sv}", 1, "pid", "u", crowds_.back()->leader())
                .readString();
        const tests::Answer answer = scene_.root().environment(id, "Attach", "a{sv}", 2, "index",
                                                               "u", 0U, "over-subscribe", "b", 1);
        if (!answer.ok())
            throw std::runtime_error("Attach: " + answer.text);
    }

    [[nodiscard]] Operation cycle() {
        return callOf("Enforce", scene_.root(), tests::managerPath, tests::managerInterface,
                      "Enforce", "a{sv}", 1, std::string("dry-run"), std::string("b"), 1);
    }

    // Measures calls that report every process. A sample is reused for up to a second, so most of
    // these calls take none.
    void measureLists() {
        const auto list = [this](const char* member) {
            return callOf(member, scene_.root(), tests::managerPath, tests::managerInterface,
                          member);
        };
        const auto series =
            measureInTurns({ping(scene_.root()), list("ListProcesses"), list("DescribeProcesses")},
                           {maxCycles, 1, 8 * plan_.maxTimePerCall()});
        printTimes("ListProcesses", with(), series.at(1), "Peer.Ping", series.at(0));
        printTimes("DescribeProcesses", with(), series.at(2), "ListProcesses", series.at(1));
    }

    // Measures calls of another client while cycles run.
    void measurePingMeanwhile() {
        tests::Client other(tests::root);
        Series pings;
        for (unsigned i = 0; i < leastCycles; ++i) {
            const auto pending = scene_.root().start(tests::managerPath, tests::managerInterface,
                                                     "Enforce", "a{sv}", 1, "dry-run", "b", 1);
            while (!pending->answered) {
                runMany(ping(other), 1, 1, &pings);
                while (sd_bus_process(scene_.root().bus(), nullptr) > 0) {
                }
            }
        }
        Figure figure{"longest Ping during Enforce", with(), "µs", pings.max()};
        print(figure);
    }

    [[nodiscard]] With with() const {
        return {{"processes", processes_},
                {"environments", environmentCount},
                {"devices", scene_.devices()}};
    }

    static constexpr unsigned leastCycles = 3;

    const Plan& plan_;
    FakeDriver driver_;
    Scene scene_;
    std::vector<std::unique_ptr<Crowd>> crowds_;
    unsigned processes_ = 0;
};

} // namespace

void measureEnforcement(const Plan& plan) {
    Cycles cycles(plan);
    for (const unsigned processes : plan.processes())
        cycles.measure(processes);
}

} // namespace genv::bench
