// SPDX-License-Identifier: LGPL-2.1-or-later
// Replaces what identifies a machine or its people in a recording: UUIDs, serial numbers and other
// ids of boards, the host's name, and the names of processes. Each gets one replacement in all
// files, of the same length, so that tables keep their form. Replacing the replacements changes
// nothing, and therefore a replayed machine can be recorded again.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::recording {

class Anonymizer {
  public:
    /// `host` is the machine's name, or empty if it is not to be replaced.
    explicit Anonymizer(std::string host) : host_(std::move(host)) {}

    /// Learns the serial numbers and processes that NVML named. To be called before the rest.
    void learn(const nlohmann::json& answers);
    /// Learns the ids and processes in an output of nvidia-smi.
    void learnOutput(std::string_view text);

    nlohmann::json replacedAnswers(const nlohmann::json& answers);
    std::string replacedText(std::string_view text);

    /// Returns an original that is still in a text, or nothing.
    [[nodiscard]] std::optional<std::string> findOriginal(std::string_view text) const;

  private:
    struct Name {
        std::string original;
        std::string replacement;
    };

    void learnName(const std::string& pid, const std::string& name);
    void learnIds(const std::string& line);
    void learnRow(const std::string& line);
    std::string replaceUuids(std::string_view text);
    std::string replaceId(const std::string& id);
    std::string replaceLine(std::string line);
    /// Returns whether the line has a name.
    bool replaceNames(std::string& line) const;
    nlohmann::json replacedFor(std::string_view function, const nlohmann::json& value);

    std::string host_;
    std::map<std::string, std::string> uuids_;
    std::map<std::string, std::string> ids_;
    std::map<std::string, std::string> names_;   // by the original
    std::multimap<std::string, Name> processes_; // by the PID
};

/// Returns the replacement of the name of the process with this number.
std::string replacedName(std::string_view name, std::size_t number);

} // namespace genv::recording
