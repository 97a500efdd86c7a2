// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/preparation.hpp"

#include "core/ledger/membership.hpp"
#include "core/parking/problems.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace genv::core {

namespace {

bool usesHeld(const EnvironmentRecord& environment, const ObservedProcess& process) {
    return std::ranges::any_of(process.uses, [&](const ComputeUse& use) {
        return environment.attachmentTo(use.device) != nullptr;
    });
}

// Returns the memory of a use; without a figure of the driver, all that is used on the device.
Bytes bytesOf(const ComputeUse& use, const Observation& observation) {
    if (use.usedMemory)
        return *use.usedMemory;
    for (const DeviceSample& sample : observation.devices) {
        if (sample.facts.uuid == use.device)
            return sample.reading.usedMemory.value_or(Bytes{0});
    }
    return Bytes{0};
}

ParkedProcess parkedProcessOf(const ObservedProcess& process, const Observation& observation) {
    ParkedProcess parked{process.facts.identity, process.facts.command, process.facts.uids, {}};
    for (const ComputeUse& use : process.uses)
        parked.uses.push_back({use.device, bytesOf(use, observation)});
    return parked;
}

void requireMovable(const ObservedProcess& process, const ParkedProcess& parked,
                    const EnvironmentRecord& environment, bool multiGpu) {
    const auto refuse = [&](ParkingFault fault) {
        fail(ErrorCode::CannotPark, "{}", describeProblem(ParkingCall::Lock, {fault}, parked));
    };
    if (process.userNamespaceOwner)
        refuse(ParkingFault::Container);
    if (!process.facts.uids.areAll(environment.uid))
        refuse(ParkingFault::Owner);
    std::set<DeviceUuid> devices;
    for (const ParkedUse& use : parked.uses)
        devices.insert(use.device);
    if (devices.size() > 1 && !multiGpu)
        fail(ErrorCode::CannotPark,
             "{} uses {} GPUs, and a process on several GPUs is not parked unless the "
             "administrator permits it (MultiGpu=yes)",
             nameProcess(parked), devices.size());
    for (const DeviceUuid& device : devices) {
        if (environment.attachmentTo(device) == nullptr)
            fail(ErrorCode::CannotPark,
                 "{} also uses a GPU that the environment does not hold; end it first",
                 nameProcess(parked));
    }
}

void requireOneShare(const EnvironmentRecord& environment) {
    for (const DeviceAttachment& attachment : environment.attachments) {
        if (attachment.share != environment.attachments.front().share)
            fail(ErrorCode::CannotPark,
                 "environment {} holds shares of different sizes, which one request cannot get "
                 "again; detach GPUs until all shares are equal",
                 environment.id);
    }
}

} // namespace

void requireParkable(const LedgerView& ledger, const EnvironmentRecord& environment,
                     const ParkingSettings& settings) {
    requireNoJob(environment);
    if (ledger.isOfJob(environment))
        fail(ErrorCode::NotSupported, "Slurm's GPUs are not parked");
    if (!settings.enable)
        fail(ErrorCode::NotSupported,
             "the administrator switched parking off ([Parking] Enable=no in genvd.conf)");
    requireNotParking(environment);
    if (environment.pendingEnd)
        fail(ErrorCode::Busy, "environment {} is just ending", environment.id);
    if (environment.attachments.empty())
        fail(ErrorCode::NotAttached, "environment {} is attached to no device", environment.id);
    if (environment.parent)
        fail(ErrorCode::CannotPark,
             "environment {} is within environment {}, whose GPUs it uses; detach its GPUs instead",
             environment.id, *environment.parent);
    if (!ledger.childrenOf(environment.id).empty())
        fail(ErrorCode::CannotPark,
             "environment {} has environments within it, such as {}; end these first",
             environment.id, ledger.childrenOf(environment.id).front()->id);
    if (!environment.waits.empty())
        fail(ErrorCode::CannotPark, "environment {} waits for more GPUs; cancel that request first",
             environment.id);
    requireOneShare(environment);
}

std::vector<ParkedProcess> processesToPark(const LedgerView& ledger,
                                           const EnvironmentRecord& environment,
                                           const Observation& observation, bool multiGpu) {
    std::vector<ParkedProcess> processes;
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ObservedProcess& process : observation.processes) {
        if (!usesHeld(environment, process) || process.isMpsServer)
            continue;
        const bool isUnread = process.isUnread && process.facts.uids.areAll(environment.uid);
        if (!isUnread && environmentOf(lookup, process) != &environment)
            continue;
        ParkedProcess parked = parkedProcessOf(process, observation);
        if (isUnread)
            fail(ErrorCode::CannotPark, "{} cannot be read; end it first", nameProcess(parked));
        requireMovable(process, parked, environment, multiGpu);
        processes.push_back(std::move(parked));
    }
    return processes;
}

