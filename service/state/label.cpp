// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/state/label.hpp"

#include <systemd/sd-bus.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace genv::service {

std::string labelOf(const core::EnvironmentId& id) {
    char* encoded = nullptr;
    if (sd_bus_path_encode("/", id.c_str(), &encoded) < 0)
        throw std::bad_alloc(); // the prefix is valid, so there is no other failure
    const std::unique_ptr<char, decltype(&std::free)> path(encoded, &std::free);
    return path.get() + 1;
}

} // namespace genv::service
