// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/placement.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

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

bool isLost(const TableDevice& device) {
    return device.health.state == Health::State::Lost;
}

// Sorts healthy devices first, then devices that nothing outside genv uses, and for a parent's
// devices those last that the parent itself uses.
auto quality(const TableDevice& device) {
    const int unhealthy = device.health.state == Health::State::Ok      ? 0
                          : device.health.state == Health::State::Stale ? 1
                                                                        : 2;
    return std::tuple(unhealthy, device.isUsedOutside(), device.usedByParent);
}

bool isAttached(const TableDevice& device, const EnvironmentRecord* environment) {
    return environment != nullptr && environment->attachmentTo(device.facts.uuid) != nullptr;
}

// Returns the command that gets devices from Slurm.
std::string slurmCommand(std::size_t count) {
    return fmt::format("srun --gpus={} COMMAND", count);
}

// CUDA uses either GPUs or MIG instances, so an environment holds devices of one kind.
std::optional<DeviceKind> attachedKind(const EnvironmentRecord* environment) {
    if (environment == nullptr || environment->attachments.empty())
        return std::nullopt;
    return environment->attachments.front().device.kind;
}

std::vector<DeviceUuid> attachedUuids(const EnvironmentRecord* environment) {
    std::vector<DeviceUuid> uuids;
    if (environment != nullptr) {
        for (const DeviceAttachment& attachment : environment->attachments)
            uuids.push_back(attachment.device.uuid);
    }
    return uuids;
}

// Returns whether all holders without consent are among those who were named in the plan. Thousands
// may share a device, and mostly none has come or gone.
bool isCovered(const std::vector<EnvironmentId>& now, const std::vector<EnvironmentId>& named) {
    if (now == named)
        return true;
    const std::set<std::string_view> all(named.begin(), named.end());
    return std::ranges::all_of(now,
                               [&](const EnvironmentId& holder) { return all.contains(holder); });
}

// Whether a request needs its devices now, or computes what it waits for. In the second case it may
// also wait for a device that a Slurm job holds, which cannot be shared.
enum class Begins { Now, Later };

// What a request gets whose devices are not available: an Error with the reason, or nothing.
enum class Otherwise { Throw, Nothing };

// The placement of one request, split so that each rule can be read separately.
class Placing {
  public:
    Placing(const AttachRequest& request, const DeviceTable& devices, const Requester& requester,
            const Reservations& reservations, std::optional<BootTime> leaseEnd, Begins begins,
            Otherwise otherwise)
        : request_(request), devices_(devices), requester_(requester),
          environment_(requester.environment), reservations_(reservations), leaseEnd_(leaseEnd),
          begins_(begins), otherwise_(otherwise) {
        result_.share = request.share;
        result_.basis = attachedUuids(environment_);
    }

    std::optional<Placement> operator()(const CountWanted& wanted) {
        const std::vector<DeviceUuid> current = currentOfModel();
        if (wanted.count <= current.size()) {
            // Oldest first, so the surplus is the tail: the newest attachments are detached.
            if (wanted.exact)
                result_.detach.assign(current.rbegin(),
                                      current.rbegin() +
                                          (std::ptrdiff_t(current.size()) - wanted.count));
            return std::move(result_);
        }
        const std::size_t need = wanted.count - current.size();
        std::array<Kind, 2> kinds{sorted(DeviceKind::Gpu), sorted(DeviceKind::MigInstance)};
        const std::size_t max = std::max(kinds[0].usable(), kinds[1].usable());
        if (max < need)
            fail(ErrorCode::NotEnoughDevices, "{}{}",
                 tooManyWanted(wanted.count, max + current.size()), slurmHint(need));
        for (const Kind& kind : kinds) {
            if (kind.available.size() >= need)
                return choose(kind, need);
        }
        for (const Kind& kind : kinds) {
            if (request_.overSubscribe && kind.available.size() + kind.held.size() >= need)
                return choose(kind, need);
        }
        if (otherwise_ == Otherwise::Nothing)
            return std::nullopt;
        const std::size_t free = std::max(kinds[0].available.size(), kinds[1].available.size());
        const std::size_t poor = std::max(kinds[0].countPoor(), kinds[1].countPoor());
        const std::string poorText =
            poor == 0 ? "" : fmt::format(", {} in use outside genv or unhealthy", poor);
        const std::size_t kept = std::max(kinds[0].reserved.size(), kinds[1].reserved.size());
        const std::string keptText =
            kept == 0 ? "" : fmt::format(" ({} kept for waiting requests)", kept);
        if (free == 0)
            fail(ErrorCode::DeviceUnavailable, "No available devices{}{}{}", restriction(),
                 keptText, slurmHint(need));
        fail(ErrorCode::DeviceUnavailable,
             "No available devices{}: {} more requested, {} free{}{}{}", restriction(), need,
             free - poor, poorText, keptText, slurmHint(need));
    }

