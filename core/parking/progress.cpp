// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of the memory of an environment has moved.
#include "core/parking/parkings.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

/// How often the progress of a call is read.
constexpr std::chrono::milliseconds progressInterval{500};

Bytes difference(Bytes a, Bytes b) {
    return a > b ? a - b : b - a;
}

} // namespace

void Parkings::pollProgress(const EnvironmentId& id, Move& move) {
    move.progressTimer.reset();
    const std::vector<ProcessIdentity> moving = move.movement.moving();
    if (moving.empty())
        return;
    ports_.hostMemory.read(moving, [this, lives = std::weak_ptr(alive_), id,
                                    sequence = move.sequence](const HostMemoryReading& reading) {
        if (!lives.expired())
            progressed(id, sequence, reading);
    });
    move.progressTimer = scheduler_.after(progressInterval, [this, id, &move] {
        scheduler_.soon([this, id, sequence = move.sequence] {
            if (Move* now = moveOf(id, sequence))
                pollProgress(id, *now);
        });
    });
}

// The driver does not tell how far a call is. The resident memory of its process does.
void Parkings::progressed(const EnvironmentId& id, std::uint64_t sequence,
                          const HostMemoryReading& reading) {
    Move* move = moveOf(id, sequence);
    if (move == nullptr)
        return;
    Bytes partly{0};
    for (const ProcessIdentity& process : move->movement.moving()) {
        const auto resident = reading.resident.find(process);
        const ParkedProcess* parked = ledger_.get(id).parking->find(process);
        if (resident == reading.resident.end() || parked == nullptr)
            continue;
        const Bytes before = move->resident.try_emplace(process, resident->second).first->second;
        partly = partly + std::min(difference(resident->second, before), parked->bytes());
    }
    if (std::exchange(move->partly, partly) != partly)
        events_.emit(EnvironmentChanged{id, EnvironmentField::ParkingProgress});
}

std::pair<Bytes, Bytes> Parkings::progress(const EnvironmentId& id) const {
    const auto found = moves_.find(id);
    if (found == moves_.end())
        return {};
    const Move& move = *found->second;
    const Bytes total = move.movement.total();
    const Bytes moved = move.movement.moved();
    const Bytes done = move.movement.goal() == Movement::Goal::Park ? moved : total - moved;
    return {std::min(done + move.partly, total), total};
}

} // namespace genv::core
