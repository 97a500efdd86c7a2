// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures changes as root: the cost of the service itself, including its state file and signals.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/references.hpp"

namespace genv::bench {

namespace {

std::string ownIdOf(unsigned lane) {
    return "own-" + std::to_string(lane);
}

/// Adds environments to those of the scene, one for each lane. Their changes are measured.
class Changes {
  public:
    Changes(const Plan& plan, Scene& scene) : plan_(plan), scene_(scene) {
        for (unsigned lane = 0; lane < many; ++lane)
            processes_.push_back(scene.addProcess());
    }

    void measure() {
        measure(activation());
        runMany({"Activate", {activation().steps.front()}}, many, many);
        measure(attachment());
        runMany({"Deactivate", {activation().steps.back()}}, many, many);
    }

  private:
    void measure(const Operation& change) {
        const Operation reference = joined("two Pings", {ping(scene_.root()), ping(scene_.root())});
        for (const unsigned inFlight : {1U, many}) {
            const auto series = scene_.measure({reference, change},
                                               {plan_.calls, inFlight, plan_.maxTimePerCall()});
            printTimes(change.name,
                       {{"environments", scene_.environments()},
                        {"devices", scene_.devices()},
                        {"in_flight", inFlight}},
                       series.at(1), reference.name, series.at(0));
        }
    }

    [[nodiscard]] Operation activation() const {
        tests::Client& root = scene_.root();
        const auto activate = [&root, this](const Turn& turn) {
            return root.prepare(tests::managerPath, tests::managerInterface, "Activate", "a{sv}", 2,
                                "id", "s", ownIdOf(turn.lane).c_str(), "pid", "u",
                                processes_.at(turn.lane));
        };
        const auto deactivate = [&root](const Turn& turn) {
            return root.prepare(tests::environmentPath(ownIdOf(turn.lane)),
                                tests::environmentInterface, "Deactivate");
        };
        return {"Activate + Deactivate", {{&root, activate}, {&root, deactivate}}};
    }

    // Uses the same device repeatedly, because there may be no free device.
    [[nodiscard]] Operation attachment() const {
        tests::Client& root = scene_.root();
        const unsigned devices = scene_.devices();
        const auto attach = [&root, devices](const Turn& turn) {
            return root.prepare(tests::environmentPath(ownIdOf(turn.lane)),
                                tests::environmentInterface, "Attach", "a{sv}", 2, "index", "u",
                                turn.lane % devices, "over-subscribe", "b", 1);
        };
        const auto detach = [&root](const Turn& turn) {
            return root.prepare(tests::environmentPath(ownIdOf(turn.lane)),
                                tests::environmentInterface, "Detach", "au", 0);
        };
        return {"Attach + Detach", {{&root, attach}, {&root, detach}}};
    }

    const Plan& plan_;
    Scene& scene_;
    std::vector<core::Pid> processes_;
};

} // namespace

void measureChanges(const Plan& plan) {
    {
        Scene scene(plan, plan.devices().front());
        Changes(plan, scene).measure();
    }
    Scene scene(plan, plan.devices().back());
    scene.growTo(plan.environments().back());
    Changes(plan, scene).measure();
}

} // namespace genv::bench
