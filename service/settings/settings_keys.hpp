// SPDX-License-Identifier: LGPL-2.1-or-later
// The valid sections and keys of genvd.conf, and the parsers of their values. genvd.conf(5)
// documents all of them; a test compares the two.
#pragma once

#include "core/settings/settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// A section of genvd.conf.
class Section {
  public:
    enum class Kind { Gpu, Enforcement, Queue, Isolation, Slurm, Parking, Limits, User, Group };

    Section(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}

    /// Returns the keys of the section, in the order of their documentation.
    [[nodiscard]] std::vector<std::string_view> keys() const;
    [[nodiscard]] bool has(std::string_view key) const;
    /// Parses the value of a known key into `settings`. Throws core::Error(InvalidArgs), which
    /// names the valid values.
    void read(std::string_view key, const std::string& value, core::Settings& settings) const;

    /// Returns the value of a key as it may be written in a file; empty if it is unset.
    [[nodiscard]] std::string write(std::string_view key, const core::Settings& settings) const;

    /// Returns whether the values are lists of words.
    [[nodiscard]] bool separatesByBlanks() const { return kind_ == Kind::Isolation; }

  private:
    Kind kind_;
    std::string name_; ///< of the user or group
};

/// Returns the section with this heading, such as "Limits" or "User alice", or nothing if the
/// heading is unknown.
std::optional<Section> findSection(std::string_view heading);

/// Returns the differences, each as `Key=value` with the new value, which is empty if the key was
/// unset. In sections of users and groups, the key is written as `User.NAME.Key=value` and
/// `Group.NAME.Key=value`.
std::vector<std::string> settingsChanged(const core::Settings& before, const core::Settings& after);

} // namespace genv::service
