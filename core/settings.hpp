// SPDX-License-Identifier: LGPL-2.1-or-later
// What an administrator may set, with its defaults. Reading it from files is the service's.
#pragma once

#include <chrono>

namespace genv::core {

/// Which source of GPUs is used.
enum class Backend {
    Auto, ///< the simulated one where GENV_MOCK_DEVICE_COUNT or GENV_DEVICES is set, else NVML
    Nvml,
    Simulated,
};

struct Settings {
    Backend backend = Backend::Auto;             ///< takes effect at start only
    std::chrono::milliseconds interval{10'000};  ///< how often the GPUs are looked at
    std::chrono::milliseconds killAfter{10'000}; ///< from SIGTERM to SIGKILL

    friend bool operator==(const Settings&, const Settings&) = default;
};

} // namespace genv::core
