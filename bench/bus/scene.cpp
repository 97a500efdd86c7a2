// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/scene.hpp"

#include "bench/bus/one_processor.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <fstream>
#include <stdexcept>

namespace genv::bench {

namespace {

// Enough to keep the service busy.
constexpr unsigned inFlightWhileGrowing = 32;

} // namespace

Scene::Scene(const Plan& plan, unsigned devices, const std::string& interval)
    : service({{"GENV_MOCK_DEVICE_COUNT", std::to_string(devices)}}), devices_(devices) {
    std::ofstream(tests::Service::configurationFolder() / "genvd.conf")
        << "[Enforcement]\nInterval=" << interval << "\n";
    service.setProgram(plan.genvd);
    start();
    root_.emplace(tests::root);
}

std::chrono::nanoseconds Scene::start() {
    if (service.isRunning())
        service.end(SIGKILL);
    // Listen for the signal instead of querying the owner, because the bus may not have noticed yet
    // that the previous service has ended.
    tests::Client client(tests::root);
    bool owned = false;
    const auto slot = client.listen("type='signal',sender='org.freedesktop.DBus',"
                                    "member='NameOwnerChanged',arg0='dev.genv.Manager',arg1=''",
                                    [&](sd_bus_message*) { owned = true; });
    client.ping();
    const auto began = Clock::now();
    service.launch();
    client.processUntil([&] { return owned || service.hasEnded(); }, "the service's name");
    if (!owned)
        throw std::runtime_error("the service ended at its start:\n" + service.log());
    return Clock::now() - began;
}

std::vector<Series> Scene::measure(const std::vector<Operation>& operations,
                                   const Amount& amount) const {
    if (amount.inFlight > 1)
        return measureInTurns(operations, amount);
    std::vector<pid_t> processes = daemons();
    processes.push_back(service.pid());
    const OneProcessor together(processes);
    return measureInTurns(operations, amount);
}

std::string Scene::idOf(unsigned environment) {
    return "bench-" + std::to_string(environment);
}

void Scene::growTo(unsigned environments) {
    if (environments <= environments_)
        return;
    fmt::print(stderr, "bus_bench: {} environments on {} devices\n", environments, devices_);
    const unsigned before = environments_;
    crowd_.add(environments - before);
    const auto activate = [&](const Turn& turn) {
        const unsigned number = before + turn.number;
        return root().prepare(tests::managerPath, tests::managerInterface, "Activate", "a{sv}", 2,
                              "id", "s", idOf(number).c_str(), "pid", "u", processOf(number));
    };
    const auto attach = [&](const Turn& turn) {
        const unsigned number = before + turn.number;
        return root().prepare(tests::environmentPath(idOf(number)), tests::environmentInterface,
                              "Attach", "a{sv}", 2, "index", "u", number % devices_,
                              "over-subscribe", "b", 1);
    };
    runMany({"growing", {{&root(), activate}, {&root(), attach}}}, environments - before,
            inFlightWhileGrowing);
    environments_ = environments;
}

core::Pid Scene::addProcess() {
    others_.add(1);
    return others_.children().back();
}

double Scene::residentMemory() const {
    std::ifstream status(fmt::format("/proc/{}/status", service.pid()));
    for (std::string word; status >> word;) {
        double kibibytes = 0;
        if (word == "VmRSS:" && status >> kibibytes)
            return kibibytes * 1024;
    }
    throw std::runtime_error("the service is gone");
}

} // namespace genv::bench
