// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/sensor_text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace genv::top {

namespace {

constexpr std::uint64_t milli = 1000;

} // namespace

std::string percentText(const DeviceSensors& sensors) {
    return sensors.utilizationPercent ? fmt::format("{}%", *sensors.utilizationPercent) : "?";
}

std::string temperatureText(const DeviceSensors& sensors, Charset charset) {
    if (!sensors.temperatureCelsius)
        return "?";
    return fmt::format("{}{}", *sensors.temperatureCelsius,
                       charset == Charset::Unicode ? "\u00b0C" : "C");
}

std::string powerText(const DeviceSensors& sensors, std::size_t width) {
    if (!sensors.powerMilliwatts)
        return "?";
    std::string text = fmt::format("{}W", *sensors.powerMilliwatts / milli);
    if (!sensors.powerLimitMilliwatts)
        return text;
    std::string both = fmt::format("{}/{}W", *sensors.powerMilliwatts / milli,
                                   *sensors.powerLimitMilliwatts / milli);
    return both.size() <= width ? both : text;
}

std::vector<std::pair<std::string_view, std::string>> sensorFacts(const DeviceSensors& sensors) {
    std::vector<std::pair<std::string_view, std::string>> facts;
    if (sensors.utilizationPercent)
        facts.emplace_back("Utilization", fmt::format("{}%", *sensors.utilizationPercent));
    if (sensors.temperatureCelsius)
        facts.emplace_back("Temperature",
                           fmt::format("{} degrees Celsius", *sensors.temperatureCelsius));
    if (sensors.powerMilliwatts) {
        std::string power =
            fmt::format("{:.1f} W", static_cast<double>(*sensors.powerMilliwatts) / milli);
        if (sensors.powerLimitMilliwatts)
            power += fmt::format(" of {:.0f} W",
                                 static_cast<double>(*sensors.powerLimitMilliwatts) / milli);
        facts.emplace_back("Power", std::move(power));
    }
    return facts;
}

} // namespace genv::top
