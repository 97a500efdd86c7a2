// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings_keys.hpp"

#include "core/duration.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <type_traits>
#include <utility>

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

std::string writeTime(milliseconds time) {
    const std::string text = core::formatDuration(time);
    return core::parseDuration(text) == time ? text : fmt::format("{}ms", time.count());
}

std::string writeFlag(bool flag) {
    return flag ? "yes" : "no";
}

std::string writeBackend(core::Backend backend) {
    switch (backend) {
    case core::Backend::Nvml:
        return "nvml";
    case core::Backend::Simulated:
        return "simulated";
    case core::Backend::Auto:
        break;
    }
    return "auto";
}

std::string writeLimit(std::uint32_t limit) {
    return std::to_string(limit);
}

std::string writeLimit(core::Bytes limit) {
    return core::formatBytes(limit);
}

std::string writeLimit(milliseconds limit) {
    return writeTime(limit);
}

// What is unset is written as a file unsets it.
template <auto limit>
std::string writeFrom(const Limits& limits) {
    using Value = typename std::remove_cvref_t<decltype(limits.*limit)>::value_type;
    if (!(limits.*limit))
        return "";
    return limits.*limit == core::infinite<Value>() ? "infinity" : writeLimit(*(limits.*limit));
}

template <typename Target>
struct Key {
    std::string_view name;
    void (*read)(const std::string& value, Target& target);
    std::string (*write)(const Target& target);
};

constexpr std::array gpuKeys{
    Key<Settings>{
        "Backend",
        [](const std::string& value, Settings& settings) { settings.backend = readBackend(value); },
        [](const Settings& settings) { return writeBackend(settings.backend); }},
};

template <auto flag>
constexpr Key<Settings> flagKey(std::string_view name) {
    return {name,
            [](const std::string& value, Settings& settings) { settings.*flag = readFlag(value); },
            [](const Settings& settings) { return writeFlag(settings.*flag); }};
}

template <auto time, milliseconds::rep least>
constexpr Key<Settings> timeKey(std::string_view name) {
    return {name,
            [](const std::string& value, Settings& settings) {
                settings.*time = readTime<least>(value);
            },
            [](const Settings& settings) { return writeTime(settings.*time); }};
}

constexpr std::array enforcementKeys{
    timeKey<&Settings::interval, 1000>("Interval"),
    flagKey<&Settings::nonEnvProcesses>("NonEnvProcesses"),
    flagKey<&Settings::envDevices>("EnvDevices"),
    flagKey<&Settings::envMemory>("EnvMemory"),
    timeKey<&Settings::grace, 0>("Grace"),
    timeKey<&Settings::killAfter, 0>("KillAfter"),
    flagKey<&Settings::linger>("Linger"),
    flagKey<&Settings::dryRun>("DryRun"),
};

constexpr std::array queueKeys{
    timeKey<&Settings::maxWait, 1000>("MaxWait"),
    timeKey<&Settings::keepFor, 0>("KeepFor"),
};

template <auto limit>
constexpr Key<Limits> limitKey(std::string_view name) {
    return {name, readInto<limit>, writeFrom<limit>};
}

constexpr std::array limitKeys{
    limitKey<&Limits::maxDevices>("MaxDevicesPerUser"),
    limitKey<&Limits::maxEnvironments>("MaxEnvironmentsPerUser"),
    limitKey<&Limits::maxProcesses>("MaxProcessesPerUser"),
    limitKey<&Limits::maxGpuMemory>("MaxGpuMemoryPerUser"),
    limitKey<&Limits::maxGpuMemoryPerDevice>("MaxGpuMemoryPerDevice"),
    limitKey<&Limits::maxLifetime>("MaxLifetime"),
    limitKey<&Limits::idleTimeout>("IdleTimeout"),
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

template <typename Keys, typename Target>
std::string writeKey(const Keys& keys, std::string_view name, const Target& target) {
    for (const auto& key : keys) {
        if (key.name == name)
            return key.write(target);
    }
    return "";
}

const Limits& limitsOf(const std::map<std::string, Limits>& table, const std::string& name) {
    static const Limits none;
    const auto found = table.find(name);
    return found == table.end() ? none : found->second;
}

} // namespace

std::vector<std::string_view> Section::keys() const {
    if (kind_ == Kind::Gpu)
        return namesOf(gpuKeys);
    if (kind_ == Kind::Queue)
        return namesOf(queueKeys);
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
    case Kind::Queue:
        return readKey(queueKeys, key, value, settings);
    case Kind::Limits:
        return readKey(limitKeys, key, value, settings.limits.general);
    case Kind::User:
        return readKey(limitKeys, key, value, settings.limits.users[name_]);
    case Kind::Group:
        return readKey(limitKeys, key, value, settings.limits.groups[name_]);
    }
}

std::string Section::write(std::string_view key, const Settings& settings) const {
    switch (kind_) {
    case Kind::Gpu:
        return writeKey(gpuKeys, key, settings);
    case Kind::Enforcement:
        return writeKey(enforcementKeys, key, settings);
    case Kind::Queue:
        return writeKey(queueKeys, key, settings);
    case Kind::Limits:
        return writeKey(limitKeys, key, settings.limits.general);
    case Kind::User:
        return writeKey(limitKeys, key, limitsOf(settings.limits.users, name_));
    case Kind::Group:
        break;
    }
    return writeKey(limitKeys, key, limitsOf(settings.limits.groups, name_));
}

std::optional<Section> findSection(std::string_view heading) {
    if (heading == "GPU")
        return Section(Section::Kind::Gpu, "");
    if (heading == "Enforcement")
        return Section(Section::Kind::Enforcement, "");
    if (heading == "Queue")
        return Section(Section::Kind::Queue, "");
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

std::vector<std::string> settingsChanged(const Settings& before, const Settings& after) {
    std::vector<std::pair<std::string, Section>> sections{
        {"", {Section::Kind::Gpu, ""}},
        {"", {Section::Kind::Enforcement, ""}},
        {"", {Section::Kind::Queue, ""}},
        {"", {Section::Kind::Limits, ""}},
    };
    const auto addNamed = [&](const std::string& prefix, Section::Kind kind,
                              std::map<std::string, Limits> tables,
                              const std::map<std::string, Limits>& others) {
        tables.insert(others.begin(), others.end());
        for (const auto& [name, limits] : tables)
            sections.push_back({prefix + name + ".", {kind, name}});
    };
    addNamed("User.", Section::Kind::User, before.limits.users, after.limits.users);
    addNamed("Group.", Section::Kind::Group, before.limits.groups, after.limits.groups);
    std::vector<std::string> changes;
    for (const auto& [prefix, section] : sections) {
        for (const std::string_view key : section.keys()) {
            std::string value = section.write(key, after);
            if (value == section.write(key, before))
                continue;
            std::erase(value, ' '); // "1h 30min" is the same without
            changes.push_back(fmt::format("{}{}={}", prefix, key, value));
        }
    }
    return changes;
}

} // namespace genv::service
