// SPDX-License-Identifier: LGPL-2.1-or-later
// The shown rows of a frame, and their order.
#pragma once

#include "client/top/choice.hpp"
#include "client/top/frame.hpp"

#include <optional>
#include <vector>

namespace genv::top {

/// Pointers into a frame, which must outlive it.
struct View {
    std::vector<const Gpu*> gpus;
    std::vector<const Process*> processes;
    std::vector<const Waiter*> waiters;
    std::vector<const Parked*> parked;

    [[nodiscard]] std::vector<Item> items() const;
};

View viewOf(const Frame& frame, const Choice& choice);

/// Returns the selected row: the chosen one if it exists, or else the first. Returns nothing if
/// there are no rows.
std::optional<Item> selectedItem(const View& view, const Choice& choice);

Item itemOf(const Gpu& gpu);
Item itemOf(const Process& process);
Item itemOf(const Waiter& waiter);
Item itemOf(const Parked& parked);

/// Returns a process on this GPU that belongs to no environment, or null.
const Process* outsiderOn(const Frame& frame, const Gpu& gpu);
/// Returns whether such a process, or memory that no process accounts for, is on this GPU.
bool isUsedOutside(const Frame& frame, const Gpu& gpu);

/// Returns the holder that is shown in a GPU's row: the user's own before others, and the oldest of
/// these. Returns null if nobody holds the GPU.
const GpuHolder* firstHolder(const Frame& frame, const Gpu& gpu);

} // namespace genv::top