    std::optional<Placement> operator()(const IndicesWanted& wanted) {
        if (wanted.indices.empty())
            fail(ErrorCode::InvalidArgs, "no device index was given");
        std::vector<const TableDevice*> named;
        for (const DeviceIndex index : wanted.indices) {
            const TableDevice* device = devices_.find(index);
            if (device == nullptr)
                fail(ErrorCode::NoSuchDevice, "{}, which has {}",
                     lacks(fmt::format("device {}", index)), presentIndices());
            if (std::find(named.begin(), named.end(), device) == named.end())
                named.push_back(device);
        }
        return attachNamed(named);
    }

    std::optional<Placement> operator()(const UuidsWanted& wanted) {
        if (wanted.uuids.empty())
            fail(ErrorCode::InvalidArgs, "no device UUID was given");
        std::vector<const TableDevice*> named;
        for (const DeviceUuid& uuid : wanted.uuids) {
            const TableDevice* device = devices_.findUuid(uuid);
            if (device == nullptr)
                fail(ErrorCode::NoSuchDevice, "{}",
                     lacks(fmt::format("device with the UUID \"{}\"", escaped(uuid))));
            if (std::find(named.begin(), named.end(), device) == named.end())
                named.push_back(device);
        }
        return attachNamed(named);
    }

  private:
    struct Kind {
        std::vector<const TableDevice*> available;
        std::vector<const TableDevice*> held;
        std::vector<const TableDevice*> withheld; // by holders whose consent is needed
        std::vector<const TableDevice*> reserved; // for waiting requests
        std::vector<const TableDevice*> ofJobs;
        // Counts the available devices that nobody holds and that are not free all the same.
        [[nodiscard]] std::size_t countPoor() const {
            return static_cast<std::size_t>(
                std::ranges::count_if(available, [](const TableDevice* device) {
                    return device->holders.empty() && !device->isFree();
                }));
        }
        [[nodiscard]] std::size_t usable() const {
            return available.size() + held.size() + withheld.size() + reserved.size() +
                   ofJobs.size();
        }
    };

    std::vector<DeviceUuid> currentOfModel() const {
        std::vector<DeviceUuid> uuids;
        if (environment_ != nullptr) {
            for (const DeviceAttachment& attachment : environment_->attachments) {
                if (matchesModel(attachment.device, request_.model))
                    uuids.push_back(attachment.device.uuid);
            }
        }
        return uuids;
    }

    Kind sorted(DeviceKind kind) const {
        Kind result;
        for (const TableDevice* device : candidates(request_, devices_, environment_, kind)) {
            (isRefused(*device)                                        ? result.ofJobs
             : reservations_.leave(*device, request_.share, leaseEnd_) ? result.available
             : reservations_.contains(device->facts.uuid, leaseEnd_)   ? result.reserved
             : isWithheld(*device)                                     ? result.withheld
                                                                       : result.held)
                .push_back(device);
        }
        // Among equally good devices, one that is not kept for anybody comes first.
        const auto passes = [&](const TableDevice& device) {
            return !reservations_.passed(device, request_.share, leaseEnd_).empty();
        };
        std::sort(result.available.begin(), result.available.end(),
                  [&](const TableDevice* a, const TableDevice* b) {
                      return std::tuple(quality(*a), passes(*a), a->facts.index) <
                             std::tuple(quality(*b), passes(*b), b->facts.index);
                  });
        const auto cost = [this](const TableDevice& device) {
            return std::tuple(sharedWith(device, requester_.owner), device.holders.size(),
                              quality(device), device.facts.index);
        };
        std::sort(result.held.begin(), result.held.end(),
                  [&](const TableDevice* a, const TableDevice* b) { return cost(*a) < cost(*b); });
        return result;
    }

