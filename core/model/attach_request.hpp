// SPDX-License-Identifier: LGPL-2.1-or-later
// The request for devices: a number of devices, or named devices.
#pragma once

#include "core/base/bytes.hpp"
#include "core/model/device.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::core {

/// Any N devices, the best ones first; with a model, N devices of that model. Attached devices
/// count towards N. Surplus devices stay attached, unless the count is `exact`: then the newest
/// ones are detached.
struct CountWanted {
    std::uint32_t count = 0;
    bool exact = false;
    friend bool operator==(const CountWanted&, const CountWanted&) = default;
};

/// These devices, in addition to the attached ones.
struct IndicesWanted {
    std::vector<DeviceIndex> indices;
    friend bool operator==(const IndicesWanted&, const IndicesWanted&) = default;
};

/// These devices by UUID, in addition to the attached ones. UUIDs are stable; indices may change.
struct UuidsWanted {
    std::vector<DeviceUuid> uuids;
    friend bool operator==(const UuidsWanted&, const UuidsWanted&) = default;
};

/// The arguments of an Attach request.
struct AttachRequest {
    std::variant<CountWanted, IndicesWanted, UuidsWanted> wanted;
    std::optional<std::string> model; ///< part of the model's name, case-insensitive
    std::optional<Bytes> share;       ///< of each device's memory; unset: whole devices
    bool overSubscribe = false;       ///< may also take devices that others hold

    friend bool operator==(const AttachRequest&, const AttachRequest&) = default;
};

} // namespace genv::core
