// SPDX-License-Identifier: LGPL-2.1-or-later
// The things with their tables of keys, in the order of the page json-keys.md.
#pragma once

#include "client/genvctl/objects/device.hpp"
#include "client/genvctl/objects/environment.hpp"
#include "client/genvctl/objects/event.hpp"
#include "client/genvctl/objects/job.hpp"
#include "client/genvctl/objects/process.hpp"
#include "client/genvctl/objects/wait.hpp"

#include <span>

namespace genv::ctl::schema {

struct Thing {
    std::string_view name;
    std::span<const Key> keys;
};

inline constexpr std::array things{Thing{"device", device},
                                   Thing{"attachment", attachment},
                                   Thing{"environment", environment},
                                   Thing{"process", process},
                                   Thing{"wait", wait},
                                   Thing{"quota", quota},
                                   Thing{"taking", taking},
                                   Thing{"event", event},
                                   Thing{"job", job},
                                   Thing{"task", task},
                                   Thing{"dependency", dependency}};

} // namespace genv::ctl::schema
