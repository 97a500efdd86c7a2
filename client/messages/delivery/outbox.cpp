// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/delivery/outbox.hpp"

#include "client/messages/model/retries.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::messages {

namespace {

// A clock that was set back must not delay a message by more than its longest wait.
core::WallTime notBefore(core::WallTime time, core::WallTime now) {
    return std::min(time, now + retryDelays.back());
}

} // namespace

Outbox::Outbox(Channel channel, std::filesystem::path folder, Surroundings surroundings)
    : channel_(channel), surroundings_(std::move(surroundings)), spool_(std::move(folder)) {
    if (spool_.hasEvents())
        firstAt_ = surroundings_.now();
}

void Outbox::add(const MessageEvent& event) {
    spool_.add(event);
    if (!firstAt_)
        firstAt_ = surroundings_.now();
    surroundings_.changed();
}

std::optional<core::WallTime> Outbox::wanted() const {
    if (spool_.batch())
        return spool_.batch()->next;
    if (!spool_.hasEvents())
        return std::nullopt;
    const core::WallTime gathered = firstAt_.value_or(surroundings_.now()) + together;
    return lastAt_ ? std::max(gathered, *lastAt_ + apart) : gathered;
}

std::optional<core::WallTime> Outbox::due(const DeliveryTarget& target) const {
    const core::WallTime now = surroundings_.now();
    if (sendingSince_)
        return *sendingSince_ + maxSending;
    const auto time = wanted();
    if (!time)
        return std::nullopt;
    const core::WallTime soonest = std::max(notBefore(*time, now), now);
    return target.quiet ? endOfQuiet(*target.quiet, soonest).value_or(soonest) : soonest;
}

void Outbox::run(const DeliveryTarget& target) {
    const auto time = due(target);
    if (!time || *time > surroundings_.now())
        return;
    if (std::exchange(sendingSince_, std::nullopt))
        onFailed("the unit did not end in time");
    else
        beginAttempt(target);
}

void Outbox::beginAttempt(const DeliveryTarget& target) {
    const core::WallTime now = surroundings_.now();
    if (!spool_.batch()) {
        spool_.makeBatch(now);
        firstAt_.reset();
    }
    // A sender whose end nobody saw may have sent it.
    if (spool_.isSent()) {
        static_cast<void>(spool_.finishBatch());
        lastAt_ = now;
        surroundings_.changed();
        return;
    }
    spool_.beginAttempt(now);
    sendingSince_ = now;
    const Batch& batch = *spool_.batch();
    const Parcel parcel{channel_,
                        spool_.instance(),
                        spool_.folder(),
                        {surroundings_.machine, batch.events, batch.missing, target.names}};
    surroundings_.sender->send(
        parcel, target,
        [this, number = batch.last, alive = std::weak_ptr(isAlive_)](const std::string& trouble) {
            if (!alive.expired())
                onEnded(number, trouble);
        });
}

void Outbox::onEnded(std::uint64_t batch, const std::string& trouble) {
    if (!sendingSince_ || !spool_.batch() || spool_.batch()->last != batch)
        return; // it was given up, or forgotten
    sendingSince_.reset();
    if (spool_.isSent()) {
        static_cast<void>(spool_.finishBatch());
        lastAt_ = surroundings_.now();
    } else {
        onFailed(trouble);
    }
    surroundings_.changed();
}

// A command is not run again: part of it may have happened.
void Outbox::onFailed(const std::string& trouble) {
    const core::WallTime now = surroundings_.now();
    const std::size_t attempts = spool_.batch()->attempts;
    const auto next = channel_ == Channel::Command ? std::nullopt : nextAttempt(attempts, now);
    if (next) {
        spool_.postpone(*next);
        return;
    }
    const std::string headline =
        letterOf({surroundings_.machine, spool_.batch()->events, spool_.batch()->missing, false})
            .title;
    const std::string reason = spool_.finishBatch();
    lastAt_ = now;
    surroundings_.report(fmt::format("dropped \"{}\" for [{}] after {}: {}", headline,
                                     nameOf(channel_), core::counted(attempts, "attempt"),
                                     core::escaped(reason.empty() ? trouble : reason, 512)));
}

} // namespace genv::messages