    [[nodiscard]] bool isRefused(const TableDevice& device) const {
        return begins_ == Begins::Now ? device.isSlurms() : device.reservedForSlurm;
    }

    [[nodiscard]] bool isWithheld(const TableDevice& device) const {
        return requester_.needsConsent &&
               sharedWith(device, requester_.owner) == SharedWith::Others;
    }

    Placement::Device placed(const TableDevice& device) const {
        Placement::Device result{device.facts,
                                 !device.isAvailable(request_.share),
                                 device.isUsedOutside() || device.unaccounted.isSuspected(),
                                 reservations_.passed(device, request_.share, leaseEnd_),
                                 {}};
        if (result.overSubscribed)
            result.withoutConsent = holdersWithoutConsent(device, requester_.owner);
        return result;
    }

    Placement choose(const Kind& kind, std::size_t need) {
        for (const auto* devices : {&kind.available, &kind.held}) {
            for (const TableDevice* device : *devices) {
                if (result_.attach.size() < need)
                    result_.attach.push_back(placed(*device));
            }
        }
        return std::move(result_);
    }

    std::optional<Placement> attachNamed(const std::vector<const TableDevice*>& named) {
        std::optional<DeviceKind> kind = attachedKind(environment_);
        for (const TableDevice* device : named) {
            const DeviceFacts& facts = device->facts;
            if (!matchesModel(facts, request_.model))
                fail(ErrorCode::NoSuchDevice, "device {} is a \"{}\", not a \"{}\"", facts.index,
                     escaped(facts.model), escaped(*request_.model));
            if (kind.value_or(facts.kind) != facts.kind)
                fail(ErrorCode::InvalidArgs, "GPUs and MIG instances cannot be attached together, "
                                             "since CUDA uses only one kind");
            kind = facts.kind;
            if (isAttached(*device, environment_))
                continue;
            if (!isUsable(*device, named.size()))
                return std::nullopt;
            result_.attach.push_back(placed(*device));
        }
        return std::move(result_);
    }

    // Returns a hint for a request that cannot have its number of devices: other devices are
    // available through Slurm.
    [[nodiscard]] std::string slurmHint(std::size_t need) const {
        std::vector<DeviceIndex> reserved;
        for (const auto& [index, device] : devices_.byIndex()) {
            if (device.isSlurms() && matchesModel(device.facts, request_.model))
                reserved.push_back(index);
        }
        if (reserved.empty())
            return "";
        return fmt::format("; {} {} Slurm's: use \"{}\"", nameGpus(reserved),
                           reserved.size() == 1 ? "is" : "are", slurmCommand(need));
    }

    template <typename... Args>
    bool unavailable(fmt::format_string<Args...> text, Args&&... args) const {
        if (otherwise_ == Otherwise::Throw)
            fail(ErrorCode::DeviceUnavailable, text, std::forward<Args>(args)...);
        return false;
    }

    bool isUsable(const TableDevice& device, std::size_t count) const {
        if (isRefused(device))
            return unavailable("GPU {} is Slurm's: use \"{}\"", device.facts.index,
                               slurmCommand(count));
        if (isLost(device))
            return unavailable("Device {} is not available: the driver lost it",
                               device.facts.index);
        if (request_.share && *request_.share > device.memory())
            fail(ErrorCode::InvalidArgs, "{} has {} of memory{}, less than the {} wanted",
                 device.capacity ? fmt::format("environment {}", *devices_.parent())
                                 : fmt::format("device {}", device.facts.index),
                 nameMemory(device.memory()),
                 device.capacity ? fmt::format(" on device {}", device.facts.index) : std::string(),
                 nameMemory(*request_.share));
        const bool isFree = reservations_.leave(device, request_.share, leaseEnd_);
        if (!isFree && reservations_.contains(device.facts.uuid, leaseEnd_))
            return unavailable("Device {} is not available: it is kept for a waiting request",
                               device.facts.index);
        if (!isFree && (!request_.overSubscribe || isWithheld(device)))
            return unavailable("Device {} is not available{}", device.facts.index,
                               request_.share && device.unaccounted.amount() > Bytes{0}
                                   ? ": " + describeUnaccounted(device.unaccounted.amount())
                                   : std::string());
        return true;
    }

