// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/pin_set.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace genv::service {

struct PinSet::Watch {
    core::Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
    std::unordered_map<std::uint64_t, const Pin*> pins; ///< by the ticket in an event
    std::unordered_multimap<core::Pid, const Pin*> byPid;
    std::uint64_t lastTicket = 0;
};

class PinSet::Pin : public core::ProcessPin {
  public:
    Pin(Pidfd process, core::ProcessIdentity identity, std::shared_ptr<Watch> watch)
        : process_(std::move(process)), identity_(identity), watch_(std::move(watch)),
          ticket_(++watch_->lastTicket) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = ticket_;
        if (::epoll_ctl(watch_->epoll.get(), EPOLL_CTL_ADD, process_.get(), &event) < 0)
            failForShortage(identity_.pid, errno);
        watch_->pins.emplace(ticket_, this);
        watch_->byPid.emplace(identity_.pid, this);
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() override {
        // Closing the pidfd does not remove it from the epoll set if its owner has a copy.
        stopWatching();
        watch_->pins.erase(ticket_);
        auto [each, end] = watch_->byPid.equal_range(identity_.pid);
        while (each != end && each->second != this)
            ++each;
        if (each != end)
            watch_->byPid.erase(each);
    }

    [[nodiscard]] const core::ProcessIdentity& identity() const override { return identity_; }
    [[nodiscard]] bool hasExited() const override { return process_.hasExited(); }
    [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const override {
        return process_.hasUids(uids);
    }
    bool signal(core::TerminationSignal signal) const override { return process_.signal(signal); }

    // An exit is reported once, while the descriptor stays readable.
    void stopWatching() const {
        ::epoll_ctl(watch_->epoll.get(), EPOLL_CTL_DEL, process_.get(), nullptr);
    }

  private:
    Pidfd process_;
    core::ProcessIdentity identity_;
    std::shared_ptr<Watch> watch_;
    std::uint64_t ticket_;
};

PinSet::PinSet() : watch_(std::make_shared<Watch>()) {
    if (watch_->epoll.get() < 0)
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

PinSet::~PinSet() = default;

std::shared_ptr<const core::ProcessPin> PinSet::add(Pidfd process, core::ProcessIdentity identity) {
    return std::make_shared<Pin>(std::move(process), identity, watch_);
}

std::optional<core::ProcessIdentity> PinSet::living(core::Pid pid) const {
    for (auto [each, end] = watch_->byPid.equal_range(pid); each != end; ++each) {
        if (!each->second->hasExited())
            return each->second->identity();
    }
    return std::nullopt;
}

int PinSet::descriptor() const {
    return watch_->epoll.get();
}

void PinSet::dispatch(const std::function<void(const core::ProcessIdentity&)>& exited) {
    std::array<epoll_event, 64> events{};
    const int count =
        ::epoll_wait(watch_->epoll.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        // A listener may have dropped pins whose events are in this batch.
        const auto found = watch_->pins.find(events.at(static_cast<std::size_t>(i)).data.u64);
        if (found == watch_->pins.end())
            continue;
        found->second->stopWatching();
        const core::ProcessIdentity identity = found->second->identity();
        if (exited)
            exited(identity);
    }
}

} // namespace genv::service
