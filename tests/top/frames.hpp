// SPDX-License-Identifier: LGPL-2.1-or-later
// Made-up frames.
#pragma once

#include "client/top/frame.hpp"
#include "client/top/page.hpp"

#include <string>
#include <vector>

namespace genv::top::tests {

inline constexpr std::uint32_t aliceUid = 1000;
inline constexpr std::uint32_t bobUid = 1001;

/// A machine with so many GPUs, seen by alice: GPUs 0 and 4, 8... are hers, 1, 5... are bob's, the
/// others are free; a process on each GPU that is held, one of dave's outside genv on GPU 2 of
/// those that have one, and two people who wait.
Frame frameWith(std::uint32_t gpus);

/// The text of the lines, without styles.
std::vector<std::string> textOf(const std::vector<PageLine>& lines);
std::string joined(const std::vector<PageLine>& lines);

} // namespace genv::top::tests