    // Returns why `wanted` devices can never be had where `count` are suitable.
    [[nodiscard]] std::string tooManyWanted(std::size_t wanted, std::size_t count) const {
        if (!request_.model && !request_.share)
            return fmt::format("Requested more devices ({}) than {} ({})", wanted,
                               devices_.parent()
                                   ? fmt::format("environment {} has", *devices_.parent())
                                   : std::string("total available"),
                               count);
        const std::string where =
            devices_.parent() ? fmt::format(" of environment {}", *devices_.parent()) : "";
        const std::string number = count == 0 ? fmt::format("no GPU{}", where)
                                              : fmt::format("requested {}{}, but only {}",
                                                            counted(wanted, "GPU"), where, count);
        const std::string memory = request_.share ? nameMemory(*request_.share) + " of memory" : "";
        if (!request_.model)
            return fmt::format("{} {} {}", number, count > 1 ? "have" : "has", memory);
        return fmt::format("{} {} of model \"{}\"{}", number, count > 1 ? "are" : "is",
                           escaped(*request_.model), memory.empty() ? "" : " with " + memory);
    }

    [[nodiscard]] std::string restriction() const {
        std::string text;
        if (request_.model)
            text += fmt::format(" of model \"{}\"", escaped(*request_.model));
        if (request_.share)
            text += fmt::format(" with {} of memory", nameMemory(*request_.share));
        return text;
    }

