// SPDX-License-Identifier: LGPL-2.1-or-later
// What somebody asks for who wants devices.
#pragma once

#include "core/bytes.hpp"
#include "core/device.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::core {

/// N devices, whichever are best; with a model, N of that model. What is attached already counts,
/// and stays where it is more, unless the count is `exact`: then the newest ones are detached.
struct CountWanted {
    std::uint32_t count = 0;
    bool exact = false;
    friend bool operator==(const CountWanted&, const CountWanted&) = default;
};

/// These devices, beside what is attached.
struct IndicesWanted {
    std::vector<DeviceIndex> indices;
    friend bool operator==(const IndicesWanted&, const IndicesWanted&) = default;
};

/// The same, by their UUIDs, which stay while indices may move.
struct UuidsWanted {
    std::vector<DeviceUuid> uuids;
    friend bool operator==(const UuidsWanted&, const UuidsWanted&) = default;
};

/// What an Attach asks for.
struct AttachRequest {
    std::variant<CountWanted, IndicesWanted, UuidsWanted> wanted;
    std::optional<std::string> model; ///< part of the model's name, in any case
    std::optional<Bytes> share;       ///< of each device's memory; unset: whole devices
    bool overSubscribe = false;       ///< also devices that others hold

    friend bool operator==(const AttachRequest&, const AttachRequest&) = default;
};

} // namespace genv::core
