// SPDX-License-Identifier: LGPL-2.1-or-later
// Artificial frames for the tests.
#pragma once

#include "client/top/frame.hpp"
#include "client/top/page.hpp"

#include <string>
#include <vector>

namespace genv::top::tests {

inline constexpr std::uint32_t aliceUid = 1000;
inline constexpr std::uint32_t bobUid = 1001;

/// Returns the frame of a machine with this number of GPUs, as alice sees it: GPUs 0 and 4, 8...
/// are hers, 1, 5... are bob's, the others are free. Each held GPU has a process, and GPU 2, if it
/// exists, has one of dave's outside genv. Two users wait.
Frame frameWith(std::uint32_t gpus);

/// Returns jobs 1 to `count` of alice: each third has ended, each third runs, and the others wait.
/// Job 2 is an array in which tasks failed.
/// Returns environment 9000 + `number`, which gave up GPUs 2 and 3.
Parked parkedOf(std::uint32_t number, std::uint32_t uid);
JobRows jobsWith(std::uint32_t count);

/// Returns the text of the lines, without styles.
std::vector<std::string> textOf(const std::vector<PageLine>& lines);
std::string joined(const std::vector<PageLine>& lines);

} // namespace genv::top::tests
