// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the part of Slurm's configuration that genv needs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::doctor {

/// A file such as slurm.conf with its includes. Keys are case-insensitive. If a key appears several
/// times, the last value counts.
class SlurmConfiguration {
  public:
    /// Reads a file. Returns nullopt if the user cannot read it.
    static std::optional<SlurmConfiguration> read(const std::filesystem::path& file);

    /// Returns the value of a key, or an empty text if it is missing.
    [[nodiscard]] std::string value(std::string_view key) const;
    /// Whether the value of a key is a list that contains a word.
    [[nodiscard]] bool has(std::string_view key, std::string_view word) const;
    /// Whether the file defines GPUs for a node: Gres=gpu in a node line, or a line with Name=gpu.
    [[nodiscard]] bool hasGpus() const { return hasGpus_; }

  private:
    void add(const std::filesystem::path& file, int depth);
    void addLine(const std::filesystem::path& folder, std::string_view line, int depth);

    std::map<std::string, std::string> values_; ///< by key in lower case
    bool hasGpus_ = false;
};

} // namespace genv::ctl::doctor
