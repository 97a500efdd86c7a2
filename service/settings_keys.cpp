// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings_keys.hpp"

#include "core/duration.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace genv::service {

namespace {

using core::Limits;
using core::Settings;
using std::chrono::milliseconds;

template <milliseconds::rep least>
milliseconds readTime(const std::string& value) {
    const auto time = core::parseDuration(value);
    if (time < milliseconds{least})
        core::fail(core::ErrorCode::InvalidArgs, "it must be at least {}ms", least);
    return time;
}

bool readFlag(const std::string& value) {
    for (const std::string_view yes : {"yes", "true", "on", "1"}) {
        if (value == yes)
            return true;
    }
    for (const std::string_view no : {"no", "false", "off", "0"}) {
        if (value == no)
            return false;
    }
    core::fail(core::ErrorCode::InvalidArgs, "\"{}\" is neither yes nor no", core::escaped(value));
}

core::Backend readBackend(const std::string& value) {
    if (value == "auto")
        return core::Backend::Auto;
    if (value == "nvml")
        return core::Backend::Nvml;
    if (value == "simulated")
        return core::Backend::Simulated;
    core::fail(core::ErrorCode::InvalidArgs, "\"{}\" is none of auto, nvml and simulated",
               core::escaped(value));
}

void readLimit(const std::string& value, std::uint32_t& limit) {
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, limit);
    if (error != std::errc{} || stop != end)
        core::fail(core::ErrorCode::InvalidArgs,
                   "\"{}\" is not a number; write one from 0 to {}, or infinity",
                   core::escaped(value), core::infinite<std::uint32_t>());
}

void readLimit(const std::string& value, core::Bytes& limit) {
    limit = core::parseBytes(value);
}

void readLimit(const std::string& value, milliseconds& limit) {
    limit = readTime<1000>(value);
}

// An empty value unsets, as in a unit file.
template <auto limit>
void readInto(const std::string& value, Limits& limits) {
    using Value = typename std::remove_reference_t<decltype(limits.*limit)>::value_type;
    if (value.empty()) {
        (limits.*limit).reset();
        return;
    }
    Value read = core::infinite<Value>();
    if (value != "infinity")
        readLimit(value, read);
    limits.*limit = read;
}

template <typename Target>
struct Key {
    std::string_view name;
    void (*read)(const std::string& value, Target& target);
};

constexpr std::array gpuKeys{
    Key<Settings>{"Backend", [](const std::string& value,
                                Settings& settings) { settings.backend = readBackend(value); }},
};

constexpr std::array enforcementKeys{
    Key<Settings>{"Interval",
                  [](const std::string& value, Settings& settings) {
                      settings.interval = readTime<1000>(value);
                  }},
    Key<Settings>{"NonEnvProcesses",
                  [](const std::string& value, Settings& settings) {
                      settings.nonEnvProcesses = readFlag(value);
                  }},
    Key<Settings>{"EnvDevices", [](const std::string& value,
                                   Settings& settings) { settings.envDevices = readFlag(value); }},
    Key<Settings>{"EnvMemory", [](const std::string& value,
                                  Settings& settings) { settings.envMemory = readFlag(value); }},
    Key<Settings>{"Grace", [](const std::string& value,
                              Settings& settings) { settings.grace = readTime<0>(value); }},
    Key<Settings>{"KillAfter", [](const std::string& value,
                                  Settings& settings) { settings.killAfter = readTime<0>(value); }},
    Key<Settings>{"DryRun", [](const std::string& value,
                               Settings& settings) { settings.dryRun = readFlag(value); }},
};

constexpr std::array limitKeys{
    Key<Limits>{"MaxDevicesPerUser", readInto<&Limits::maxDevices>},
    Key<Limits>{"MaxEnvironmentsPerUser", readInto<&Limits::maxEnvironments>},
    Key<Limits>{"MaxProcessesPerUser", readInto<&Limits::maxProcesses>},
    Key<Limits>{"MaxGpuMemoryPerUser", readInto<&Limits::maxGpuMemory>},
    Key<Limits>{"MaxGpuMemoryPerDevice", readInto<&Limits::maxGpuMemoryPerDevice>},
    Key<Limits>{"MaxLifetime", readInto<&Limits::maxLifetime>},
    Key<Limits>{"IdleTimeout", readInto<&Limits::idleTimeout>},
};

template <typename Keys>
std::vector<std::string_view> namesOf(const Keys& keys) {
    std::vector<std::string_view> names;
    for (const auto& key : keys)
        names.push_back(key.name);
    return names;
}

template <typename Keys, typename Target>
void readKey(const Keys& keys, std::string_view name, const std::string& value, Target& target) {
    for (const auto& key : keys) {
        if (key.name == name)
            key.read(value, target);
    }
}

} // namespace

std::vector<std::string_view> Section::keys() const {
    if (kind_ == Kind::Gpu)
        return namesOf(gpuKeys);
    return kind_ == Kind::Enforcement ? namesOf(enforcementKeys) : namesOf(limitKeys);
}

bool Section::knows(std::string_view key) const {
    const auto names = keys();
    return std::find(names.begin(), names.end(), key) != names.end();
}

void Section::read(std::string_view key, const std::string& value, Settings& settings) const {
    switch (kind_) {
    case Kind::Gpu:
        return readKey(gpuKeys, key, value, settings);
    case Kind::Enforcement:
        return readKey(enforcementKeys, key, value, settings);
    case Kind::Limits:
        return readKey(limitKeys, key, value, settings.limits.general);
    case Kind::User:
        return readKey(limitKeys, key, value, settings.limits.users[name_]);
    case Kind::Group:
        return readKey(limitKeys, key, value, settings.limits.groups[name_]);
    }
}

std::optional<Section> findSection(std::string_view heading) {
    if (heading == "GPU")
        return Section(Section::Kind::Gpu, "");
    if (heading == "Enforcement")
        return Section(Section::Kind::Enforcement, "");
    if (heading == "Limits")
        return Section(Section::Kind::Limits, "");
    for (const auto& [prefix, kind] :
         {std::pair<std::string_view, Section::Kind>{"User ", Section::Kind::User},
          {"Group ", Section::Kind::Group}}) {
        if (heading.starts_with(prefix) && heading.size() > prefix.size())
            return Section(kind, std::string(heading.substr(prefix.size())));
    }
    return std::nullopt;
}

} // namespace genv::service
