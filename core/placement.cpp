// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

namespace genv::core {

namespace {

std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

bool isLost(const Device& device) {
    return device.health.state == Health::State::Lost;
}

// Healthy ones first, then those on which no foreign process runs, then the lowest index.
auto preference(const Device& device) {
    const int unhealthy = device.health.state == Health::State::Ok      ? 0
                          : device.health.state == Health::State::Stale ? 1
                                                                        : 2;
    return std::tuple(unhealthy, device.occupied, device.facts.index);
}

Placement::Device placed(const Device& device, std::optional<Bytes> share) {
    return {device.facts, !device.isAvailable(share), device.occupied};
}

std::vector<DeviceUuid> attachedUuids(const Environment* environment) {
    std::vector<DeviceUuid> uuids;
    if (environment != nullptr) {
        for (const Attachment& attachment : environment->attachments)
            uuids.push_back(attachment.device.uuid);
    }
    return uuids;
}

// One request at work; split so that each rule of placement reads on its own.
class Placing {
  public:
    Placing(const AttachRequest& request, const DeviceTable& devices,
            const Environment* environment, const Reservations& reservations)
        : request_(request), devices_(devices), environment_(environment),
          reservations_(reservations) {
        result_.share = request.share;
        result_.basis = attachedUuids(environment);
    }

    Placement operator()(const CountWanted& wanted) {
        const std::vector<DeviceUuid> current = currentOfModel();
        if (wanted.count <= current.size()) {
            // Oldest first, so the surplus is the tail: what was attached last goes.
            if (wanted.exact)
                result_.detach.assign(current.rbegin(),
                                      current.rbegin() +
                                          (std::ptrdiff_t(current.size()) - wanted.count));
            return std::move(result_);
        }
        const std::size_t need = wanted.count - current.size();
        std::array<Kind, 2> kinds{candidates(DeviceKind::Gpu), candidates(DeviceKind::MigInstance)};
        const std::size_t most = std::max(kinds[0].usable(), kinds[1].usable());
        if (most < need)
            fail(ErrorCode::NotEnoughDevices,
                 "Requested more devices ({}) than total available ({}){}", wanted.count,
                 most + current.size(), restriction());
        for (const Kind& kind : kinds) {
            if (kind.available.size() >= need)
                return choose(kind, need);
        }
        for (const Kind& kind : kinds) {
            if (request_.overSubscribe && kind.available.size() + kind.held.size() >= need)
                return choose(kind, need);
        }
        const std::size_t free = std::max(kinds[0].available.size(), kinds[1].available.size());
        const std::size_t kept = std::max(kinds[0].reserved.size(), kinds[1].reserved.size());
        const std::string keptText =
            kept == 0 ? "" : fmt::format(" ({} kept for those who wait)", kept);
        if (free == 0)
            fail(ErrorCode::DeviceUnavailable, "No available devices{}{}", restriction(), keptText);
        fail(ErrorCode::DeviceUnavailable, "No available devices{}: {} more wanted and {} free{}",
             restriction(), need, free, keptText);
    }

    Placement operator()(const IndicesWanted& wanted) {
        if (wanted.indices.empty())
            fail(ErrorCode::InvalidArgs, "no device index was given");
        std::vector<const Device*> named;
        for (const DeviceIndex index : wanted.indices) {
            const Device* device = devices_.find(index);
            if (device == nullptr)
                fail(ErrorCode::NoSuchDevice, "there is no device {} on this machine, which has {}",
                     index, presentIndices());
            if (std::find(named.begin(), named.end(), device) == named.end())
                named.push_back(device);
        }
        return attachNamed(named);
    }

    Placement operator()(const UuidWanted& wanted) {
        const Device* device = devices_.findUuid(wanted.uuid);
        if (device == nullptr)
            fail(ErrorCode::NoSuchDevice, "there is no device with the UUID \"{}\" on this machine",
                 escaped(wanted.uuid));
        return attachNamed({device});
    }

    // Keeps what the request could use of what is free; of a device that others share, what is left
    // of it, or small shares could go on for ever.
    void reserveInto(Reservations& reservations) const {
        std::visit([&](const auto& wanted) { reserve(wanted, reservations); }, request_.wanted);
    }

  private:
    struct Kind {
        std::vector<const Device*> available;
        std::vector<const Device*> held;
        std::vector<const Device*> reserved; // for somebody who waits
        [[nodiscard]] std::size_t usable() const {
            return available.size() + held.size() + reserved.size();
        }
    };

