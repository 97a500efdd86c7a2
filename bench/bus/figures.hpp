// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints figures in the format that bench/run reads: one JSON object per line on standard output.
#pragma once

#include "bench/bus/series.hpp"

#include <map>
#include <optional>
#include <string>

namespace genv::bench {

/// The conditions of a measurement. Together with the name, they identify a figure.
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

/// Prints the times of an operation, relative to a reference that was measured in alternation with
/// it.
void printTimes(const std::string& name, const With& with, const Series& times,
                const std::string& reference, const Series& referenceTimes);

/// Prints the ratio of a median to another one from the same run.
void printRatio(const std::string& name, const With& with, const std::string& reference,
                double ratio);

} // namespace genv::bench
