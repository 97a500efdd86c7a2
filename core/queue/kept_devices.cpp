// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/kept_devices.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <functional>

namespace genv::core {

std::optional<BootTime> leaseEnd(const EnvironmentRecord* environment,
                                 std::optional<std::chrono::seconds> lifetime, BootTime now) {
    std::optional<BootTime> end;
    if (lifetime)
        end = now + *lifetime;
    if (environment != nullptr && environment->lease)
        end = std::min(end.value_or(environment->lease->until), environment->lease->until);
    return end;
}

KeptDevices::KeptDevices(const LedgerView& ledger, BootTime now, std::chrono::microseconds keepFor,
                         const EnvironmentRecord* parent)
    : ledger_(ledger), pool_(std::make_unique<Pool>(ledger, parent)), now_(now),
      forecast_(
          pool_->devices(),
          [&ledger](const Holder& holder) {
              return ledger.get(holder.environment).endOf(holder.attachment);
          },
          now, keepFor) {
    if (parent != nullptr)
        return;
    for (const auto& [ticket, id] : ledger.waits()) {
        if (const auto& taking = ledger.wait(ticket).taking) {
            for (const DeviceUuid& device : taking->devices)
                reservations_.add(device, std::nullopt, {ticket, now});
        }
    }
}

// Returns the start of a request that could have its devices now, if its client were connected.
std::optional<Forecast::Start> KeptDevices::startNow(const EnvironmentRecord& environment,
                                                     const Wait& wait,
                                                     std::vector<Part>& parts) const {
    try {
        const auto placement =
            placeIfAvailable(wait.request, devices(), requesterOf(environment, wait), reservations_,
                             leaseEnd(&environment, wait.lifetime, now_));
        if (!placement)
            return std::nullopt;
        Forecast::Start start{now_, {}, false};
        for (const Placement::Device& placed : placement->attach) {
            const TableDevice* device = devices().findUuid(placed.facts.uuid);
            start.devices.push_back(device);
            if (!placed.overSubscribed)
                parts.push_back({device, wait.request.share, true});
        }
        return start;
    } catch (const Error&) {
        return std::nullopt;
    }
}

// Devices that are kept for an earlier request are kept for this one as well: a later request gets
// nothing that either of them could use. For a shared device the rest is kept, since otherwise
// small shares could continue for ever. If there is no rest, further sharing is allowed.
std::vector<KeptDevices::Part> KeptDevices::usable(const AttachRequest& request,
                                                   const EnvironmentRecord& environment,
                                                   const Forecast::Start& start) const {
    std::vector<Part> parts;
    const auto add = [&](const TableDevice* device) {
        const bool isPlanned =
            std::find(start.devices.begin(), start.devices.end(), device) != start.devices.end();
        if (device->isAvailable(request.share))
            parts.push_back({device, request.share, isPlanned});
        else if (isPlanned && device->availableMemory() > Bytes{0})
            parts.push_back({device, std::nullopt, true});
    };
    if (!std::holds_alternative<CountWanted>(request.wanted)) {
        for (const TableDevice* device : namedDevices(request, devices(), &environment))
            add(device);
        return parts;
    }
    const std::size_t need = missing(request, environment);
    for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
        const auto all = candidates(request, devices(), &environment, kind);
        if (need > 0 && all.size() >= need)
            std::for_each(all.begin(), all.end(), add);
    }
    return parts;
}

// The devices of a taking are reserved already.
void KeptDevices::keepTaking(const EnvironmentRecord& environment, const Wait& wait) {
    Forecast::Start start{now_, {}, false};
    Entry entry{environment.uid, {wait.ticket, now_}, {}};
    for (const DeviceUuid& uuid : wait.taking->devices) {
        const TableDevice* device = devices().findUuid(uuid);
        if (device == nullptr)
            continue;
        start.devices.push_back(device);
        entry.devices.push_back({device->facts, wait.request.share.value_or(device->memory())});
    }
    forecast_.plan(start, wait.request.share, wait.lifetime);
    entries_.push_back(std::move(entry));
}

void KeptDevices::keep(const EnvironmentRecord& environment, const Wait& wait,
                       const std::optional<Limits>& limits) {
    if (wait.taking) {
        keepTaking(environment, wait);
        return;
    }
    std::vector<Part> parts;
    auto start = startNow(environment, wait, parts);
    const auto end = leaseEnd(&environment, wait.lifetime, now_);
    const auto lifetime =
        end ? std::optional(std::chrono::ceil<std::chrono::seconds>(*end - now_)) : std::nullopt;
    if (!start) {
        start = forecast_.earliest(wait.request, environment, lifetime);
        parts = usable(wait.request, environment, *start);
    }
    const std::size_t wanted = parts.size();
    const bool isLoan = willBeLoan(environment.configuration, wait.request);
    if (limits && !wait.exempt)
        dropWhatLimitsForbid(environment, *limits, isLoan, parts);
    const bool mayStart = parts.size() == wanted;
    if (mayStart)
        forecast_.plan(*start, wait.request.share, lifetime);
    Entry entry{environment.uid, {wait.ticket, start->at}, {}};
    for (const Part& part : parts) {
        reservations_.add(part.device->facts.uuid, part.share, entry.keeper);
        if (!mayStart || !part.counts || part.share != wait.request.share)
            forecast_.keep(*part.device, part.share, *start);
        if (part.counts)
            entry.devices.push_back({part.device->facts, part.memory(), isLoan});
    }
    entries_.push_back(std::move(entry));
}

// Devices that the owner may not have are not kept.
void KeptDevices::dropWhatLimitsForbid(const EnvironmentRecord& environment, const Limits& limits,
                                       bool isLoan, std::vector<Part>& parts) const {
    if (!areDevicesLimited(limits))
        return;
    Holdings ofUser = holdingsOf(ledger_, environment.uid);
    for (const KeptDevice& kept : of(environment.uid))
        ofUser.add(kept.device, kept.share, kept.isLoan);
    Holdings ofEnvironment = holdingsOf(environment);
    std::erase_if(parts, [&](const Part& part) {
        Holdings user = ofUser;
        Holdings itself = ofEnvironment;
        for (Holdings* with : {&user, &itself})
            with->add(part.device->facts, part.memory(), isLoan);
        if (admitHoldings(user, itself, limits))
            return true;
        if (part.counts) {
            ofUser = std::move(user);
            ofEnvironment = std::move(itself);
        }
        return false;
    });
}

Bytes KeptDevices::Part::memory() const {
    return std::min(share.value_or(device->memory()), device->availableMemory());
}

KeptForUser KeptDevices::of(Uid owner, std::optional<std::uint64_t> except) const {
    KeptForUser kept;
    for (const Entry& entry : entries_) {
        if (entry.owner == owner && entry.keeper.ticket != except)
            kept.insert(kept.end(), entry.devices.begin(), entry.devices.end());
    }
    return kept;
}

std::vector<BootTime> KeptDevices::starts() const {
    std::vector<BootTime> starts;
    for (const Entry& entry : entries_)
        starts.push_back(entry.keeper.start);
    std::sort(starts.begin(), starts.end(), std::greater<>());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    return starts;
}

} // namespace genv::core
