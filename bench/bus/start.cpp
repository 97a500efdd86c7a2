// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures the restart of a service that was killed while environments existed, until it answers
// with all of them. Also measures their memory.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/reads.hpp"
#include "bench/bus/threads.hpp"

#include <algorithm>
#include <optional>

namespace genv::bench {

namespace {

constexpr unsigned starts = 5;
constexpr double mebibyte = 1024.0 * 1024.0;

class Starts {
  public:
    explicit Starts(const Plan& plan) : scene_(plan, plan.devices().back()) {}

    void measure(unsigned environments) {
        scene_.growTo(environments);
        measureMemory();
        Series times;
        Series processor;
        for (unsigned i = 0; i < starts; ++i) {
            times.add(startAgain());
            processor.add(processorTimeOf(scene_.service.pid()));
        }
        Figure figure{"start with state", with(), "ms", times.median() / 1000};
        if (empty_) {
            figure.reference = "empty service";
            figure.ratio = times.median() / *empty_;
        } else {
            empty_ = times.median();
        }
        print(figure);
        print({"processor time of a start", with(), "ms", processor.median() / 1000});
    }

  private:
    void measureMemory() {
        const double memory = scene_.residentMemory();
        print({"memory", with(), "MiB", memory / mebibyte});
        if (emptyMemory_) // temporary memory can outweigh a few environments
            print({"memory per environment", with(), "bytes",
                   std::max(0.0, memory - *emptyMemory_) / (scene_.environments() - 1)});
        else
            emptyMemory_ = memory;
        for (const Read& read : readsIn(scene_)) {
            if (read.holds == Holds::Both || read.holds == Holds::Environments)
                runMany(read.operation, 1, 1);
        }
        print({"memory after all lists", with(), "MiB", scene_.residentMemory() / mebibyte});
    }

    std::chrono::nanoseconds startAgain() {
        const auto toName = scene_.start();
        tests::Client client(tests::root);
        const auto began = Clock::now();
        const std::string count =
            client.property(tests::managerPath, tests::managerInterface, "EnvironmentCount");
        const auto took = toName + (Clock::now() - began);
        if (count != std::to_string(scene_.environments()))
            throw std::runtime_error("a start restored " + count + " environments");
        return took;
    }

    [[nodiscard]] With with() const {
        return {{"environments", scene_.environments()}, {"devices", scene_.devices()}};
    }

    Scene scene_;
    std::optional<double> empty_;
    std::optional<double> emptyMemory_;
};

} // namespace

void measureStart(const Plan& plan) {
    Starts all(plan);
    all.measure(1);
    for (const unsigned environments : plan.environments())
        all.measure(environments);
}

} // namespace genv::bench
