// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/use/decayed_use.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace genv::core {

namespace {

// Use below this is forgotten: it no longer changes the order.
constexpr double leastUse = 1e-3;

double fractionOf(const DeviceAttachment& attachment) {
    const auto memory = attachment.device.knownMemory();
    if (!attachment.share || !memory || memory->count == 0)
        return 1;
    return std::min(1.0, static_cast<double>(attachment.share->count) /
                             static_cast<double>(memory->count));
}

// Held devices count as integers in this unit, so that their sums have no rounding errors.
constexpr std::int64_t partsOfGpu = std::int64_t{1} << 40U;

double gpusOf(std::int64_t parts) {
    return static_cast<double>(parts) / static_cast<double>(partsOfGpu);
}

std::int64_t partsOf(double gpus) {
    return std::llround(gpus * static_cast<double>(partsOfGpu));
}

// The part of a GPU that an attachment counts.
double chargeOf(const EnvironmentRecord& environment, const DeviceAttachment& attachment) {
    constexpr double loan = 0.1;
    const double fraction = fractionOf(attachment);
    return environment.lends(attachment) && !environment.loanFailed ? fraction * loan : fraction;
}

// Returns when the row of a record was valid, on the clock of this boot.
BootTime momentOf(const UseRow& row, const UseRecord& record, const std::string& boot, BootTime now,
                  WallTime wallNow) {
    if (record.boot == boot)
        return std::min(row.asOf, now);
    constexpr std::chrono::microseconds none{0};
    const auto age = std::max(none, record.bootTime - row.asOf);
    const auto since = std::max(none, wallNow - record.wallTime);
    return now - age - since;
}

} // namespace

double useAfter(double gpuSeconds, double gpus, std::chrono::microseconds duration,
                std::chrono::milliseconds halfLife) {
    if (duration.count() <= 0)
        return gpuSeconds;
    const double meanLife = std::chrono::duration<double>(halfLife).count() / std::numbers::ln2;
    const double lives = std::chrono::duration<double>(duration).count() / meanLife;
    return gpuSeconds * std::exp(-lives) - gpus * meanLife * std::expm1(-lives);
}

DecayedUse::DecayedUse(const LedgerView& ledger, const Clock& clock,
                       std::chrono::milliseconds halfLife)
    : ledger_(ledger), clock_(clock), halfLife_(halfLife) {}

void DecayedUse::restore(const UseRecord& record, const std::string& boot) {
    const BootTime now = clock_.bootNow();
    const WallTime wallNow = clock_.wallNow();
    for (const UseRow& row : record.rows) {
        const BootTime asOf = momentOf(row, record, boot, now, wallNow);
        const auto [known, isNew] = accounts_.try_emplace(row.uid);
        if (isNew || known->second.asOf < asOf)
            known->second = {row.gpuSeconds, asOf, asOf, {}, 0};
    }
}

void DecayedUse::onEvent(const Event& event) {
    if (const auto* attached = std::get_if<Attached>(&event))
        recount(attached->environment, nullptr, attached->owner, attached->attachment);
    else if (const auto* detached = std::get_if<Detached>(&event))
        recount(detached->environment, detached->former, detached->owner, detached->attachment);
    else if (const auto* changed = std::get_if<EnvironmentChanged>(&event);
             changed != nullptr && changed->field == EnvironmentField::Preemptible)
        recountLoan(changed->environment);
}

// From now on, its devices count less or more.
void DecayedUse::recountLoan(const EnvironmentId& environment) {
    const EnvironmentRecord* changed = ledger_.find(environment);
    if (changed == nullptr || changed->parent || changed->attachments.empty())
        return;
    Account& account = accountOf(changed->uid, clock_.bootNow());
    for (const DeviceAttachment& attachment : changed->attachments)
        setHeld(account, attachment.device.uuid, heldBy(changed->uid, attachment.device.uuid));
}

