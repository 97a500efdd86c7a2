// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
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

bool matchesModel(const DeviceFacts& facts, const std::optional<std::string>& model) {
    return !model || lowered(facts.model).find(lowered(*model)) != std::string::npos;
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
            const Environment* environment)
        : request_(request), devices_(devices), environment_(environment) {
        result_.share = request.share;
        result_.basis = attachedUuids(environment);
    }

    Placement operator()(const CountWanted& wanted) {
        const std::vector<DeviceUuid> current = currentOfModel();
        if (wanted.count <= current.size()) {
            // Oldest first, so the surplus is the tail: what was attached last goes.
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
            if (request_.overSubscribe && kind.usable() >= need)
                return choose(kind, need);
        }
        const std::size_t free = std::max(kinds[0].available.size(), kinds[1].available.size());
        if (free == 0)
            fail(ErrorCode::DeviceUnavailable, "No available devices{}", restriction());
        fail(ErrorCode::DeviceUnavailable, "No available devices{}: {} more wanted and {} free",
             restriction(), need, free);
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

  private:
    struct Kind {
        std::vector<const Device*> available;
        std::vector<const Device*> held;
        [[nodiscard]] std::size_t usable() const { return available.size() + held.size(); }
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
            (device.isAvailable(request_.share) ? result.available : result.held)
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
        if (!device.isAvailable(request_.share) && !request_.overSubscribe)
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
    Placement result_;
};

} // namespace

bool Placement::overSubscribes() const {
    return std::any_of(attach.begin(), attach.end(),
                       [](const Device& device) { return device.overSubscribed; });
}

Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Environment* environment) {
    return std::visit(Placing(request, devices, environment), request.wanted);
}

bool stillHolds(const Placement& placement, const DeviceTable& devices,
                const Environment* environment) {
    if (placement.basis != attachedUuids(environment))
        return false;
    return std::all_of(
        placement.attach.begin(), placement.attach.end(), [&](const Placement::Device& wanted) {
            const Device* device = devices.findUuid(wanted.facts.uuid);
            return device != nullptr && device->facts == wanted.facts && !isLost(*device) &&
                   (wanted.overSubscribed || device->isAvailable(placement.share));
        });
}

} // namespace genv::core
