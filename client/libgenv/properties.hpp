// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of the service's objects, and rows of details, as replies carry them. There may be
// thousands of them, and sdbus-c++ would make a message of its own for the variant of each.
#pragma once

#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace genv::client {

/// Attachments of a device: environment, share, start.
using BusAttachments = std::vector<sdbus::Struct<std::string, std::uint64_t, std::uint64_t>>;
/// Devices of an environment: index, end of the lease.
using BusAttached = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t>>;
/// Devices of a process: index, used memory, utilisation.
using BusUses = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t, std::uint32_t>>;

/// The progress of a parking: moved bytes, bytes to move.
using BusProgress = sdbus::Struct<std::uint64_t, std::uint64_t>;

/// A value of a property.
class Value {
  public:
    using Held = std::variant<std::string, std::uint64_t, std::uint32_t, std::int32_t, bool,
                              std::vector<std::uint32_t>, std::vector<std::string>, BusAttachments,
                              BusAttached, BusUses, BusProgress>;

    Value() = default;
    explicit Value(Held held) : held_(std::move(held)) {}

    /// Throws sdbus::Error if it has another type.
    template <typename Wanted>
    [[nodiscard]] const Wanted& get() const {
        if (const auto* value = std::get_if<Wanted>(&held_))
            return *value;
        throw dbus::compat::makeError(dbus::contract::error::failed,
                                      "the service's answer has a value of another type");
    }

  private:
    Held held_;
};

/// Properties by their names, without those whose type no caller reads. An object has so few of
/// them that a list needs no order.
class Properties {
  public:
    using Entry = std::pair<std::string, Value>;

    Properties() = default;
    Properties(std::initializer_list<Entry> entries) : entries_(entries) {}

    void reserve(std::size_t count) { entries_.reserve(count); }
    void add(std::string_view name, Value value) { entries_.emplace_back(name, std::move(value)); }
    [[nodiscard]] auto find(std::string_view name) const {
        return std::ranges::find(entries_, name, &Entry::first);
    }
    [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
    [[nodiscard]] auto end() const noexcept { return entries_.end(); }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  private:
    std::vector<Entry> entries_;
};

/// The reply of GetManagedObjects: path, interface, property.
using ManagedObjects = std::map<std::string, std::map<std::string, Properties, std::less<>>>;

/// Read a reply of the type a{oa{sa{sv}}}, a{sv} or aa{sv}. Throw sdbus::Error if it has another
/// type.
ManagedObjects readManagedObjects(const sdbus::Message& reply);
Properties readProperties(const sdbus::Message& reply);
std::vector<Properties> readRows(const sdbus::Message& reply);

} // namespace genv::client
