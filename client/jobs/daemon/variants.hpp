// SPDX-License-Identifier: LGPL-2.1-or-later
// Dictionaries of variants in messages of sd-bus.
#pragma once

#include "client/jobs/daemon/request.hpp"

#include <systemd/sd-bus.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace genv::jobs {

/// Appends the entries of a dictionary whose values have the types of a request's options. Throws
/// std::system_error.
void appendEntries(sd_bus_message* message, const Dictionary& values);

/// Reads a dictionary a{sv} from a message, as far as its values are texts, numbers or lists
/// of numbers.
class ReadVariants {
  public:
    /// Throws std::system_error.
    explicit ReadVariants(sd_bus_message* message);

    [[nodiscard]] std::string text(const char* key) const;                ///< "" if it is absent
    [[nodiscard]] std::uint64_t number(const char* key) const;            ///< 0 if it is absent
    [[nodiscard]] std::vector<std::uint32_t> list(const char* key) const; ///< empty if it is absent

  private:
    void readValue(sd_bus_message* message, const char* key);

    std::map<std::string, std::string> texts_;
    std::map<std::string, std::uint64_t> numbers_;
    std::map<std::string, std::vector<std::uint32_t>> lists_;
};

} // namespace genv::jobs
