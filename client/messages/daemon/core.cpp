// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/daemon/core.hpp"

#include "client/jobs/daemon/wall_clock.hpp"
#include "client/jobs/files/places.hpp"
#include "client/messages/files/durable_file.hpp"
#include "client/messages/files/message_places.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/messages_names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

// How soon a corrected configuration is noticed while messages wait.
constexpr auto untilNextLook = 60s;

void report(const std::string& line) {
    std::fprintf(stderr, "genv-notify: %s\n", core::printable(line).c_str());
}

std::filesystem::path toldFile() {
    createFolder(stateFolder());
    return stateFolder() / "told-jobs";
}

bool hasJobs() {
    std::error_code error;
    return std::filesystem::exists(jobs::places().database, error);
}

} // namespace

Core::Core()
    : agent_([this](const Notice& notice) { onNotice(notice); }),
      connection_(sdbus::createSessionBusConnection()), bus_(*connection_, agent_.loop()),
      systemConnection_(sdbus::createSystemBusConnection()),
      system_(*systemConnection_, agent_.loop()), sender_(bus_),
      turn_(agent_.loop(), [this] { runOutboxes(); }),
      timer_(agent_.loop(), [this] { runOutboxes(); }),
      jobs_(
          bus_, toldFile(), [this](const MessageEvent& event) { add(event); },
          [this] { turn_.schedule(); }),
      stay_(system_, agent_.loop(), jobs::places()) {
    for (const Channel channel : {Channel::Mail, Channel::Webhook, Channel::Command})
        outboxes_[channel] =
            std::make_unique<Outbox>(channel, spoolFolder(channel),
                                     Outbox::Surroundings{machineName(), &sender_, &jobs::wallClock,
                                                          &report, [this] { turn_.schedule(); }});
    dbus::compat::requestName(*connection_, dbus::contract::messagesBusName);
}

int Core::run() {
    agent_.link().connectOrRetry();
    if (hasJobs())
        jobs_.catchUp();
    turn_.schedule();
    sd_notify(0, "READY=1");
    return agent_.run();
}

// Without a file, the user wants no messages. A faulty file leaves the previous configuration in
// force.
void Core::readConfiguration() {
    isUsable_ = false;
    try {
        auto read = messages::readConfiguration();
        configuration_ = read ? std::move(read->configuration) : Configuration();
        isUsable_ = true;
        lastComplaint_.clear();
    } catch (const std::exception& error) {
        complain(error.what());
    }
}

void Core::complain(const std::string& trouble) {
    if (std::exchange(lastComplaint_, trouble) != trouble)
        report(trouble + "; messages wait");
}

void Core::onNotice(const Notice& notice) {
    if (const auto event = eventOf(notice, jobs::wallClock()))
        add(*event);
}

// A full disk must not end the program: the next message may fit again.
void Core::add(const MessageEvent& event) {
    readConfiguration();
    for (const auto& [channel, target] : configuration_) {
        if (!target.kinds.contains(event.kind))
            continue;
        try {
            outboxes_.at(channel)->add(event);
        } catch (const std::exception& error) {
            report(error.what());
        }
    }
}

void Core::runOutboxes() {
    readConfiguration();
    for (const auto& [channel, outbox] : outboxes_) {
        const auto target = configuration_.find(channel);
        try {
            if (isUsable_ && target == configuration_.end())
                outbox->clear();
            else if (isUsable_)
                outbox->run(target->second);
        } catch (const std::exception& error) {
            report(error.what());
        }
    }
    setTimer();
    stay_.update(isBusy());
}

// Messages that a faulty configuration keeps are no reason to stay.
bool Core::isBusy() const {
    return isUsable_ && std::any_of(outboxes_.begin(), outboxes_.end(),
                                    [](const auto& each) { return !each.second->isEmpty(); });
}

void Core::setTimer() {
    std::optional<core::WallTime> soonest;
    for (const auto& [channel, target] : configuration_) {
        auto due = outboxes_.at(channel)->due(target);
        if (due && (!isUsable_ || *due <= jobs::wallClock())) // nothing changes at once
            due = jobs::wallClock() + untilNextLook;
        if (due)
            soonest = soonest ? std::min(*soonest, *due) : *due;
    }
    if (soonest)
        timer_.set(soonest->time_since_epoch());
    else
        timer_.stop();
}

} // namespace genv::messages
