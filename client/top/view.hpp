// SPDX-License-Identifier: LGPL-2.1-or-later
// Which rows of a frame are shown and in which order.
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

    [[nodiscard]] std::vector<Item> items() const;
};

View viewOf(const Frame& frame, const Choice& choice);

/// The row that is selected: what was chosen while it is there, else the first; nothing where there
/// are none.
std::optional<Item> selectedItem(const View& view, const Choice& choice);

Item itemOf(const Gpu& gpu);
Item itemOf(const Process& process);
Item itemOf(const Waiter& waiter);

/// A process on this GPU that belongs to no environment; null: there is none.
const Process* outsiderOn(const Frame& frame, const Gpu& gpu);
/// Returns whether such a process, or memory that no process accounts for, is on this GPU.
bool isUsedOutside(const Frame& frame, const Gpu& gpu);

/// The holder that stands in a GPU's row: one's own before others, and the oldest of these; null:
/// nobody holds it.
const Holder* firstHolder(const Frame& frame, const Gpu& gpu);

} // namespace genv::top
