// SPDX-License-Identifier: LGPL-2.1-or-later
// What reads: every read method of the interface, the properties and GetManagedObjects.
#pragma once

#include "bench/bus/scene.hpp"

namespace genv::bench {

/// What an answer holds, which says how its time may grow.
enum class Holds {
    Fixed,        ///< the same, however many there are
    Devices,      ///< a row for each device
    Environments, ///< a row for each environment
    Both,
    Journal, ///< what the journal has, which grows by itself
};

struct Read {
    Operation operation;
    Holds holds = Holds::Fixed;
};

/// All of them, asked by root in a scene with at least one environment.
std::vector<Read> readsIn(Scene& scene);

} // namespace genv::bench
