// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads large JSON documents of Slurm one record at a time. A record has more than a hundred
// fields, of which genv needs a dozen, so the other fields are not kept.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// The text is not JSON, or its root is not an object.
class InvalidJson : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The selection: the lists in the root object that contain records, such as "jobs", and the fields
/// of a record to read, with their complete values.
struct RecordSelection {
    std::vector<std::string_view> lists;
    std::vector<std::string_view> fields;
};

/// The content of the root object besides the records.
struct RecordsSummary {
    std::vector<std::string> lists; ///< the selected lists that exist
    nlohmann::json errors;          ///< the list "errors"; null if there is none
};

/// Calls `use` for each record, which contains only the selected fields, with the name of its list.
/// Throws InvalidJson and the exceptions of `use`. Skipped values are not validated.
RecordsSummary
readRecords(std::string_view text, const RecordSelection& selection,
            const std::function<void(const std::string& list, const nlohmann::json& record)>& use);

} // namespace genv::ctl::cluster
