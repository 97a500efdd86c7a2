// SPDX-License-Identifier: LGPL-2.1-or-later
// Operations on the bus, each one call or several after one another, made one at a time or many at
// once, and timed.
#pragma once

#include "bench/bus/series.hpp"
#include "tests/bus/support/client.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::bench {

/// Which run of an operation this is. Runs of one lane follow one another; those of different lanes
/// are under way at once.
struct Turn {
    unsigned lane = 0;
    unsigned number = 0;
};

struct Step {
    tests::Client* client = nullptr;
    std::function<tests::Message(const Turn&)> message;
};

struct Operation {
    std::string name;
    std::vector<Step> steps;
    std::string expectedError{}; ///< how its last step ends; "" for an answer
};

/// How sd_bus_message_append(3) takes a value.
inline const char* raw(const std::string& text) {
    return text.c_str();
}
template <typename Number>
Number raw(Number number) {
    return number;
}

/// An operation that is a single call, the same each time; text is given as std::string.
template <typename... Arguments>
Operation callOf(const std::string& name, tests::Client& client, const std::string& path,
                 const std::string& interface, const std::string& member,
                 const std::string& signature = "", Arguments... arguments) {
    return {name, {{&client, [=, &client](const Turn&) {
                        return client.prepare(path, interface.c_str(), member.c_str(),
                                              signature.c_str(), raw(arguments)...);
                    }}}};
}

/// Two or more operations after one another.
Operation joined(const std::string& name, const std::vector<Operation>& operations);

/// Runs an operation `count` times, `inFlight` at once; each one's time goes to `times`, where
/// there is one. An answer that is not as expected ends the program.
void runMany(const Operation& operation, unsigned count, unsigned inFlight,
             Series* times = nullptr);

/// How many calls are in flight where not each waits for the one before.
inline constexpr unsigned many = 64;

struct Amount {
    unsigned calls = 1000; ///< of each operation
    unsigned inFlight = 1;
    std::chrono::milliseconds most{
        1000}; ///< of each operation; what is slow is measured less often
};

/// Runs operations in turns, a few calls each, so that whatever else the machine does meets all
/// alike.
std::vector<Series> measureInTurns(const std::vector<Operation>& operations, const Amount& amount);

} // namespace genv::bench
