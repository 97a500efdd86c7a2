// SPDX-License-Identifier: LGPL-2.1-or-later
// What a command line of nvidia-smi asks for, as far as its output depends on it. What is not known
// here is never guessed at: it is Mode::Other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

enum class Mode {
    Table,              ///< no mode at all
    List,               ///< -L
    QueryText,          ///< -q
    QueryXml,           ///< -q -x
    QueryGpu,           ///< --query-gpu
    QueryComputeApps,   ///< --query-compute-apps
    QueryAccountedApps, ///< --query-accounted-apps
    QueryOther,         ///< another --query-...: clocks, retired pages
    ProcessMonitor,     ///< pmon
    DeviceMonitor,      ///< dmon
    Information,        ///< help, versions: nothing of any GPU
    Change,             ///< an option that changes something of the GPUs and shows nothing
    Subcommand,         ///< one that is not named above
    Other,
};

struct Arguments {
    Mode mode = Mode::Table;
    std::vector<std::string> words;  ///< as given, without -i and its value
    std::optional<std::string> id;   ///< the value of -i
    std::vector<std::string> fields; ///< of a query for CSV, as it will print them
    std::size_t fieldsWord = 0;      ///< which word holds the fields
    std::size_t fieldsAt = 0;        ///< and from which byte of it
    bool addedField = false;         ///< the last field is not the person's
    bool noHeader = false;
    bool hasDisplay = false;         ///< -d: only some sections of -q
    std::optional<std::string> file; ///< -f: where the real nvidia-smi writes itself

    [[nodiscard]] bool isCsv() const;
    /// Whether the mode takes -i, with several GPUs.
    [[nodiscard]] bool takesId() const;
    /// Adds a field at the end of a query for CSV.
    void addField(const std::string& field);
    [[nodiscard]] bool hasField(std::string_view name) const;
    /// The command line for the real nvidia-smi, for these UUIDs where there are any.
    [[nodiscard]] std::vector<std::string> forReal(const std::vector<std::string>& uuids) const;
};

Arguments parseArguments(const std::vector<std::string>& given);

} // namespace genv::shims::nvidia_smi
