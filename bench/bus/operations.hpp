// SPDX-License-Identifier: LGPL-2.1-or-later
// Operations on the bus: a single call or several in sequence. They are executed one at a time or
// many at once, and timed.
#pragma once

#include "bench/bus/series.hpp"
#include "tests/bus/support/client.hpp"

#include <functional>
#include <string>
#include <vector>

namespace genv::bench {

/// Identifies a run of an operation. Runs in the same lane are sequential; different lanes run
/// concurrently.
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
    std::string expectedError{}; ///< the expected error of the last step; "" for success
};

/// Converts a value for sd_bus_message_append(3).
inline const char* raw(const std::string& text) {
    return text.c_str();
}
template <typename Number>
Number raw(Number number) {
    return number;
}

/// Returns an operation that consists of one constant call. Pass text as std::string.
template <typename... Arguments>
Operation callOf(const std::string& name, tests::Client& client, const std::string& path,
                 const std::string& interface, const std::string& member,
                 const std::string& signature = "", Arguments... arguments) {
    return {name, {{&client, [=, &client](const Turn&) {
                        return client.prepare(path, interface.c_str(), member.c_str(),
                                              signature.c_str(), raw(arguments)...);
                    }}}};
}

/// Returns a sequence of two or more operations.
Operation joined(const std::string& name, const std::vector<Operation>& operations);

/// Runs an operation `count` times, `inFlight` at once. Adds the time of each run to `times` if it
/// is not null. An unexpected reply ends the program.
void runMany(const Operation& operation, unsigned count, unsigned inFlight,
             Series* times = nullptr);

/// The number of concurrent calls in measurements with concurrency.
inline constexpr unsigned many = 64;

struct Amount {
    unsigned calls = 1000; ///< per operation
    unsigned inFlight = 1;
    std::chrono::milliseconds maxTime{1000}; ///< per operation; slow ones get fewer calls
};

/// Measures operations in alternation, a few calls of each, so that other activity of the machine
/// affects all of them equally.
std::vector<Series> measureInTurns(const std::vector<Operation>& operations, const Amount& amount);

} // namespace genv::bench
