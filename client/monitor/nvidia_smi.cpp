// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/nvidia_smi.hpp"

#include "client/monitor/foreign.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace genv::monitor {

namespace {

// In the order of the command's query. The model is last, because only a name may contain a comma.
enum Field : std::size_t {
    Index,
    Uuid,
    Utilization,
    Used,
    Total,
    Temperature,
    Power,
    Model,
    Fields
};

constexpr std::uint32_t highestIndex = 65535;
constexpr std::uint32_t maxPercent = 100;
constexpr std::uint64_t maxMebibytes = std::uint64_t{1} << 40;
constexpr std::int32_t coldest = -100;
constexpr std::int32_t hottest = 1000;
constexpr double maxWatts = 1e6;
constexpr double milliwattsPerWatt = 1e3;
constexpr int bitsOfMebibyte = 20;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

std::string_view takeUntil(std::string_view& text, char end) {
    const std::size_t size = std::min(text.find(end), text.size());
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return part;
}

template <typename Number>
std::optional<Number> number(std::string_view text, Number least, Number max) {
    Number value{};
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Written so that NaN is refused as well.
    if (error != std::errc{} || last != text.data() + text.size() ||
        !(value >= least && value <= max))
        return std::nullopt;
    return value;
}

std::optional<std::uint64_t> mebibytes(std::string_view text) {
    const auto count = number<std::uint64_t>(text, 0, maxMebibytes);
    return count ? std::optional(*count << bitsOfMebibyte) : std::nullopt;
}

std::optional<std::uint64_t> milliwatts(std::string_view text) {
    const auto watts = number<double>(text, 0, maxWatts);
    return watts
               ? std::optional(static_cast<std::uint64_t>(std::llround(*watts * milliwattsPerWatt)))
               : std::nullopt;
}

std::string nameIn(std::string_view text) {
    return text.starts_with('[') || text == "N/A" ? std::string{} : toLabel(text);
}

std::optional<DeviceState> readLine(std::string_view line, Time now) {
    std::array<std::string_view, Fields> fields;
    for (std::size_t field = 0; field < Model; ++field) {
        if (line.find(',') == std::string_view::npos)
            return std::nullopt;
        fields.at(field) = trimmed(takeUntil(line, ','));
    }
    fields[Model] = trimmed(line);
    const auto index = number<std::uint32_t>(fields[Index], 0, highestIndex);
    if (!index)
        return std::nullopt;
    DeviceState state;
    state.device = {*index, nameIn(fields[Uuid]), nameIn(fields[Model]),
                    mebibytes(fields[Total]).value_or(0)};
    state.sensors.utilizationPercent = number<std::uint32_t>(fields[Utilization], 0, maxPercent);
    state.usedMemoryBytes = mebibytes(fields[Used]);
    state.sensors.temperatureCelsius = number<std::int32_t>(fields[Temperature], coldest, hottest);
    state.sensors.powerMilliwatts = milliwatts(fields[Power]);
    state.sampledAt = now;
    return state;
}

} // namespace

const std::vector<std::string>& nvidiaSmiCommand() {
    static const std::vector<std::string> command{
        "nvidia-smi",
        "--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,"
        "power.draw,name",
        "--format=csv,noheader,nounits"};
    return command;
}

std::vector<DeviceState> readNvidiaSmi(std::string_view output, Time now) {
    std::vector<DeviceState> devices;
    std::set<std::uint32_t> indices;
    while (!output.empty() && devices.size() < maxDevices) {
        auto device = readLine(takeUntil(output, '\n'), now);
        if (device && indices.insert(device->device.index).second)
            devices.push_back(*std::move(device));
    }
    return devices;
}

} // namespace genv::monitor
