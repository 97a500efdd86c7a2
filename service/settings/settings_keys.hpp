// SPDX-License-Identifier: LGPL-2.1-or-later
// The sections and keys that genvd.conf may hold, and how their values are read. genvd.conf(5)
// documents every one; a test holds the two against each other.
#pragma once

#include "core/settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// A section of genvd.conf.
class Section {
  public:
    enum class Kind { Gpu, Enforcement, Queue, Isolation, Slurm, Limits, User, Group };

    Section(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}

    /// Its keys, in the order in which they are documented.
    [[nodiscard]] std::vector<std::string_view> keys() const;
    [[nodiscard]] bool knows(std::string_view key) const;
    /// Takes over a value of a known key. Throws core::Error(InvalidArgs) that says what would be
    /// right.
    void read(std::string_view key, const std::string& value, core::Settings& settings) const;

    /// The value of a key as a file may have it; empty where it is unset.
    [[nodiscard]] std::string write(std::string_view key, const core::Settings& settings) const;

    /// Whether its values are lists of words.
    [[nodiscard]] bool separatesByBlanks() const { return kind_ == Kind::Isolation; }

  private:
    Kind kind_;
    std::string name_; ///< of the user or group
};

/// The section with this heading, such as "Limits" or "User alice"; nothing for any other.
std::optional<Section> findSection(std::string_view heading);

/// What differs, each as `Key=value` with the new value, which is empty where there is none any
/// more; `User.NAME.Key=value` and `Group.NAME.Key=value` in the sections of users and groups.
std::vector<std::string> settingsChanged(const core::Settings& before, const core::Settings& after);

} // namespace genv::service
