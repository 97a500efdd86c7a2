// SPDX-License-Identifier: LGPL-2.1-or-later
// A journal record: a line for people and fields for programs, written together. Values that are
// not printable UTF-8 are escaped here, so that untrusted text cannot break a line, a list or a
// terminal.
#pragma once

#include "core/ports/log.hpp"
#include "service/journal/contract.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::service::journal {

/// Returns the kind with this name. An unknown name does not compile.
consteval Kind kindOf(std::string_view name) {
    for (const Kind& kind : kinds) {
        if (kind.name == name)
            return kind;
    }
    throw "the contract has no such kind"; // not a constant expression: a build error
}

class Record {
  public:
    using Fields = std::vector<std::pair<std::string_view, std::string>>;

    /// Creates a record. The line is for people; untrusted text in it must already be escaped.
    Record(const Kind& kind, core::Severity severity, std::string line);

    /// Adds a field of the contract. The value may be any text.
    Record& add(std::string_view field, std::string_view value);
    Record& add(std::string_view field, std::uint64_t value);
    /// Adds a list. Escapes separators within values. Adds nothing if there are no values.
    Record& add(std::string_view field, const std::vector<std::string>& values,
                char separator = ',');

    /// Replaces each "uid N" in the line by the user's name: "alice (N)".
    void nameUser(std::uint32_t uid, std::string_view name);

    [[nodiscard]] core::Severity severity() const { return severity_; }
    [[nodiscard]] const std::string& line() const { return line_; }
    /// Returns the fields. MESSAGE_ID and GENV_EVENT are the first.
    [[nodiscard]] const Fields& fields() const { return fields_; }

  private:
    core::Severity severity_;
    std::string line_;
    Fields fields_;
};

/// The destination of records. Called on the loop's thread only; never blocks.
class Sink {
  public:
    virtual ~Sink() = default;

    virtual void write(Record record) = 0;
    /// Returns whether the sink keeps the fields. Otherwise it keeps only the line, and callers
    /// need not look up values for fields.
    [[nodiscard]] virtual bool takesFields() const = 0;
};

} // namespace genv::service::journal
