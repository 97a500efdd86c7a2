// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads foreign JSON strictly: a value that is missing, has another type or is out of range is
// refused, and nothing is converted. Unknown members are refused only by requireMembers().
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// Why JSON was refused. The text names only what the reader expects. It quotes nothing from the
/// document, which is untrusted.
class JsonError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

inline constexpr std::size_t anySize = SIZE_MAX;

/// Parses an object. Throws JsonError for any other text, and, before it builds anything, for a
/// text whose arrays and objects nest deeper than `maxDepth`.
nlohmann::json parseJson(std::string_view text, std::size_t maxDepth = anySize);

/// A value of a document, which has to outlive it. The functions throw JsonError for a value of
/// another type, and those that look for a member for a value that is not an object.
class JsonValue {
  public:
    /// `name` is a name of this program, such as the member's. Errors show it.
    explicit JsonValue(const nlohmann::json& value, const char* name = "document",
                       bool isEntry = false)
        : value_(&value), name_(name), isEntry_(isEntry) {}

    /// Requires an object with these members and no others.
    void requireMembers(std::initializer_list<const char*> names) const;
    [[nodiscard]] std::size_t memberCount() const { return object().size(); }
    [[nodiscard]] bool has(const char* name) const { return object().contains(name); }
    /// Returns a member, or nothing if the object lacks it.
    [[nodiscard]] std::optional<JsonValue> find(const char* name) const;
    /// Returns a member. Throws if the object lacks it.
    JsonValue operator[](const char* name) const;

    [[nodiscard]] bool isNull() const { return value_->is_null(); }
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::uint64_t number(std::uint64_t max, std::uint64_t min = 0) const;
    [[nodiscard]] std::uint32_t number32(std::uint32_t max = UINT32_MAX,
                                         std::uint32_t min = 0) const;
    /// Returns a whole number from -max to max.
    [[nodiscard]] std::int64_t signedNumber(std::int64_t max) const;
    /// Returns a finite number that is not negative. It may have a fraction.
    [[nodiscard]] double amount() const;
    /// `maxLength` is in bytes.
    [[nodiscard]] std::string text(std::size_t maxLength = anySize) const;
    [[nodiscard]] std::vector<JsonValue> list(std::size_t maxLength = anySize) const;
    /// Returns a list of exactly this length.
    [[nodiscard]] std::vector<JsonValue> listOf(std::size_t length) const;
    [[nodiscard]] const nlohmann::json& object() const;

    /// Returns what `read` makes of a member, or nothing if the object lacks it.
    template <typename Read>
    [[nodiscard]] auto ifAny(const char* name, Read read) const {
        const auto found = find(name);
        return found ? std::optional(std::invoke(read, *found)) : std::nullopt;
    }
    [[nodiscard]] bool booleanIfAny(const char* name, bool otherwise = false) const {
        return ifAny(name, &JsonValue::boolean).value_or(otherwise);
    }
    [[nodiscard]] std::vector<JsonValue> listIfAny(const char* name) const;

    /// Throws JsonError: "invalid NAME: expected ...".
    [[noreturn]] void refuse(const std::string& expected) const;

  private:
    const nlohmann::json* value_;
    const char* name_;
    bool isEntry_; ///< of a list, which has the name
};

/// Parses a text and returns what `read` makes of it. A JsonError becomes an OwnError.
template <typename OwnError, typename Read>
auto readJson(std::string_view text, std::size_t maxDepth, Read read) {
    try {
        const nlohmann::json document = parseJson(text, maxDepth);
        return read(JsonValue(document));
    } catch (const JsonError& error) {
        throw OwnError(error.what());
    }
}

} // namespace genv::core
