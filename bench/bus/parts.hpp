// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of the bench, each of which starts services of its own and prints its figures.
#pragma once

#include "bench/bus/scene.hpp"

namespace genv::bench {

/// What reads, in services of several sizes; and how that grows with the size.
void measureReads(const Plan& plan);
/// What changes something, as root, which nobody is asked about.
void measureChanges(const Plan& plan);
/// What polkit is asked about.
void measureAuthorization(const Plan& plan);
/// A cycle of the rules, by the number of compute processes.
void measureEnforcement(const Plan& plan);
/// How soon the devices of an environment are free that has ended.
void measureEndings(const Plan& plan);
/// A start with state, and the memory that the state takes.
void measureStart(const Plan& plan);
/// How often the service wakes up when nobody asks for anything.
void measureIdleness(const Plan& plan);
/// How long a change takes until everybody has heard of it.
void measureListeners(const Plan& plan);

} // namespace genv::bench
