// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/row_reader.hpp"

#include "client/genvctl/cluster/json_fields.hpp"

#include <algorithm>

namespace genv::ctl::cluster {

using nlohmann::json;

void requireAnswer(const RecordsSummary& summary, const char* program, const char* lists) {
    const json& errors = summary.errors;
    if (errors.is_array() && !errors.empty()) {
        const std::string description = fields::textIn(errors.front(), "description");
        const std::string error = fields::textIn(errors.front(), "error");
        throw SlurmComplaint(description.empty() || error.empty()
                                 ? description + error
                                 : fmt::format("{}: {}", description, error));
    }
    if (summary.lists.empty())
        throw UnknownShape(fmt::format("{} --json printed no list {}", program, lists));
}

// Slurm prints the name of a job without validation, so it may contain any bytes.
std::string withoutForeignBytes(std::string_view text) {
    std::string ascii(text);
    std::replace_if(
        ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    return ascii;
}

} // namespace genv::ctl::cluster
