// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of the benchmark. Each starts its own services and prints its figures.
#pragma once

#include "bench/bus/scene.hpp"

namespace genv::bench {

/// Measures read operations with services of several sizes, and their growth with the size.
void measureReads(const Plan& plan);
/// Measures changes as root, which need no authorization.
void measureChanges(const Plan& plan);
/// Measures calls that polkit must authorize.
void measureAuthorization(const Plan& plan);
/// Measures a cycle of the rules, by the number of compute processes.
void measureEnforcement(const Plan& plan);
/// Measures how soon the devices of an ended environment are free.
void measureEndings(const Plan& plan);
/// Measures a start with existing state, and the memory for that state.
void measureStart(const Plan& plan);
/// Measures how often the service wakes up without requests.
void measureIdleness(const Plan& plan);
/// Measures how long a change takes to reach all listeners.
void measureListeners(const Plan& plan);

} // namespace genv::bench
