// SPDX-License-Identifier: LGPL-2.1-or-later
// A record of the journal: a line for people and fields for programs, told once and together. What
// is added to it and is not printable UTF-8 is escaped here, so that nothing foreign can break a
// line, a list or a terminal.
#pragma once

#include "core/ports/log.hpp"
#include "service/journal/contract.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::service::journal {

/// The kind with a name; a name that the contract does not have does not build.
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

    /// The line is for people, with what is foreign in it escaped already.
    Record(const Kind& kind, core::Severity severity, std::string line);

    /// Adds a field of the contract. The value may be anything.
    Record& add(std::string_view field, std::string_view value);
    Record& add(std::string_view field, std::uint64_t value);
    /// Adds a list; a separator inside a value is escaped. Nothing where there are no values.
    Record& add(std::string_view field, const std::vector<std::string>& values,
                char separator = ',');

    /// Tells in the line who "uid N" is, wherever it says that: "alice (N)".
    void nameUser(std::uint32_t uid, std::string_view name);

    [[nodiscard]] core::Severity severity() const { return severity_; }
    [[nodiscard]] const std::string& line() const { return line_; }
    /// MESSAGE_ID and GENV_EVENT first.
    [[nodiscard]] const Fields& fields() const { return fields_; }

  private:
    core::Severity severity_;
    std::string line_;
    Fields fields_;
};

/// Where records go. Called on the loop's thread only; never blocks.
class Sink {
  public:
    virtual ~Sink() = default;

    virtual void write(Record record) = 0;
    /// Whether the fields are kept; else only the line is, and looking anything up for a field is
    /// in vain.
    [[nodiscard]] virtual bool takesFields() const = 0;
};

} // namespace genv::service::journal
