// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the kernel ended a process of this unit because the unit used more memory than its limit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace genv::jobs {

/// Returns the folder of this process's control group in the unified hierarchy; empty if there is
/// none.
[[nodiscard]] std::filesystem::path ownControlGroup();
/// Returns whether memory.events of a control group counts such a process. False if it cannot be
/// read, as on machines where another hierarchy has the memory controller.
[[nodiscard]] bool hasRunOutOfMemory(const std::filesystem::path& group);

} // namespace genv::jobs
