// SPDX-License-Identifier: LGPL-2.1-or-later
// The advice for a user whose process or device a rule has taken. Header-only, because genv-watch
// uses no library.
#pragma once

#include <string_view>

namespace genv::core {

/// Returns how to avoid further actions of a rule, without a full stop. A rule that is not listed
/// here enforces a limit on the user.
constexpr std::string_view adviceOnRule(std::string_view rule) {
    if (rule == "non-env-processes")
        return "Run the program in an environment: \"genvctl run --gpus 1 -- COMMAND\"";
    if (rule == "env-devices")
        return "Use only the GPUs in CUDA_VISIBLE_DEVICES; \"genv attach\" attaches another";
    if (rule == "env-memory")
        return "Use less GPU memory, or take a larger share with --gpu-memory";
    return "\"genvctl limits\" shows your limits";
}

} // namespace genv::core
