// SPDX-License-Identifier: LGPL-2.1-or-later
// User input for memory amounts, time spans and points in time. Formatting an amount and parsing it
// again gives the same amount.
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/moment.hpp"
#include "tests/fuzz/target.hpp"

#include <limits>

namespace genv::fuzz::amounts {

using std::chrono::milliseconds;

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

template <typename Read>
void tryReading(Read read) {
    try {
        read();
    } catch (const core::Error& error) {
        expect(error.code() == core::ErrorCode::InvalidArgs,
               "what is no amount is a wrong argument");
        expectShowable(error.what(), "why an amount is refused can be shown");
    }
}

void writeAndRead(core::Bytes amount) {
    expect(core::parseBytes(core::formatBytes(amount)) == amount,
           "an amount is read as it was written");
}

// A span is formatted in at most two units, so the error is less than one of the second unit.
void writeAndRead(milliseconds span) {
    const std::string text = core::formatDuration(span);
    const milliseconds again = core::parseDuration(text);
    expect(again <= span && core::formatDuration(again) == text,
           "a time span is read as it was written, rounded down");
}

GENV_FUZZ_TARGET(amounts) {
    tryReading([&] {
        const core::Bytes amount = core::parseBytes(input);
        expect(amount.count > 0 && amount.count <= largest, "an amount can be counted");
        writeAndRead(amount);
    });
    tryReading([&] {
        const milliseconds span = core::parseDuration(input);
        expect(span >= milliseconds{0} && span <= std::chrono::hours{24 * 366 * 100},
               "a time span is at most a hundred years");
        writeAndRead(span);
    });
    tryReading([&] {
        expect(core::parseTypedDuration(input) == core::parseDuration(input),
               "a unit does not change a time span");
    });
    const core::WallTime now{std::chrono::seconds{1'700'000'000}};
    tryReading([&] {
        const core::WallTime moment = core::parseMoment(input, now);
        expect(core::parseMoment(input, now) == moment, "a moment is the same each time");
    });
    const std::uint64_t number = Bytes(input).number64();
    if (number > 0 && number <= largest)
        writeAndRead(core::Bytes{number});
    core::formatMebibytes({number});
    writeAndRead(milliseconds{static_cast<std::int64_t>(number % (100ULL * 365 * 86'400'000))});
}

} // namespace genv::fuzz::amounts
