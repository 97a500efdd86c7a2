// SPDX-License-Identifier: LGPL-2.1-or-later
// What Parkings learns from a sample: whether the listed processes are all, before their memory
// moves, and whether there is room, before it moves back.
#include "core/parking/parkings.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

/// How often the processes are listed again before parking gives up.
constexpr int maxListings = 8;

} // namespace

void Parkings::look(const EnvironmentId& id, Move& move) {
    move.isLooking = true;
    ports_.observer.observe(
        std::chrono::milliseconds{0},
        [this, lives = std::weak_ptr(alive_), id, sequence = move.sequence](
            const std::shared_ptr<const Observation>& observation, const std::string& /*failure*/) {
            if (!lives.expired())
                looked(id, sequence, observation);
        });
}

void Parkings::looked(const EnvironmentId& id, std::uint64_t sequence,
                      const std::shared_ptr<const Observation>& observation) {
    Move* move = moveOf(id, sequence);
    if (move == nullptr)
        return;
    move->isLooking = false;
    if (!observation || !observation->noDriver.empty()) {
        move->movement.turnBack("the GPU driver does not answer; try again later");
        wake(id, *move, roomInterval);
        return;
    }
    if (move->movement.needsListing()) {
        tryTo(*move, [&] { list(id, *move, *observation); });
    } else {
        move->seen = observation;
    }
    advanceSoon(id);
}

// Runs a step towards Goal::Park. An error turns the movement back.
template <typename Step>
void Parkings::tryTo(Move& move, Step step) {
    try {
        step();
    } catch (const Error& error) {
        move.isLooking = false;
        move.movement.turnBack(error.what());
    }
}

// All processes are locked. Lists them once more, with the memory that they have by now.
void Parkings::list(const EnvironmentId& id, Move& move, const Observation& observation) {
    if (++move.listings > maxListings)
        fail(ErrorCode::CannotPark, "new processes keep starting on its GPUs; try again later");
    const EnvironmentRecord& environment = ledger_.get(id);
    auto processes = processesToPark(ledger_, environment, observation, rules_.settings().multiGpu);
    // A process that the driver does not list any more is parked all the same: it is locked.
    for (const ParkedProcess& known : environment.parking->processes) {
        if (std::ranges::find(processes, known.identity, &ParkedProcess::identity) ==
            processes.end())
            processes.push_back(known);
    }
    move.isLooking = true;
    pinAll(ports_.processes, std::move(processes), environment.uid,
           [this, lives = std::weak_ptr(alive_), id, sequence = move.sequence](
               std::vector<ParkedProcess> pinned, const std::optional<Error>& error) {
               if (!lives.expired())
                   listed(id, sequence, std::move(pinned), error);
           });
}

void Parkings::listed(const EnvironmentId& id, std::uint64_t sequence,
                      std::vector<ParkedProcess> processes, const std::optional<Error>& error) {
    Move* move = moveOf(id, sequence);
    if (move == nullptr)
        return;
    tryTo(*move, [&] {
        if (error)
            throw Error(*error);
        std::vector<ProcessIdentity> identities;
        for (const ParkedProcess& process : processes)
            identities.push_back(process.identity);
        ports_.hostMemory.read(identities, [this, lives = std::weak_ptr(alive_), id, sequence,
                                            processes](const HostMemoryReading& reading) {
            if (!lives.expired())
                checkMemory(id, sequence, processes, reading);
        });
    });
    advanceSoon(id);
}

void Parkings::checkMemory(const EnvironmentId& id, std::uint64_t sequence,
                           const std::vector<ParkedProcess>& processes,
                           const HostMemoryReading& reading) {
    Move* move = moveOf(id, sequence);
    if (move == nullptr)
        return;
    move->isLooking = false;
    advanceSoon(id);
    if (move->movement.goal() != Movement::Goal::Park)
        return;
    tryTo(*move, [&] {
        const EnvironmentRecord& environment = ledger_.get(id);
        const std::string problem = hostMemoryProblem(
            reading, processes, othersThan(id, environment.uid), rules_.settings());
        if (!problem.empty())
            fail(ErrorCode::NoHostMemory, "{}", problem);
        const bool hasNewcomers = std::ranges::any_of(processes, [&](const ParkedProcess& process) {
            return !move->movement.has(process.identity);
        });
        ledger_.setParked(id, processes);
        for (const ParkedProcess& process : processes)
            move->movement.update(process);
        if (!hasNewcomers)
            move->movement.listed();
    });
}

} // namespace genv::core
