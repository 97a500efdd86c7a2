// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/simulated_gpus.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "service/gpu/device_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

using core::ErrorCode;
using core::fail;

constexpr const char* countVariable = "GENV_MOCK_DEVICE_COUNT";
constexpr const char* olderCountVariable = "GENV_DEVICES";
constexpr const char* nodesVariable = "GENV_MOCK_DEVICE_NODES";
constexpr const char* totalVariable = "GENV_MOCK_DEVICE_TOTAL_MEMORY";
constexpr const char* unaccountedVariable = "GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY";
// The kernel's limit for process names: TASK_COMM_LEN without the terminating zero.
constexpr std::size_t maxProcessNameLength = 15;
constexpr std::size_t maxEnvironmentSize = 256 << 10;
constexpr std::uint32_t simulatedPowerLimit = 250'000; // milliwatts

template <typename T>
std::optional<T> toNumber(std::string_view text) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Parses a node such as "195:0".
std::optional<core::DeviceNode> toNode(std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto major = toNumber<std::uint32_t>(text.substr(0, colon));
    const auto minor = toNumber<std::uint32_t>(text.substr(std::min(colon + 1, text.size())));
    if (!major || !minor || *major > maxNodeMajor || *minor > maxNodeMinor)
        return std::nullopt;
    return core::DeviceNode{*major, *minor};
}

// Parses nodes such as "195:0,195:1", one for each device. No two devices may have the same node.
std::optional<std::vector<core::DeviceNode>> toNodes(std::string_view text) {
    std::vector<core::DeviceNode> nodes;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const auto node = toNode(text.substr(begin, end - begin));
        if (!node || std::ranges::find(nodes, *node) != nodes.end())
            return std::nullopt;
        nodes.push_back(*node);
        begin = end + 1;
    }
    return nodes;
}

// Reads variables, each of which may be unset.
class Settings {
  public:
    explicit Settings(const SimulatedGpus::Variables& variables) : variables_(variables) {}

    std::uint32_t number(const char* name, std::uint32_t fallback, std::uint32_t max) const {
        const auto text = variables_(name);
        const auto value = text ? toNumber<std::uint32_t>(*text) : fallback;
        if (!value || *value > max)
            fail(ErrorCode::InvalidArgs, "{}=\"{}\": expected a whole number from 0 to {}", name,
                 core::escaped(*text), max);
        return *value;
    }

    core::Bytes bytes(const char* name, const char* fallback) const {
        try {
            return core::parseBytes(variables_(name).value_or(fallback));
        } catch (const core::Error& error) {
            fail(error.code(), "{}: {}", name, error.what());
        }
    }

    std::vector<core::DeviceNode> nodes(const char* name, std::size_t deviceCount) const {
        const auto text = variables_(name);
        if (!text)
            return {};
        auto nodes = toNodes(*text);
        if (!nodes || nodes->size() > deviceCount)
            fail(ErrorCode::InvalidArgs,
                 "{}=\"{}\": expected MAJOR:MINOR for at most {} devices, separated by commas and "
                 "no two alike, such as \"195:0,195:1\"",
                 name, core::escaped(*text), deviceCount);
        return *std::move(nodes);
    }

    // Reads amounts such as "0,4g", one for each device.
    std::vector<core::Bytes> amounts(const char* name, std::size_t deviceCount) const {
        std::vector<core::Bytes> amounts;
        const auto text = variables_(name);
        for (std::size_t begin = 0; text && begin <= text->size();) {
            const std::size_t end = std::min(text->find(',', begin), text->size());
            const std::string amount = text->substr(begin, end - begin);
            if (amounts.size() == deviceCount)
                fail(ErrorCode::InvalidArgs, "{}=\"{}\": expected amounts for at most {} devices",
                     name, core::escaped(*text), deviceCount);
            try {
                amounts.push_back(amount == "0" ? core::Bytes{} : core::parseBytes(amount));
            } catch (const core::Error& error) {
                fail(error.code(), "{}: {}", name, error.what());
            }
            begin = end + 1;
        }
        return amounts;
    }

    std::string text(const char* name, const char* fallback, std::size_t maxLength) const {
        return text(name, maxLength).value_or(fallback);
    }

    std::optional<std::string> text(const char* name, std::size_t maxLength) const {
        auto value = variables_(name);
        if (!value)
            return std::nullopt;
        bool good = !value->empty() && value->size() <= maxLength;
        for (std::string_view rest = *value; good && !rest.empty();) {
            const auto character = core::takeCharacter(rest);
            good = character && core::isPrintable(*character);
        }
        if (!good)
            fail(ErrorCode::InvalidArgs, "{}=\"{}\": expected 1 to {} bytes of printable UTF-8",
                 name, core::escaped(*value), maxLength);
        return value;
    }

  private:
    const SimulatedGpus::Variables& variables_;
};

void addUnaccounted(core::DeviceSample& device, core::Bytes amount) {
    const core::Bytes total = device.facts.totalMemory;
    const core::Bytes used = std::min(*device.reading.usedMemory + amount, total);
    device.reading.usedMemory = used;
    device.memory = {total - used, std::min(amount, used)};
}