    // Returns a text that something does not exist, and where.
    [[nodiscard]] std::string lacks(const std::string& what) const {
        return devices_.parent()
                   ? fmt::format("there is no {} in environment {}", what, *devices_.parent())
                   : fmt::format("there is no {} on this machine", what);
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
    const Requester& requester_;
    const EnvironmentRecord* environment_;
    const Reservations& reservations_;
    const std::optional<BootTime> leaseEnd_;
    const Begins begins_;
    const Otherwise otherwise_;
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

const Placement& placementOf(const Plan& plan) {
    const auto* wait = std::get_if<PlannedWait>(&plan);
    return wait != nullptr ? wait->expected : std::get<Placement>(plan);
}

bool isAsGood(const Placement& placement, const Placement& other) {
    const auto isNoMore = [&](auto property) {
        return std::ranges::count_if(placement.attach, property) <=
               std::ranges::count_if(other.attach, property);
    };
    return isNoMore(&Placement::Device::overSubscribed) && isNoMore(&Placement::Device::occupied) &&
           isNoMore(
               [](const Placement::Device& device) { return !device.withoutConsent.empty(); }) &&
           isNoMore([](const Placement::Device& device) { return !device.keptFor.empty(); });
}

bool haveSameOutcome(const Plan& a, const Plan& b) {
    if (a.index() != b.index() || placementOf(a).share != placementOf(b).share)
        return false;
    if (std::holds_alternative<PlannedWait>(a))
        return placementOf(a).attach.size() == placementOf(b).attach.size();
    const auto isSame = [](const Placement::Device& one, const Placement::Device& other) {
        return one.facts == other.facts && one.overSubscribed == other.overSubscribed;
    };
    return std::ranges::equal(placementOf(a).attach, placementOf(b).attach, isSame) &&
           placementOf(a).detach == placementOf(b).detach;
}

bool isAskedFor(const AttachRequest& request, const TableDevice& device) {
    if (const auto* indices = std::get_if<IndicesWanted>(&request.wanted))
        return std::find(indices->indices.begin(), indices->indices.end(), device.facts.index) !=
               indices->indices.end();
    if (const auto* uuids = std::get_if<UuidsWanted>(&request.wanted))
        return std::find(uuids->uuids.begin(), uuids->uuids.end(), device.facts.uuid) !=
               uuids->uuids.end();
    return matchesModel(device.facts, request.model);
}

std::vector<const TableDevice*> candidates(const AttachRequest& request, const DeviceTable& devices,
                                           const EnvironmentRecord* environment, DeviceKind kind) {
    std::vector<const TableDevice*> result;
    if (attachedKind(environment).value_or(kind) != kind)
        return result;
    for (const auto& [index, device] : devices.byIndex()) {
        if (device.facts.kind == kind && !isLost(device) && !device.reservedForSlurm &&
            !isAttached(device, environment) && matchesModel(device.facts, request.model) &&
            !(request.share > device.memory()))
            result.push_back(&device);
    }
    return result;
}

std::vector<const TableDevice*> namedDevices(const AttachRequest& request,
                                             const DeviceTable& devices,
                                             const EnvironmentRecord* environment) {
    std::vector<const TableDevice*> result;
    const auto add = [&](const TableDevice* device) {
        if (device != nullptr && !isAttached(*device, environment) &&
            std::find(result.begin(), result.end(), device) == result.end())
            result.push_back(device);
    };
    if (const auto* indices = std::get_if<IndicesWanted>(&request.wanted)) {
        for (const DeviceIndex index : indices->indices)
            add(devices.find(index));
    } else if (const auto* uuids = std::get_if<UuidsWanted>(&request.wanted)) {
        for (const DeviceUuid& uuid : uuids->uuids)
            add(devices.findUuid(uuid));
    }
    return result;
}

Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Requester& requester, const Reservations& reservations,
                std::optional<BootTime> leaseEnd) {
    return *std::visit(
        Placing(request, devices, requester, reservations, leaseEnd, Begins::Now, Otherwise::Throw),
        request.wanted);
}

std::optional<Placement> placeIfAvailable(const AttachRequest& request, const DeviceTable& devices,
                                          const Requester& requester,
                                          const Reservations& reservations,
                                          std::optional<BootTime> leaseEnd) {
    return std::visit(Placing(request, devices, requester, reservations, leaseEnd, Begins::Now,
                              Otherwise::Nothing),
                      request.wanted);
}

Plan placeOrWait(const AttachRequest& request, const DeviceTable& devices,
                 const Requester& requester, const Reservations& reservations,
                 std::optional<BootTime> leaseEnd) {
    if (auto placement = placeIfAvailable(request, devices, requester, reservations, leaseEnd))
        return *std::move(placement);
    // If the request cannot be met even with the devices that others hold, it can never be met.
    AttachRequest shared = request;
    shared.overSubscribe = true;
    Requester anyway = requester;
    anyway.needsConsent = false;
    return PlannedWait{request, *std::visit(Placing(shared, devices, anyway, Reservations{},
                                                    std::nullopt, Begins::Later, Otherwise::Throw),
                                            shared.wanted)};
}

std::size_t missing(const AttachRequest& request, const EnvironmentRecord& environment) {
    const auto& held = environment.attachments;
    if (const auto* wanted = std::get_if<CountWanted>(&request.wanted)) {
        const auto has = static_cast<std::size_t>(
            std::count_if(held.begin(), held.end(), [&](const DeviceAttachment& attachment) {
                return matchesModel(attachment.device, request.model);
            }));
        return wanted->count > has ? wanted->count - has : 0;
    }
    if (const auto* wanted = std::get_if<UuidsWanted>(&request.wanted)) {
        const std::set<DeviceUuid> uuids(wanted->uuids.begin(), wanted->uuids.end());
        return static_cast<std::size_t>(
            std::count_if(uuids.begin(), uuids.end(), [&](const DeviceUuid& uuid) {
                return environment.attachmentTo(uuid) == nullptr;
            }));
    }
    std::set<DeviceIndex> indices;
    for (const DeviceIndex index : std::get<IndicesWanted>(request.wanted).indices)
        indices.insert(index);
    for (const DeviceAttachment& attachment : held)
        indices.erase(attachment.device.index);
    return indices.size();
}

bool stillHolds(const Plan& plan, const DeviceTable& devices, const Requester& requester,
                const Reservations& reservations, std::optional<BootTime> leaseEnd) {
    const Placement& placement = placementOf(plan);
    if (placement.basis != attachedUuids(requester.environment))
        return false;
    if (std::holds_alternative<PlannedWait>(plan))
        return true;
    return std::all_of(
        placement.attach.begin(), placement.attach.end(), [&](const Placement::Device& wanted) {
            const TableDevice* device = devices.findUuid(wanted.facts.uuid);
            if (device == nullptr || device->facts != wanted.facts || isLost(*device) ||
                device->isSlurms())
                return false;
            return reservations.leave(*device, placement.share, leaseEnd) ||
                   (wanted.overSubscribed && !reservations.contains(device->facts.uuid, leaseEnd) &&
                    isCovered(holdersWithoutConsent(*device, requester.owner),
                              wanted.withoutConsent));
        });
}

} // namespace genv::core