    std::vector<DeviceUuid> currentOfModel() const {
        std::vector<DeviceUuid> uuids;
        if (environment_ != nullptr) {
            for (const Attachment& attachment : environment_->attachments) {
                if (matchesModel(attachment.device, request_.model))
                    uuids.push_back(attachment.device.uuid);
            }
        }
        return uuids;
    }

    void reserve(const CountWanted& wanted, Reservations& reservations) const {
        const std::size_t current = currentOfModel().size();
        if (wanted.count <= current)
            return;
        const std::size_t need = wanted.count - current;
        for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
            Kind all = candidates(kind);
            if (all.usable() < need)
                continue;
            for (const Device* device : all.available)
                reservations.add(device->facts.uuid, request_.share);
            std::stable_sort(all.held.begin(), all.held.end(),
                             [](const Device* a, const Device* b) {
                                 return a->availableMemory() > b->availableMemory();
                             });
            for (std::size_t i = 0; i + all.available.size() < need; ++i)
                reserveRest(*all.held[i], reservations);
        }
    }

    void reserve(const IndicesWanted& wanted, Reservations& reservations) const {
        for (const DeviceIndex index : wanted.indices)
            reserve(devices_.find(index), reservations);
    }

    void reserve(const UuidWanted& wanted, Reservations& reservations) const {
        reserve(devices_.findUuid(wanted.uuid), reservations);
    }

    void reserve(const Device* device, Reservations& reservations) const {
        if (device == nullptr || isAttached(*device))
            return;
        if (device->isAvailable(request_.share))
            reservations.add(device->facts.uuid, request_.share);
        else
            reserveRest(*device, reservations);
    }

    // Where nothing is left nothing is kept, and those who share it may go on doing so.
    static void reserveRest(const Device& device, Reservations& reservations) {
        if (device.availableMemory() > Bytes{0})
            reservations.add(device.facts.uuid, std::nullopt);
    }

    // CUDA uses either GPUs or MIG instances, so an environment holds one kind.
    [[nodiscard]] std::optional<DeviceKind> attachedKind() const {
        if (environment_ == nullptr || environment_->attachments.empty())
            return std::nullopt;
        return environment_->attachments.front().device.kind;
    }

    [[nodiscard]] bool isAttached(const Device& device) const {
        return environment_ != nullptr && environment_->attachmentTo(device.facts.uuid) != nullptr;
    }

    Kind candidates(DeviceKind kind) const {
        Kind result;
        if (attachedKind().value_or(kind) != kind)
            return result;
        for (const auto& [index, device] : devices_.byIndex()) {
            if (device.facts.kind != kind || isLost(device) || isAttached(device) ||
                !matchesModel(device.facts, request_.model) ||
                request_.share > device.facts.totalMemory)
                continue;
            (reservations_.leave(device, request_.share) ? result.available
             : reservations_.contains(device.facts.uuid) ? result.reserved
                                                         : result.held)
                .push_back(&device);
        }
        std::sort(result.available.begin(), result.available.end(),
                  [](const Device* a, const Device* b) { return preference(*a) < preference(*b); });
        std::sort(result.held.begin(), result.held.end(), [](const Device* a, const Device* b) {
            return std::tuple(a->claims.size(), preference(*a)) <
                   std::tuple(b->claims.size(), preference(*b));
        });
        return result;
    }

    Placement choose(const Kind& kind, std::size_t need) {
        for (const auto* devices : {&kind.available, &kind.held}) {
            for (const Device* device : *devices) {
                if (result_.attach.size() < need)
                    result_.attach.push_back(placed(*device, request_.share));
            }
        }
        return std::move(result_);
    }

    Placement attachNamed(const std::vector<const Device*>& named) {
        std::optional<DeviceKind> kind = attachedKind();
        for (const Device* device : named) {
            const DeviceFacts& facts = device->facts;
            if (!matchesModel(facts, request_.model))
                fail(ErrorCode::NoSuchDevice, "device {} is a \"{}\", not a \"{}\"", facts.index,
                     escaped(facts.model), escaped(*request_.model));
            if (kind.value_or(facts.kind) != facts.kind)
                fail(ErrorCode::InvalidArgs, "GPUs and MIG instances cannot be attached together, "
                                             "since CUDA uses only one kind");
            kind = facts.kind;
            if (isAttached(*device))
                continue;
            requireUsable(*device);
            result_.attach.push_back(placed(*device, request_.share));
        }
        return std::move(result_);
    }

