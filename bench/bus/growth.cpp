// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures read operations with services of all sizes, from empty to the largest supported one.
// Each call is compared with a Ping, measured in alternation. Calls with replies of a fixed size
// are also compared with the empty service, and lists with the next smaller list.
//
// Two services cannot run at once. They are therefore compared relative to a call of the bus
// itself, which is measured in alternation with each.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/reads.hpp"
#include "bench/bus/references.hpp"

#include <optional>
#include <utility>

namespace genv::bench {

namespace {

// Longer lists are not requested many times at once, because the replies would fill the bus.
constexpr double maxRowsForMany = 1024;

/// The times of one size relative to those of the bus, by name.
using Times = std::map<std::string, double>;

struct Size {
    unsigned environments = 0;
    unsigned devices = 0;
};

double rowsOf(Holds holds, const Size& size) {
    switch (holds) {
    case Holds::Devices:
        return size.devices;
    case Holds::Environments:
        return size.environments;
    case Holds::Both:
        return size.environments + size.devices;
    case Holds::Fixed:
    case Holds::Journal:
        break;
    }
    return 1;
}

class Growth {
  public:
    explicit Growth(const Plan& plan) : plan_(plan) {}

    void measure(Scene& scene) {
        const Size size{scene.environments(), scene.devices()};
        const Times before = std::exchange(times_, {});
        const Size sizeBefore = std::exchange(size_, size);
        const std::vector<Read> reads = readsIn(scene);
        measureOne(scene, {ping(scene.root()), Holds::Fixed});
        for (const Read& read : reads)
            measureOne(scene, read);
        if (!empty_) {
            empty_ = times_;
            return;
        }
        compare({ping(scene.root()), Holds::Fixed}, before, sizeBefore);
        for (const Read& read : reads)
            compare(read, before, sizeBefore);
    }

  private:
    void measureOne(Scene& scene, const Read& read) {
        tests::Client& root = scene.root();
        const std::string& name = read.operation.name;
        for (const unsigned inFlight : {1U, many}) {
            if (inFlight > 1 && rowsOf(read.holds, size_) > maxRowsForMany)
                break;
            const auto series = scene.measure({callOfTheBus(root), ping(root), read.operation},
                                              {plan_.calls, inFlight, plan_.maxTimePerCall()});
            const With with{{"environments", size_.environments},
                            {"devices", size_.devices},
                            {"in_flight", inFlight}};
            const Series& times = series.at(2);
            if (name == "Peer.Ping")
                printTimes(name, with, times, "GetId of the bus", series.at(0));
            else
                printTimes(name, with, times, "Peer.Ping", series.at(1));
            if (inFlight == 1)
                times_[name] = times.median() / series.at(0).median();
        }
    }

    void compare(const Read& read, const Times& before, const Size& sizeBefore) const {
        const std::string& name = read.operation.name;
        const With with{{"environments", size_.environments}, {"devices", size_.devices}};
        if (read.holds == Holds::Fixed) {
            printRatio("growth of " + name, with, "empty service",
                       times_.at(name) / empty_->at(name));
            return;
        }
        const double rows = rowsOf(read.holds, size_) / rowsOf(read.holds, sizeBefore);
        if (read.holds != Holds::Journal && rows > 1 && before.count(name) > 0)
            printRatio("time per row of " + name, with, "the next smaller size",
                       times_.at(name) / before.at(name) / rows);
    }

    const Plan& plan_;
    std::optional<Times> empty_;
    Times times_;
    Size size_;
};

} // namespace

void measureReads(const Plan& plan) {
    Growth growth(plan);
    for (const unsigned devices : plan.devices()) {
        Scene scene(plan, devices);
        scene.growTo(1); // provides an environment whose properties can be read
        growth.measure(scene);
        if (devices != plan.devices().back())
            continue;
        for (const unsigned environments : plan.environments()) {
            scene.growTo(environments);
            growth.measure(scene);
        }
    }
}

} // namespace genv::bench
