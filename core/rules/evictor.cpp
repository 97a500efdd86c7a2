// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/evictor.hpp"

#include "core/ledger/membership.hpp"
#include "core/sentences/sentences.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

void Evictor::onEvent(const Event& event) {
    const auto* detached = std::get_if<Detached>(&event);
    if (detached == nullptr || !detached->cause.endsProcesses || isEndedBySlurm(*detached))
        return;
    if (pending_.empty())
        scheduler_.soon([this] { begin(); });
    pending_.push_back({std::make_shared<const EnvironmentRecord>(*detached->former),
                        detached->attachment.device, detached->cause});
}

// Only Slurm ends the processes of a job, including those in child environments that lose devices
// together with the job.
bool Evictor::isEndedBySlurm(const Detached& detached) const {
    return detached.former->job ||
           (detached.cause.reason == Reason::job() && ledger_.isOfJob(*detached.former));
}

void Evictor::begin() {
    ++samples_;
    observer_.observe(
        std::chrono::milliseconds{0},
        [this, batch = std::exchange(pending_, {})](
            const std::shared_ptr<const Observation>& observation, const std::string& failure) {
            --samples_;
            if (observation)
                carryOut(batch, *observation);
            else
                log_.warning("the processes on {} could not be ended: {}",
                             counted(batch.size(), "detached device"), failure);
        });
}

void Evictor::carryOut(const Batch& batch, const Observation& observation) {
    for (const Eviction& eviction : batch) {
        const EnvironmentLookup lookup = lookupIn(ledger_, *eviction.former);
        for (const ObservedProcess& process : observation.processes) {
            const bool uses =
                std::any_of(process.uses.begin(), process.uses.end(), [&](const ComputeUse& use) {
                    return use.device == eviction.device.uuid;
                });
            if (!uses || environmentOf(lookup, process) != eviction.former.get())
                continue;
            terminator_.terminate({process.facts,
                                   process.user(),
                                   {eviction.device.uuid},
                                   eviction.former->id,
                                   eviction.cause},
                                  [](TerminationOutcome) {});
        }
    }
}

} // namespace genv::core
