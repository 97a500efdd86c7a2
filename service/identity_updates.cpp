// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/identity_updates.hpp"

#include "core/base/error.hpp"

#include <utility>

namespace genv::service {

IdentityUpdates::IdentityUpdates(KernelGates& gates, core::Log& log, Worker::Post post)
    : gates_(gates), log_(log), worker_("genvd-uids", std::move(post)) {}

void IdentityUpdates::check(const core::IsolationSettings& settings) {
    if (settings.mode == core::IsolationMode::None || isReading_ || !gates_.absence().empty())
        return;
    const bool isChanged = files_.haveChanged() || settings != settings_;
    if (!isChanged && !isDue_)
        return;
    isDue_ = false;
    settings_ = settings;
    isReading_ = true;
    worker_.run<isolation::Identities>(
        [files = files_, settings, people = people_] { return files.read(settings, people); },
        [this](const isolation::Identities& identities) {
            isReading_ = false;
            take(identities);
        });
}

void IdentityUpdates::setPeople(std::set<core::Uid> people) {
    people_ = std::move(people);
    isDue_ = true;
}

void IdentityUpdates::take(const isolation::Identities& identities) {
    if (identities.complaints != complaints_) {
        complaints_ = identities.complaints;
        for (const std::string& complaint : complaints_)
            log_.warning("isolation: {}", complaint);
    }
    if (!identities.isComplete) {
        failed(
            "the user database does not answer, so the table of subordinate uids stays unchanged");
        return;
    }
    try {
        gates_.setIdentities(identities.blocks);
        hasFailed_ = false;
    } catch (const core::Error& error) {
        failed(error.what());
    }
}

void IdentityUpdates::failed(const std::string& reason) {
    isDue_ = true;
    if (!std::exchange(hasFailed_, true))
        log_.error("isolation: {}; will retry", reason);
}

} // namespace genv::service
