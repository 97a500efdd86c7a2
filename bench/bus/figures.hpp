// SPDX-License-Identifier: LGPL-2.1-or-later
// What was measured, as bench/run reads it: one JSON object a line on standard output.
#pragma once

#include "bench/bus/series.hpp"

#include <map>
#include <optional>
#include <string>

namespace genv::bench {

/// Under which circumstances a figure was taken; with its name they say which one it is.
using With = std::map<std::string, double>;

struct Figure {
    std::string name;
    With with;
    std::string unit;
    double median = 0;
    std::optional<double> p90{};
    std::optional<double> p99{};
    std::optional<double> perSecond{};
    std::string reference{}; ///< "" for none
    std::optional<double> ratio{};
};

void print(const Figure& figure);

/// How long something took, beside what was measured in turns with it.
void printTimes(const std::string& name, const With& with, const Series& times,
                const std::string& reference, const Series& referenceTimes);

/// A median compared with one that was taken elsewhere in the same run.
void printRatio(const std::string& name, const With& with, const std::string& reference,
                double ratio);

} // namespace genv::bench