void pinAll(Processes& processes, std::vector<ParkedProcess> wanted, Uid requester,
            std::function<void(std::vector<ParkedProcess>, const std::optional<Error>&)> done) {
    struct Pinning {
        std::vector<ParkedProcess> processes;
        std::size_t missing;
        std::optional<Error> error;
        std::function<void(std::vector<ParkedProcess>, const std::optional<Error>&)> done;
        void settle() {
            if (--missing > 0)
                return;
            std::erase_if(processes, [](const ParkedProcess& p) { return p.pin == nullptr; });
            done(std::move(processes), error);
        }
    };
    const auto pinning =
        std::make_shared<Pinning>(Pinning{std::move(wanted), 0, std::nullopt, std::move(done)});
    const std::size_t count = pinning->processes.size();
    pinning->missing = count + 1; // counts this function itself
    for (std::size_t i = 0; i < count; ++i) {
        const auto answer = [pinning, i](const ProcessRead<PinnedProcess>& read) {
            ParkedProcess& process = pinning->processes[i];
            try {
                const PinnedProcess& pinned = read.get();
                if (pinned.pin->identity() == process.identity)
                    process.pin = pinned.pin;
            } catch (const Error& error) {
                if (error.code() != ErrorCode::NoSuchProcess)
                    pinning->error = error;
            }
            pinning->settle();
        };
        try {
            processes.pin(pinning->processes[i].identity.pid, requester, answer);
        } catch (const Error& error) {
            answer(error);
        }
    }
    pinning->settle();
}

Preparation::Preparation(const LedgerView& ledger, const ParkingPorts& ports,
                         const EnvironmentRecord& environment,
                         std::function<const ParkingSettings&()> settings,
                         std::function<OthersParked()> others, Done done)
    : ledger_(ledger), ports_(ports), id_(environment.id), sequence_(environment.sequence),
      settings_(std::move(settings)), others_(std::move(others)), done_(std::move(done)) {}

const EnvironmentRecord& Preparation::environment() const {
    const EnvironmentRecord* environment = ledger_.find(id_);
    if (environment == nullptr || environment->sequence != sequence_)
        fail(ErrorCode::NoSuchEnvironment, "environment {} ended in the meantime", id_);
    requireParkable(ledger_, *environment, settings_());
    return *environment;
}

// Runs a step. An error ends the preparation.
template <typename Step>
void Preparation::guarded(Step step) {
    try {
        step();
    } catch (const Error& error) {
        done_({}, error);
    }
}

void Preparation::start() {
    ports_.parker.capability([self = shared_from_this()](const ParkingCapability& capability) {
        self->guarded([&] { self->onCapability(capability); });
    });
}

void Preparation::onCapability(const ParkingCapability& capability) {
    if (const std::string problem = capabilityProblem(capability); !problem.empty())
        fail(ErrorCode::CannotPark, "{}", problem);
    ports_.observer.observe(
        std::chrono::milliseconds{0},
        [self = shared_from_this()](const std::shared_ptr<const Observation>& observation,
                                    const std::string& /*failure*/) {
            self->guarded([&] { self->onObserved(observation); });
        });
}

void Preparation::onObserved(const std::shared_ptr<const Observation>& observation) {
    if (!observation || !observation->noDriver.empty())
        fail(ErrorCode::CannotPark, "the GPU driver does not answer; try again later");
    const EnvironmentRecord& now = environment();
    std::vector<DeviceUuid> devices;
    for (const DeviceAttachment& attachment : now.attachments)
        devices.push_back(attachment.device.uuid);
    if (const std::string problem = persistenceProblem(*observation, devices); !problem.empty())
        fail(ErrorCode::CannotPark, "{}", problem);
    pinAll(ports_.processes, processesToPark(ledger_, now, *observation, settings_().multiGpu),
           now.uid,
           [self = shared_from_this()](std::vector<ParkedProcess> processes,
                                       const std::optional<Error>& error) {
               self->guarded([&] {
                   if (error)
                       throw Error(*error);
                   self->onPinned(std::move(processes));
               });
           });
}

void Preparation::onPinned(std::vector<ParkedProcess> processes) {
    processes_ = std::move(processes);
    std::vector<ProcessIdentity> identities;
    for (const ParkedProcess& process : processes_)
        identities.push_back(process.identity);
    ports_.hostMemory.read(identities,
                           [self = shared_from_this()](const HostMemoryReading& reading) {
                               self->guarded([&] { self->onHostMemory(reading); });
                           });
}

void Preparation::onHostMemory(const HostMemoryReading& reading) {
    static_cast<void>(environment()); // throws if it ended, or changed
    const std::string problem = hostMemoryProblem(reading, processes_, others_(), settings_());
    if (!problem.empty())
        fail(ErrorCode::NoHostMemory, "{}", problem);
    done_(processes_, std::nullopt);
}

} // namespace genv::core
