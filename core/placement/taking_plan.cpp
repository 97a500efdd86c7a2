// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/taking_plan.hpp"

#include "core/placement/placement.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace genv::core {

namespace {

// Measured on an H100: 1.5 to 2 GB a second, from which the first touch of host memory takes most.
constexpr std::uint64_t bytesPerMillisecond = 2'000'000;
constexpr std::chrono::milliseconds startOfMove{500};

bool isGood(const TableDevice& device) {
    return device.health.state != Health::State::Lost &&
           device.health.state != Health::State::Xid && !device.isUsedOutside() &&
           !device.isSlurms();
}

class Planning {
  public:
    Planning(const AttachRequest& request, std::vector<TakeableEnvironment> loans)
        : request_(request), loans_(std::move(loans)) {
        std::ranges::sort(loans_,
                          [](const TakeableEnvironment& one, const TakeableEnvironment& other) {
                              const auto cost = [](const TakeableEnvironment& loan) {
                                  return std::tuple(!loan.isMoving, loan.bytes, ~loan.sequence);
                              };
                              return cost(one) < cost(other);
                          });
    }

    // Sorts the devices into free ones, and those of loans. Returns how many there are.
    std::size_t sort(const std::vector<const TableDevice*>& devices,
                     const std::function<bool(const TableDevice&)>& isUsable) {
        for (const TableDevice* device : devices) {
            if (!isGood(*device) || !isUsable(*device))
                continue;
            if (device->isAvailable(request_.share))
                free_.push_back(device->facts.uuid);
            else if (loanOf(device->facts.uuid) != nullptr)
                lent_.insert(device->facts.uuid);
        }
        return free_.size() + lent_.size();
    }

    // Returns a plan for this number of devices. There are enough.
    TakingPlan plan(std::size_t need) const {
        TakingPlan plan;
        for (const DeviceUuid& uuid : free_) {
            if (plan.devices.size() < need)
                plan.devices.push_back(uuid);
        }
        for (const TakeableEnvironment* loan : victims(need - plan.devices.size())) {
            plan.victims.push_back(loan->environment);
            for (const DeviceUuid& uuid : loan->devices) {
                if (plan.devices.size() < need && lent_.contains(uuid))
                    plan.devices.push_back(uuid);
            }
        }
        return plan;
    }

  private:
    const TakeableEnvironment* loanOf(const DeviceUuid& uuid) const {
        const auto found = std::ranges::find_if(loans_, [&](const TakeableEnvironment& loan) {
            return std::ranges::find(loan.devices, uuid) != loan.devices.end();
        });
        return found == loans_.end() ? nullptr : &*found;
    }

    std::size_t worth(const TakeableEnvironment& loan) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            loan.devices, [this](const DeviceUuid& uuid) { return lent_.contains(uuid); }));
    }

    // Returns the cheapest loans with this number of devices, without those that are not needed
    // once a larger one is among them.
    std::vector<const TakeableEnvironment*> victims(std::size_t need) const {
        std::vector<const TakeableEnvironment*> chosen;
        std::size_t has = 0;
        for (const TakeableEnvironment& loan : loans_) {
            if (has >= need)
                break;
            if (const std::size_t more = worth(loan); more > 0) {
                chosen.push_back(&loan);
                has += more;
            }
        }
        for (auto loan = chosen.end(); loan != chosen.begin();) {
            --loan;
            if (has - worth(**loan) >= need) {
                has -= worth(**loan);
                loan = chosen.erase(loan);
            }
        }
        return chosen;
    }

    const AttachRequest& request_;
    std::vector<TakeableEnvironment> loans_; ///< cheapest first
    std::vector<DeviceUuid> free_;
    std::set<DeviceUuid> lent_;
};

} // namespace

std::optional<TakingPlan> planTaking(const AttachRequest& request,
                                     const EnvironmentRecord* environment,
                                     const DeviceTable& devices,
                                     const std::vector<TakeableEnvironment>& loans,
                                     const std::function<bool(const TableDevice&)>& isUsable) {
    const EnvironmentRecord none;
    const std::size_t need = missing(request, environment != nullptr ? *environment : none);
    if (need == 0)
        return std::nullopt;
    if (!std::holds_alternative<CountWanted>(request.wanted)) {
        Planning planning(request, loans);
        if (planning.sort(namedDevices(request, devices, environment), isUsable) < need)
            return std::nullopt;
        return planning.plan(need);
    }
    for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
        Planning planning(request, loans);
        if (planning.sort(candidates(request, devices, environment, kind), isUsable) >= need)
            return planning.plan(need);
    }
    return std::nullopt;
}

std::chrono::milliseconds estimateMove(Bytes bytesPerDevice) {
    return startOfMove + std::chrono::milliseconds{
                             static_cast<std::int64_t>(bytesPerDevice.count / bytesPerMillisecond)};
}

} // namespace genv::core