// A restored attachment began in the past, and counts from its beginning.
void DecayedUse::recount(const EnvironmentId& environment, const EnvironmentRecord* former,
                         Uid owner, const DeviceAttachment& attachment) {
    if (former == nullptr)
        former = ledger_.find(environment);
    if (former != nullptr && former->parent)
        return;
    const BootTime now = clock_.bootNow();
    Account& account = accountOf(owner, now);
    const DeviceUuid& device = attachment.device.uuid;
    const double gpus = heldBy(owner, device);
    const auto before = account.held.find(device);
    const std::int64_t more = partsOf(gpus) - (before == account.held.end() ? 0 : before->second);
    if (more > 0 && attachment.began != BootTime{}) {
        const BootTime since = std::max(attachment.began, account.countedUntil);
        account.gpuSeconds += useAfter(0, gpusOf(more), now - since, halfLife_);
    }
    setHeld(account, device, gpus);
}

// When a process exited is not known, so it counts until now.
void DecayedUse::countLost(const EnvironmentRecord& former,
                           const std::vector<DeviceAttachment>& lost) {
    if (former.parent)
        return;
    const BootTime now = clock_.bootNow();
    Account& account = accountOf(former.uid, now);
    for (const DeviceAttachment& attachment : lost) {
        if (attachment.began == BootTime{})
            continue;
        const double gpus =
            std::min(chargeOf(former, attachment), 1 - heldBy(former.uid, attachment.device.uuid));
        const BootTime until = attachment.lease ? std::min(attachment.lease->until, now) : now;
        const BootTime since = std::max(attachment.began, account.countedUntil);
        const double used = useAfter(0, gpus, until - since, halfLife_);
        account.gpuSeconds += useAfter(used, 0, now - until, halfLife_);
    }
}

DecayedUse::Account& DecayedUse::accountOf(Uid uid, BootTime now) {
    Account& account = accounts_.try_emplace(uid, Account{0, now, {}, {}, 0}).first->second;
    settle(account, now);
    return account;
}

double DecayedUse::heldBy(Uid owner, const DeviceUuid& device) const {
    double gpus = 0;
    for (const EnvironmentId& id : ledger_.holdersOf(device)) {
        const EnvironmentRecord& holder = ledger_.get(id);
        if (holder.uid == owner && !holder.parent)
            gpus += chargeOf(holder, *holder.attachmentTo(device));
    }
    return std::min(gpus, 1.0);
}

void DecayedUse::settle(Account& account, BootTime now) const {
    if (now <= account.asOf)
        return;
    account.gpuSeconds =
        useAfter(account.gpuSeconds, gpusOf(account.parts), now - account.asOf, halfLife_);
    account.asOf = now;
}

void DecayedUse::setHeld(Account& account, const DeviceUuid& device, double gpus) {
    holders_ -= account.held.empty() ? 0U : 1U;
    std::int64_t& held = account.held[device];
    account.parts -= held;
    held = partsOf(gpus);
    account.parts += held;
    if (held == 0)
        account.held.erase(device);
    holders_ += account.held.empty() ? 0U : 1U;
}

void DecayedUse::setHalfLife(std::chrono::milliseconds halfLife) {
    if (halfLife == halfLife_)
        return;
    const BootTime now = clock_.bootNow();
    for (auto& [uid, account] : accounts_)
        settle(account, now);
    halfLife_ = halfLife;
}

double DecayedUse::of(Uid uid, BootTime now) const {
    const auto found = accounts_.find(uid);
    if (found == accounts_.end())
        return 0;
    const Account& account = found->second;
    return useAfter(account.gpuSeconds, gpusOf(account.parts), now - account.asOf, halfLife_);
}

std::vector<UseRow> DecayedUse::all(BootTime now) const {
    std::vector<UseRow> rows;
    rows.reserve(accounts_.size());
    for (const auto& [uid, account] : accounts_) {
        const double use = of(uid, now);
        if (use >= leastUse || !account.held.empty())
            rows.push_back({uid, use, now});
    }
    return rows;
}

std::vector<UseRow> DecayedUse::of(const std::set<Uid>& users, BootTime now) const {
    std::vector<UseRow> rows;
    for (const Uid uid : users) {
        if (accounts_.contains(uid))
            rows.push_back({uid, of(uid, now), now});
    }
    return rows;
}

} // namespace genv::core
