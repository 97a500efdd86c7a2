// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/exporter_hosts.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

namespace genv::monitor {

Hosts::Hosts(const std::vector<remote::Host>& hosts, const HostsSettings& settings)
    : settings_(settings), stopDescriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stopDescriptor_ < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
    // A scrape after each interval must find that the sample before it is too old.
    const auto oldest = std::chrono::nanoseconds(settings.interval) * 9 / 10;
    // A connection and a sample take at most this long before the host counts as down.
    const auto delay = 2 * settings.timeout;
    for (const remote::Host& host : hosts)
        all_.push_back(std::make_unique<One>(host, oldest, delay));
}

Hosts::~Hosts() {
    close(stopDescriptor_);
}

std::vector<ServedHost> Hosts::get(std::chrono::steady_clock::time_point deadline) {
    std::vector<Exchange::Ticket> tickets;
    tickets.reserve(all_.size());
    for (const auto& one : all_)
        tickets.push_back(one->exchange.request());
    std::vector<ServedHost> served;
    served.reserve(all_.size());
    for (std::size_t index = 0; index < all_.size(); ++index)
        served.push_back(
            {all_[index]->host.label(), all_[index]->exchange.get(tickets[index], deadline)});
    return served;
}

void Hosts::run(int stopDescriptor) {
    std::vector<std::jthread> threads;
    threads.reserve(all_.size());
    try {
        for (const auto& one : all_)
            threads.emplace_back([this, &one] { watch(*one); });
    } catch (const std::system_error&) {
        end();
        throw;
    }
    std::array<pollfd, 2> watched{pollfd{stopDescriptor, POLLIN, 0},
                                  pollfd{stopDescriptor_, POLLIN, 0}};
    while (poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
    }
    end();
    threads.clear(); // joins the threads
    for (const auto& one : all_) {
        Sample none;
        none.machine = MachineSoftware::Unreached;
        none.begun = std::chrono::steady_clock::now();
        none.standsUntil = std::chrono::steady_clock::time_point::max();
        one->exchange.publish(std::move(none));
    }
    const std::lock_guard lock(mutex_);
    if (failure_)
        throw HostEnded(*failure_);
}

void Hosts::end() {
    eventfd_write(stopDescriptor_, 1);
    deadlines_.endAll();
}

void Hosts::watch(One& one) {
    HostSettings settings;
    settings.timeout = settings_.timeout;
    settings.isQuiet = settings_.isQuiet || settings_.endsWithOne;
    if (settings_.endsWithOne)
        settings.failed = [&](const remote::HostFailure& failure) { failed(one.host, failure); };
    try {
        HostWatch(one.host, one.exchange, deadlines_, settings, stopDescriptor_).run();
    } catch (const std::exception& error) { // such as no more descriptors; the thread ends
        failed(one.host, {remote::Trouble::Failed, core::printable(error.what())});
    }
}

void Hosts::failed(const remote::Host& host, const remote::HostFailure& failure) {
    {
        const std::lock_guard lock(mutex_);
        if (!failure_)
            failure_ = fmt::format("{}: {}", host.label(), failure.what());
    }
    eventfd_write(stopDescriptor_, 1);
}

} // namespace genv::monitor
