// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads large JSON of Slurm's one record at a time. A record of Slurm has more than a hundred
// fields and genv wants a dozen: nothing is kept of the rest.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// The text is no JSON, or its root is no object.
class InvalidJson : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// What to read: the lists of the root object that hold the records, such as "jobs", and the
/// fields of a record, which are read with everything in them.
struct RecordSelection {
    std::vector<std::string_view> lists;
    std::vector<std::string_view> fields;
};

/// What the root object has beside records.
struct RecordsSummary {
    std::vector<std::string> lists; ///< those of the selection that it has
    nlohmann::json errors;          ///< its list "errors"; null where it has none
};

/// Hands over each record, which has the selected fields only, with the name of its list. Throws
/// InvalidJson, and what `use` throws. What is skipped is not checked.
RecordsSummary
readRecords(std::string_view text, const RecordSelection& selection,
            const std::function<void(const std::string& list, const nlohmann::json& record)>& use);

} // namespace genv::ctl::cluster
