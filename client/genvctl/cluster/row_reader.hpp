// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts the JSON of one of Slurm's programs to rows.
#pragma once

#include "client/genvctl/cluster/json_records.hpp"
#include "client/genvctl/cluster/shapes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Throws SlurmComplaint for an error in the answer, and UnknownShape without a list of records.
void requireAnswer(const RecordsSummary& summary, const char* program, const char* lists);

/// Slurm prints the name of a job without validation, so it may contain any bytes. Returns the text
/// with "?" for each that is not ASCII.
std::string withoutForeignBytes(std::string_view text);

/// How to convert the JSON of a program to rows.
template <typename Row>
struct RowReader {
    const char* program;
    const char* lists; ///< used in error messages
    RecordSelection selection;
    void (*add)(const std::string& list, const nlohmann::json& record, std::vector<Row>& rows);

    [[nodiscard]] std::vector<Row> read(std::string_view text) const {
        std::vector<Row> rows;
        const RecordsSummary summary = readRecords(
            text, selection, [&](const std::string& list, const nlohmann::json& record) {
                add(list, record, rows);
            });
        requireAnswer(summary, program, lists);
        return rows;
    }

    [[nodiscard]] std::vector<Row> readWhatever(std::string_view text) const {
        try {
            return read(text);
        } catch (const InvalidJson&) {
        }
        try {
            return read(withoutForeignBytes(text));
        } catch (const InvalidJson&) {
            throw UnknownShape(fmt::format("{} --json printed no JSON object", program));
        }
    }
};

} // namespace genv::ctl::cluster
