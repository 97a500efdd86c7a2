// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/holdings.hpp"

#include "core/ledger/ledger_view.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace genv::core {

namespace {

bool isLoan(const EnvironmentRecord& environment, const DeviceAttachment& attachment) {
    return environment.lends(attachment) && !environment.loanFailed;
}

} // namespace

bool Holdings::isFree(const DeviceUuid& device, std::uint32_t freeLoans) const {
    const auto last = loans.begin() + std::min<std::ptrdiff_t>(freeLoans, std::ssize(loans));
    return std::find(loans.begin(), last, device) != last;
}

std::size_t Holdings::devices(std::uint32_t freeLoans) const {
    return memory.size() - std::min<std::size_t>(freeLoans, loans.size());
}

Bytes Holdings::totalMemory(std::uint32_t freeLoans) const {
    Bytes total;
    for (const auto& [device, bytes] : memory) {
        if (!isFree(device, freeLoans))
            total = total + bytes;
    }
    return total;
}

Bytes Holdings::maxMemoryPerDevice(std::uint32_t freeLoans) const {
    Bytes max;
    for (const auto& [device, bytes] : memory) {
        if (!isFree(device, freeLoans))
            max = std::max(max, bytes);
    }
    return max;
}

void Holdings::add(const EnvironmentRecord& environment, const DeviceAttachment& attachment) {
    add(attachment.device, attachment.share, isLoan(environment, attachment));
}

void Holdings::add(const DeviceFacts& device, std::optional<Bytes> share, bool isLoan) {
    const auto [held, isNew] = memory.try_emplace(device.uuid);
    held->second = std::min(held->second + share.value_or(device.totalMemory), device.totalMemory);
    if (!isLoan)
        std::erase(loans, device.uuid);
    else if (isNew)
        loans.push_back(device.uuid);
}

Holdings holdingsOf(const EnvironmentRecord& environment) {
    Holdings holdings;
    for (const DeviceAttachment& attachment : environment.attachments)
        holdings.add(environment, attachment);
    return holdings;
}

Holdings holdingsOf(const LedgerView& ledger, Uid uid, const EnvironmentRecord* changed) {
    Holdings holdings;
    std::vector<const DeviceAttachment*> loans; // which are added oldest first, after all others
    for (const EnvironmentRecord* environment : ledger.environmentsOf(uid)) {
        if (changed != nullptr && changed->id == environment->id)
            environment = changed;
        if (environment->job || environment->parent)
            continue;
        if (environment->isCounted())
            ++holdings.environments;
        for (const DeviceAttachment& attachment : environment->attachments) {
            if (isLoan(*environment, attachment))
                loans.push_back(&attachment);
            else
                holdings.add(attachment.device, attachment.share);
        }
    }
    std::ranges::sort(loans, {}, &DeviceAttachment::sequence);
    for (const DeviceAttachment* loan : loans)
        holdings.add(loan->device, loan->share, true);
    return holdings;
}

} // namespace genv::core
