// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures how long a change takes to reach all listeners, compared with a bare signal from the
// benchmark to the same listeners, and the cost for the service.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/threads.hpp"

#include <sys/epoll.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace genv::bench {

namespace {

// Each user may have 256 connections, including those of the benchmark and of the service.
constexpr std::array<core::Uid, 5> users{0, tests::alice, tests::bob, tests::carol, 65534};
constexpr const char* match = "type='signal',interface='dev.genv.Manager',member='Attached'";

class Listeners {
  public:
    explicit Listeners(const Plan& plan)
        : plan_(plan), scene_(plan, plan.devices().front()),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        scene_.growTo(1);
    }

    void measure(std::size_t count) {
        while (clients_.size() < count)
            add();
        const unsigned rounds = plan_.quick ? 5 : 50;
        Series bare;
        Series change;
        std::chrono::nanoseconds processor{0};
        for (unsigned i = 0; i <= rounds; ++i) { // the first round is not counted
            const auto bareTime = measureDelivery([this] { sendBare(); });
            detach();
            const auto before = processorTimeOf(scene_.service.pid());
            const auto time = measureDelivery([this] { sendAttach(); });
            finishAttach();
            if (i == 0)
                continue;
            processor += processorTimeOf(scene_.service.pid()) - before;
            bare.add(bareTime);
            bare.addElapsed(bareTime);
            change.add(time);
            change.addElapsed(time);
        }
        const With with{{"listeners", static_cast<double>(count)}};
        printTimes("Attached heard by all", with, change, "a bare signal", bare);
        print({"processor time of Attach with listeners", with, "µs",
               std::chrono::duration<double, std::micro>(processor).count() / rounds});
    }

  private:
    void add() {
        clients_.push_back(
            std::make_unique<tests::Client>(users.at(clients_.size() % users.size())));
        tests::Client& client = *clients_.back();
        slots_.push_back(client.listen(match, [this](sd_bus_message*) { ++received_; }));
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = client.bus();
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, sd_bus_get_fd(client.bus()), &event) < 0)
            throw std::runtime_error("epoll_ctl");
        client.ping();
    }

    template <typename Send>
    std::chrono::nanoseconds measureDelivery(const Send& send) {
        received_ = 0;
        const auto began = Clock::now();
        send();
        while (received_ < clients_.size()) {
            std::array<epoll_event, 64> events{};
            const int count =
                ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 10'000);
            if (count <= 0)
                throw std::runtime_error("a signal did not reach every listener");
            for (int i = 0; i < count; ++i) {
                auto* bus = static_cast<sd_bus*>(events.at(static_cast<std::size_t>(i)).data.ptr);
                while (sd_bus_process(bus, nullptr) > 0) {
                }
            }
        }
        return Clock::now() - began;
    }

    void sendBare() {
        if (sd_bus_emit_signal(scene_.root().bus(), tests::managerPath, tests::managerInterface,
                               "Attached", "su", "bench", 0U) < 0)
            throw std::runtime_error("cannot send a signal");
    }
    void sendAttach() {
        pending_ =
            scene_.root().start(tests::environmentPath(Scene::idOf(0)), tests::environmentInterface,
                                "Attach", "a{sv}", 1, "index", "u", 0U);
    }
    void finishAttach() {
        const tests::Answer& answer = scene_.root().finish(*pending_);
        if (!answer.ok())
            throw std::runtime_error("Attach: " + answer.text);
    }
    void detach() {
        if (!scene_.root().environment(Scene::idOf(0), "Detach", "au", 0).ok())
            throw std::runtime_error("Detach");
    }

    const Plan& plan_;
    Scene scene_;
    core::Descriptor epoll_;
    std::vector<std::unique_ptr<tests::Client>> clients_;
    std::vector<tests::Slot> slots_;
    std::unique_ptr<tests::PendingCall> pending_;
    std::size_t received_ = 0;
};

} // namespace

void measureListeners(const Plan& plan) {
    Listeners listeners(plan);
    for (const unsigned count : plan.listeners())
        listeners.measure(count);
}

} // namespace genv::bench
