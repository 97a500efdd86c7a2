// SPDX-License-Identifier: LGPL-2.1-or-later
// The read operations: all read methods of the interface, the properties and GetManagedObjects.
#pragma once

#include "bench/bus/scene.hpp"

namespace genv::bench {

/// The contents of a reply, which determine how its time may grow.
enum class Holds {
    Fixed,        ///< independent of the number of objects
    Devices,      ///< one row for each device
    Environments, ///< one row for each environment
    Both,
    Journal, ///< the contents of the journal, which grows by itself
};

struct Read {
    Operation operation;
    Holds holds = Holds::Fixed;
};

/// Returns all read operations, executed by root in a scene with at least one environment.
std::vector<Read> readsIn(Scene& scene);

} // namespace genv::bench