std::string readFile(const std::filesystem::path& path, std::size_t max = 512) {
    std::string text(max, '\0');
    std::ifstream file(path);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

std::vector<core::Pid> findProcesses(const std::filesystem::path& proc, const std::string& name) {
    std::vector<core::Pid> pids;
    std::error_code error;
    for (std::filesystem::directory_iterator it(proc, error), end; !error && it != end;
         it.increment(error)) {
        const auto pid = toNumber<core::Pid>(it->path().filename().native());
        // Unlike the other files there, "comm" can be read without waiting for a lock that the
        // process may hold.
        if (pid && readFile(it->path() / "comm") == name + '\n')
            pids.push_back(*pid);
    }
    std::ranges::sort(pids);
    return pids;
}

// Reads a variable from proc_pid_environ(5). Returns nothing if the file cannot be read.
std::optional<std::string> readVariable(const std::filesystem::path& process,
                                        const std::string& name) {
    const std::string text = '\0' + readFile(process / "environ", maxEnvironmentSize);
    const std::string before = '\0' + name + '=';
    const auto found = text.find(before);
    if (found == std::string::npos)
        return std::nullopt;
    const auto begin = found + before.size();
    return text.substr(begin, text.find('\0', begin) - begin);
}

// Returns the devices that CUDA shows to a process: all of them, or those that CUDA_VISIBLE_DEVICES
// lists by index or UUID before the first invalid entry.
std::vector<core::DeviceSample> visibleDevices(const std::filesystem::path& process,
                                               const std::vector<core::DeviceSample>& devices) {
    const auto variable = readVariable(process, "CUDA_VISIBLE_DEVICES");
    if (!variable)
        return devices;
    std::set<std::size_t> places;
    std::string_view rest = *variable;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        const auto index = toNumber<std::uint32_t>(entry);
        const auto named = std::ranges::find_if(devices, [&](const core::DeviceSample& device) {
            return device.facts.uuid == entry || (index && device.facts.index == *index);
        });
        if (named == devices.end())
            break;
        places.insert(static_cast<std::size_t>(named - devices.begin()));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    }
    std::vector<core::DeviceSample> visible;
    for (const std::size_t place : places)
        visible.push_back(devices[place]);
    return visible;
}

// Returns a value that differs between processes and stays the same for each.
std::uint32_t utilizationOf(core::Pid pid) {
    constexpr std::uint32_t least = 5;
    constexpr std::uint32_t steps = 60;
    return least + pid % steps;
}

} // namespace

bool SimulatedGpus::areAskedFor(const Variables& variables) {
    return variables(countVariable) || variables(olderCountVariable);
}

SimulatedGpus::SimulatedGpus(const Variables& variables, std::filesystem::path proc)
    : proc_(std::move(proc)) {
    const Settings settings(variables);
    const bool isOlder = !variables(countVariable) && variables(olderCountVariable);
    const std::uint32_t count =
        settings.number(isOlder ? olderCountVariable : countVariable, 2, 1024);
    core::DeviceSample device;
    device.facts.model =
        settings.text("GENV_MOCK_DEVICE_NAME", "NVIDIA GeForce RTX 2080 Ti", core::maxNameLength);
    device.hasUnifiedMemory = variables(totalVariable) == "unified";
    if (!device.hasUnifiedMemory) {
        device.facts.totalMemory = settings.bytes(totalVariable, "16g");
        device.reading.usedMemory = settings.bytes("GENV_MOCK_DEVICE_USED_MEMORY", "10mi");
    }
    device.reading.utilizationPercent = settings.number("GENV_MOCK_DEVICE_UTILIZATION", 93, 100);
    device.reading.powerLimitMilliwatts = simulatedPowerLimit;
    device.reading.temperatureCelsius =
        static_cast<std::int32_t>(settings.number("GENV_MOCK_DEVICE_TEMPERATURE", 38, 1000));
    const std::vector<core::DeviceNode> nodes = settings.nodes(nodesVariable, count);
    const std::vector<core::Bytes> unaccounted = settings.amounts(unaccountedVariable, count);
    for (std::uint32_t index = 0; index < count; ++index) {
        device.facts.index = index;
        device.facts.uuid = fmt::format("GPU-67656e76-0000-4000-8000-{:012x}", index);
        // Place one device on each bus, starting with bus 1, and use as many domains as needed.
        device.pciAddress = fmt::format("{:04x}:{:02x}:00.0", index / 255, index % 255 + 1);
        device.nodes.clear();
        if (index < nodes.size())
            device.nodes.push_back(nodes[index]);
        devices_.push_back(device);
        if (index < unaccounted.size() && !device.hasUnifiedMemory)
            addUnaccounted(devices_.back(), unaccounted[index]);
    }
    processName_ = settings.text("GENV_MOCK_COMPUTE_APPS_PROCESS_NAME", maxProcessNameLength);
    const std::string devices = settings.text("GENV_MOCK_COMPUTE_APPS_DEVICES", "visible", 7);
    if (devices != "visible" && devices != "all")
        fail(ErrorCode::InvalidArgs,
             "GENV_MOCK_COMPUTE_APPS_DEVICES=\"{}\": expected \"visible\" or \"all\"",
             core::escaped(devices));
    usesAll_ = devices == "all";
    processMemory_ = settings.bytes("GENV_MOCK_COMPUTE_APPS_GPU_MEMORY", "42mi");
}

core::GpuSample SimulatedGpus::sample() {
    core::GpuSample sample;
    sample.devices = devices_;
    sample.driverVersion = "simulated";
    if (!processName_)
        return sample;
    for (const core::Pid pid : findProcesses(proc_, *processName_)) {
        const auto process = proc_ / std::to_string(pid);
        // Reading another process's environment may block as long as that process likes.
        for (const core::DeviceSample& device :
             usesAll_ ? devices_ : visibleDevices(process, devices_))
            sample.uses.push_back({pid, device.facts.uuid, processMemory_, utilizationOf(pid)});
    }
    return sample;
}

} // namespace genv::service