    void requireUsable(const Device& device) const {
        if (isLost(device))
            fail(ErrorCode::DeviceUnavailable, "Device {} is not available: the driver lost it",
                 device.facts.index);
        if (request_.share && *request_.share > device.facts.totalMemory)
            fail(ErrorCode::InvalidArgs, "device {} has {} of memory, less than the {} wanted",
                 device.facts.index, formatBytes(device.facts.totalMemory),
                 formatBytes(*request_.share));
        const bool isFree = reservations_.leave(device, request_.share);
        if (!isFree && reservations_.contains(device.facts.uuid))
            fail(ErrorCode::DeviceUnavailable,
                 "Device {} is not available: it is kept for somebody who waits for it",
                 device.facts.index);
        if (!isFree && !request_.overSubscribe)
            fail(ErrorCode::DeviceUnavailable, "Device {} is not available", device.facts.index);
    }

    [[nodiscard]] std::string restriction() const {
        std::string text;
        if (request_.model)
            text += fmt::format(" of model \"{}\"", escaped(*request_.model));
        if (request_.share)
            text += fmt::format(" with {} of memory", formatBytes(*request_.share));
        return text;
    }

    [[nodiscard]] std::string presentIndices() const {
        if (devices_.byIndex().empty())
            return "none";
        std::string text;
        for (const auto& [index, device] : devices_.byIndex()) {
            if (text.size() > 60)
                return text + ", ...";
            text += fmt::format("{}{}", text.empty() ? "" : ", ", index);
        }
        return text;
    }

    const AttachRequest& request_;
    const DeviceTable& devices_;
    const Environment* environment_;
    const Reservations& reservations_;
    Placement result_;
};

} // namespace

bool matchesModel(const DeviceFacts& facts, const std::optional<std::string>& model) {
    return !model || lowered(facts.model).find(lowered(*model)) != std::string::npos;
}

bool Placement::overSubscribes() const {
    return std::any_of(attach.begin(), attach.end(),
                       [](const Device& device) { return device.overSubscribed; });
}

Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Environment* environment, const Reservations& reservations) {
    return std::visit(Placing(request, devices, environment, reservations), request.wanted);
}

Placement placeOrWait(const AttachRequest& request, const DeviceTable& devices,
                      const Environment* environment, const Reservations& reservations) {
    try {
        return place(request, devices, environment, reservations);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::DeviceUnavailable)
            throw;
    }
    // With what others hold it can be had, or it never can.
    AttachRequest shared = request;
    shared.overSubscribe = true;
    Placement placement = place(shared, devices, environment);
    placement.waitsFor = request;
    return placement;
}

std::size_t missing(const AttachRequest& request, const Environment& environment) {
    const auto& held = environment.attachments;
    if (const auto* wanted = std::get_if<CountWanted>(&request.wanted)) {
        const auto has = static_cast<std::size_t>(
            std::count_if(held.begin(), held.end(), [&](const Attachment& attachment) {
                return matchesModel(attachment.device, request.model);
            }));
        return wanted->count > has ? wanted->count - has : 0;
    }
    if (const auto* wanted = std::get_if<UuidWanted>(&request.wanted))
        return environment.attachmentTo(wanted->uuid) == nullptr ? 1 : 0;
    std::set<DeviceIndex> indices;
    for (const DeviceIndex index : std::get<IndicesWanted>(request.wanted).indices)
        indices.insert(index);
    for (const Attachment& attachment : held)
        indices.erase(attachment.device.index);
    return indices.size();
}

void reserveFor(const AttachRequest& request, const DeviceTable& devices,
                const Environment* environment, Reservations& reservations) {
    // What is kept for others that asked earlier is kept for this one as well: whoever comes later
    // gets nothing that either could use.
    const Reservations none;
    Placing(request, devices, environment, none).reserveInto(reservations);
}

bool stillHolds(const Placement& placement, const DeviceTable& devices,
                const Environment* environment, const Reservations& reservations) {
    if (placement.basis != attachedUuids(environment))
        return false;
    if (placement.waitsFor)
        return true;
    return std::all_of(
        placement.attach.begin(), placement.attach.end(), [&](const Placement::Device& wanted) {
            const Device* device = devices.findUuid(wanted.facts.uuid);
            if (device == nullptr || device->facts != wanted.facts || isLost(*device))
                return false;
            return reservations.leave(*device, placement.share) ||
                   (wanted.overSubscribed && !reservations.contains(device->facts.uuid));
        });
}

} // namespace genv::core
