// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>

namespace genv::bench {

namespace {

// More digits would suggest a precision that the measurement does not have.
double rounded(double value) {
    if (value == 0 || !std::isfinite(value))
        return 0;
    const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

nlohmann::ordered_json numberOf(double value) {
    if (value == std::floor(value) && std::abs(value) < 1e15)
        return static_cast<std::int64_t>(value);
    return value;
}

} // namespace

void print(const Figure& figure) {
    nlohmann::ordered_json line{{"part", "bus"}, {"name", figure.name}};
    line["with"] = nlohmann::ordered_json::object();
    for (const auto& [what, count] : figure.with)
        line["with"][what] = numberOf(count);
    line["unit"] = figure.unit;
    line["median"] = numberOf(rounded(figure.median));
    const auto add = [&line](const char* key, const std::optional<double>& value) {
        if (value)
            line[key] = numberOf(rounded(*value));
    };
    add("p90", figure.p90);
    add("p99", figure.p99);
    add("per_second", figure.perSecond);
    if (!figure.reference.empty())
        line["reference"] = figure.reference;
    add("ratio", figure.ratio);
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
}

void printTimes(const std::string& name, const With& with, const Series& times,
                const std::string& reference, const Series& referenceTimes) {
    print({name, with, "µs", times.percentile(0.5), times.percentile(0.9), times.percentile(0.99),
           times.perSecond(), reference, times.percentile(0.5) / referenceTimes.percentile(0.5)});
}

void printRatio(const std::string& name, const With& with, const std::string& reference,
                double ratio) {
    Figure figure{name, with, "1", ratio};
    figure.reference = reference;
    figure.ratio = ratio;
    print(figure);
}

} // namespace genv::bench
