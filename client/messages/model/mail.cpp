// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/mail.hpp"

#include "client/messages/model/encoded_words.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <string_view>

namespace genv::messages {

namespace {

constexpr std::size_t lineLength = 76;

std::string inLines(std::string_view text) {
    std::string lines;
    for (; !text.empty(); text.remove_prefix(std::min(lineLength, text.size())))
        lines.append(text.substr(0, lineLength)) += '\n';
    return lines;
}

} // namespace

// base64 keeps every text whole, also one with a line of a single dot, or with a long line.
std::string mailOf(const Letter& letter, const std::string& to, core::WallTime now) {
    return fmt::format("To: {}\n"
                       "Subject: {}\n"
                       "Date: {:%a, %d %b %Y %H:%M:%S} +0000\n"
                       "Auto-Submitted: auto-generated\n"
                       "MIME-Version: 1.0\n"
                       "Content-Type: text/plain; charset=UTF-8\n"
                       "Content-Transfer-Encoding: base64\n"
                       "\n{}",
                       to, headerText(letter.title, "\n "),
                       fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                       inLines(base64(textOf(letter))));
}

} // namespace genv::messages
