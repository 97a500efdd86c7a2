// SPDX-License-Identifier: LGPL-2.1-or-later
// Dictionaries of variants, read without an object for each value.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace genv::jobs {

/// Reads a dictionary a{sv}, as far as its values are texts, numbers or lists
/// of numbers.
class ReadVariants {
  public:
    /// Throws sdbus::Error.
    explicit ReadVariants(dbus::raw::Reader& reader);

    [[nodiscard]] std::string text(const char* key) const;                ///< "" if it is absent
    [[nodiscard]] std::uint64_t number(const char* key) const;            ///< 0 if it is absent
    [[nodiscard]] std::vector<std::uint32_t> list(const char* key) const; ///< empty if it is absent

  private:
    void readValue(dbus::raw::Reader& reader, const std::string& key);

    std::map<std::string, std::string> texts_;
    std::map<std::string, std::uint64_t> numbers_;
    std::map<std::string, std::vector<std::uint32_t>> lists_;
};

} // namespace genv::jobs
