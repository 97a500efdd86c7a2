// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses a command line of nvidia-smi as far as its output depends on it. Never guesses: an unknown
// command line is Mode::Other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

enum class Mode {
    Table,              ///< no mode option
    List,               ///< -L
    QueryText,          ///< -q
    QueryXml,           ///< -q -x
    QueryGpu,           ///< --query-gpu
    QueryComputeApps,   ///< --query-compute-apps
    QueryAccountedApps, ///< --query-accounted-apps
    QueryOther,         ///< another --query-...: clocks, retired pages
    ProcessMonitor,     ///< pmon
    DeviceMonitor,      ///< dmon
    Information,        ///< help or versions; no data of any GPU
    Change,             ///< an option that changes GPU settings and shows nothing
    Subcommand,         ///< a subcommand that is not listed above
    Other,
};

struct Arguments {
    Mode mode = Mode::Table;
    std::vector<std::string> words;  ///< as given, without -i and its value
    std::optional<std::string> id;   ///< the value of -i
    bool isShortId = false;          ///< the option was -i, not --id: the tool's errors repeat it
    std::vector<std::string> fields; ///< of a CSV query, as they will be printed
    std::size_t fieldsWord = 0;      ///< index of the word that holds the fields
    std::size_t fieldsAt = 0;        ///< offset of the fields in that word
    bool addedField = false;         ///< the last field was not requested by the user
    bool noHeader = false;
    bool hasDisplay = false;         ///< -d: only some sections of -q
    std::optional<std::string> file; ///< -f: the file that the real nvidia-smi writes

    [[nodiscard]] bool isCsv() const;
    /// Returns whether the mode accepts -i with several GPUs.
    [[nodiscard]] bool takesId() const;
    /// Adds a field at the end of a CSV query.
    void addField(const std::string& field);
    [[nodiscard]] bool hasField(std::string_view name) const;
    /// Returns the command line for the real nvidia-smi, restricted to these UUIDs if there are
    /// any.
    [[nodiscard]] std::vector<std::string> forReal(const std::vector<std::string>& uuids) const;
};

Arguments parseArguments(const std::vector<std::string>& given);

} // namespace genv::shims::nvidia_smi
