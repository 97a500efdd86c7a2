// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the status file of an environment without allocating memory, and writes its sentences.
// Header-only and without exceptions, so that genv-watch needs no library.
#pragma once

#include "core/rules/rule_advice.hpp"
#include "core/sentences/granted_sentence.hpp"
#include "core/sentences/kept_sentence.hpp"
#include "core/sentences/refused_sentence.hpp"

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace genv::watch {

// substr() can throw, for which it needs the C++ library.
constexpr std::string_view firstPart(std::string_view text, std::size_t end) {
    return {text.data(), end < text.size() ? end : text.size()};
}

/// Parses a whole text as a number.
constexpr std::optional<std::uint64_t> parseNumber(std::string_view text) {
    if (text.empty() || text.size() > 19)
        return std::nullopt;
    std::uint64_t number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9')
            return std::nullopt;
        number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return number;
}

/// A sentence for users, one printable line without a full stop.
struct Sentence {
    std::uint64_t sequence = 0;
    std::string_view text;
};

/// The content of a status file, which must outlive this object. Lines that cannot be parsed are
/// skipped.
class Status {
  public:
    constexpr explicit Status(std::string_view text) : rest_(text) {
        std::string_view first = line();
        sequence_ = parseNumber(word(first)).value_or(0);
        start_ = parseNumber(word(first)).value_or(0);
        line(); // the devices
    }

    /// Returns the number of the last change.
    [[nodiscard]] constexpr std::uint64_t sequence() const { return sequence_; }
    /// Returns the start of the environment, or 0 if it has ended.
    [[nodiscard]] constexpr std::uint64_t start() const { return start_; }

    /// Returns the next sentence, oldest first, or nothing after the last one.
    constexpr std::optional<Sentence> next() {
        while (!rest_.empty()) {
            std::string_view text = line();
            if (const auto sequence = parseNumber(word(text)))
                return Sentence{*sequence, text};
        }
        return std::nullopt;
    }

  private:
    constexpr std::string_view line() { return take(rest_, '\n'); }
    static constexpr std::string_view word(std::string_view& text) { return take(text, ' '); }
    static constexpr std::string_view take(std::string_view& text, char end) {
        const std::string_view taken = firstPart(text, text.find(end));
        text.remove_prefix(taken.size() < text.size() ? taken.size() + 1 : text.size());
        return taken;
    }

    std::string_view rest_;
    std::uint64_t sequence_ = 0;
    std::uint64_t start_ = 0;
};

constexpr bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// Whether a sentence reports a grant, which genvctl has reported itself.
constexpr bool isAboutTheWait(std::string_view text) {
    return contains(text, core::grantedAfter);
}

/// Whether a sentence reports a GPU that the kernel refused to a program, which reports it itself.
constexpr bool isAboutARefusal(std::string_view text) {
    return contains(text, core::notHeld);
}

/// Whether a sentence says that processes keep the devices of an environment without a shell.
constexpr bool isAboutKeptDevices(std::string_view text) {
    return contains(text, core::keptFor);
}

/// Returns how to avoid what a sentence reports; empty if there is no advice.
constexpr std::string_view adviceOn(std::string_view text) {
    constexpr std::string_view by = "by the rule ";
    const std::size_t found = text.find(by);
    if (found == std::string_view::npos)
        return {};
    text.remove_prefix(found + by.size());
    return core::adviceOnRule(firstPart(text, text.find_first_of(" ,;:")));
}

/// Writes a sentence about an environment to a descriptor, in the form of genvctl's messages.
inline void write(int descriptor, std::string_view id, const Sentence& sentence) {
    const std::string_view advice = adviceOn(sentence.text);
    std::array<iovec, 8> parts{};
    int count = 0;
    const auto put = [&](std::string_view text) {
        parts[static_cast<std::size_t>(count++)] = {const_cast<char*>(text.data()), text.size()};
    };
    put("genvctl: Environment ");
    put(id);
    put(": ");
    put(sentence.text);
    put("\n");
    if (!advice.empty()) {
        put(advice);
        put(".\n");
    }
    while (writev(descriptor, parts.data(), count) < 0 && errno == EINTR) {
    }
}

} // namespace genv::watch
