// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of Slurm's configuration, as far as genv has a use for them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::doctor {

/// A file such as slurm.conf, with what it includes. Keys are the same in either case; of a key
/// that is there several times the last one counts.
class SlurmConfiguration {
  public:
    /// Reads a file; nullopt if this user cannot read it.
    static std::optional<SlurmConfiguration> read(const std::filesystem::path& file);

    /// Empty where the key is not there.
    [[nodiscard]] std::string value(std::string_view key) const;
    /// Whether a value, which is a list, has a word.
    [[nodiscard]] bool has(std::string_view key, std::string_view word) const;
    /// Whether it gives a node GPUs: Gres=gpu in a line of a node, or a line Name=gpu.
    [[nodiscard]] bool hasGpus() const { return hasGpus_; }

  private:
    void add(const std::filesystem::path& file, int depth);
    void addLine(const std::filesystem::path& folder, std::string_view line, int depth);

    std::map<std::string, std::string> values_; ///< by key in lower case
    bool hasGpus_ = false;
};

} // namespace genv::ctl::doctor
