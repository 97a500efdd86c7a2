// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/settings_keys.hpp"

#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/settings/limit_definitions.hpp"
#include "service/settings/isolation_values.hpp"
#include "service/settings/slurm_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace genv::service {

namespace {

using core::Limits;
using core::Settings;
using std::chrono::milliseconds;

constexpr milliseconds leastInterval{1000};

milliseconds readTime(const std::string& value, milliseconds least) {
    const auto time = core::parseDuration(value);
    if (time < least)
        core::fail(core::ErrorCode::InvalidArgs, "expected at least {}ms", least.count());
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
    core::fail(core::ErrorCode::InvalidArgs, "invalid value \"{}\": expected yes or no",
               core::escaped(value));
}

core::Backend readBackend(const std::string& value) {
    if (value == "auto")
        return core::Backend::Auto;
    if (value == "nvml")
        return core::Backend::Nvml;
    if (value == "simulated")
        return core::Backend::Simulated;
    core::fail(core::ErrorCode::InvalidArgs,
               "invalid value \"{}\": expected auto, nvml or simulated", core::escaped(value));
}

void readLimit(const std::string& value, std::uint32_t& limit) {
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, limit);
    if (error != std::errc{} || stop != end)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid value \"{}\": expected a number from 0 to {}, or infinity",
                   core::escaped(value), core::infinite<std::uint32_t>());
}

// Reads a number within bounds.
std::uint32_t readNumber(const std::string& value, std::uint32_t least, std::uint32_t most) {
    std::uint32_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || stop != end || number < least || number > most)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid value \"{}\": expected a number from {} to {}", core::escaped(value),
                   least, most);
    return number;
}

core::QueueOrder readOrder(const std::string& value) {
    if (value == "fifo")
        return core::QueueOrder::Fifo;
    if (value == "fair")
        return core::QueueOrder::Fair;
    core::fail(core::ErrorCode::InvalidArgs, "invalid value \"{}\": expected fifo or fair",
               core::escaped(value));
}

core::IdleAction readIdleAction(const std::string& value) {
    if (value == "detach")
        return core::IdleAction::Detach;
    if (value == "park")
        return core::IdleAction::Park;
    core::fail(core::ErrorCode::InvalidArgs, "invalid action \"{}\": expected detach or park",
               core::escaped(value));
}

void readLimit(const std::string& value, core::Bytes& limit) {
    limit = core::parseBytes(value);
}

void readLimit(const std::string& value, milliseconds& limit) {
    limit = readTime(value, leastInterval);
}

// An empty value unsets the limit, as in a unit file.
template <typename Value>
void readLimit(const std::string& value, std::optional<Value>& limit) {
    if (value.empty()) {
        limit.reset();
        return;
    }
    Value read = core::infinite<Value>();
    if (value != "infinity")
        readLimit(value, read);
    limit = read;
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

// An unset limit is written as an empty value, which unsets it in a file.
template <typename Value>
std::string writeLimit(const std::optional<Value>& limit) {
    if (!limit)
        return "";
    return *limit == core::infinite<Value>() ? "infinity" : writeLimit(*limit);
}

template <typename Target>
struct Key {
    std::string_view name;
    std::function<void(const std::string& value, Target& target)> read;
    std::function<std::string(const Target& target)> write;
};
template <typename Target>
using Keys = std::vector<Key<Target>>;

Key<Settings> flagKey(std::string_view name, bool Settings::*flag) {
    return {name,
            [=](const std::string& value, Settings& settings) { settings.*flag = readFlag(value); },
            [=](const Settings& settings) { return writeFlag(settings.*flag); }};
}

Key<Settings> timeKey(std::string_view name, milliseconds Settings::*time, milliseconds least) {
    return {name,
            [=](const std::string& value, Settings& settings) {
                settings.*time = readTime(value, least);
            },
            [=](const Settings& settings) { return writeTime(settings.*time); }};
}

Key<Settings> ruleKey(const core::RuleSwitch& rule) {
    return {rule.key,
            [=](const std::string& value, Settings& settings) {
                settings.rules.*rule.member = readFlag(value);
            },
            [=](const Settings& settings) { return writeFlag(settings.rules.*rule.member); }};
}

Key<Limits> limitKey(const core::LimitDefinition& limit) {
    return {limit.key,
            [member = limit.member](const std::string& value, Limits& limits) {
                std::visit([&](auto which) { readLimit(value, limits.*which); }, member);
            },
            [member = limit.member](const Limits& limits) {
                return std::visit([&](auto which) { return writeLimit(limits.*which); }, member);
            }};
}

Keys<Settings> makeEnforcementKeys() {
    Keys<Settings> keys{timeKey("Interval", &Settings::interval, leastInterval)};
    for (const core::SwitchedRule& switched : core::switchedRules())
        keys.push_back(ruleKey(switched.toggle));
    keys.push_back(timeKey("Grace", &Settings::grace, milliseconds{0}));
    keys.push_back(timeKey("KillAfter", &Settings::killAfter, milliseconds{0}));
    keys.push_back({"IdleAction",
                    [](const std::string& value, Settings& settings) {
                        settings.idleAction = readIdleAction(value);
                    },
                    [](const Settings& settings) { return core::toString(settings.idleAction); }});
    keys.push_back(flagKey("Linger", &Settings::linger));
    keys.push_back(flagKey("KeepGrants", &Settings::keepGrants));
    keys.push_back(flagKey("DryRun", &Settings::dryRun));
    return keys;
}

Keys<Limits> makeLimitKeys() {
    Keys<Limits> keys;
    for (const core::LimitDefinition& limit : core::limitDefinitions())
        keys.push_back(limitKey(limit));
    return keys;
}

const Keys<Settings>& gpuKeys() {
    static const Keys<Settings> keys{
        {"Backend",
         [](const std::string& value, Settings& settings) {
             settings.backend = readBackend(value);
         },
         [](const Settings& settings) { return writeBackend(settings.backend); }},
        {"UnifiedMemory",
         [](const std::string& value, Settings& settings) {
             settings.unifiedMemory =
                 value.empty() ? std::nullopt : std::optional(core::parseBytes(value));
         },
         [](const Settings& settings) {
             return settings.unifiedMemory ? core::formatBytes(*settings.unifiedMemory) : "";
         }}};
    return keys;
}

const Keys<Settings>& enforcementKeys() {
    static const Keys<Settings> keys = makeEnforcementKeys();
    return keys;
}

const Keys<Settings>& queueKeys() {
    static const Keys<Settings> keys{
        timeKey("MaxWait", &Settings::maxWait, leastInterval),
        timeKey("KeepFor", &Settings::keepFor, milliseconds{0}),
        {"Order",
         [](const std::string& value, Settings& settings) { settings.order = readOrder(value); },
         [](const Settings& settings) { return core::toString(settings.order); }},
        timeKey("HalfLife", &Settings::halfLife, leastInterval),
        {"MaxOvertaking",
         [](const std::string& value, Settings& settings) {
             settings.maxOvertaking = readNumber(value, 0, core::infinite<std::uint32_t>());
         },
         [](const Settings& settings) { return std::to_string(settings.maxOvertaking); }},
        timeKey("MaxFirst", &Settings::maxFirst, milliseconds{0})};
    return keys;
}

const Keys<Settings>& isolationKeys() {
    static const Keys<Settings> keys{
        {"Isolation",
         [](const std::string& value, Settings& settings) {
             settings.isolation.mode = readIsolationMode(value);
         },
         [](const Settings& settings) { return core::toString(settings.isolation.mode); }},
        {"IsolationExempt",
         [](const std::string& value, Settings& settings) {
             readExemptions(value, settings.isolation);
         },
         [](const Settings& settings) { return writeExemptions(settings.isolation); }},
        {"DockerUser",
         [](const std::string& value, Settings& settings) {
             settings.isolation.dockerUser = readFlag(value);
         },
         [](const Settings& settings) { return writeFlag(settings.isolation.dockerUser); }},
        {"IsolationOpenDevices",
         [](const std::string& value, Settings& settings) {
             readOpenDevices(value, settings.isolation);
         },
         [](const Settings& settings) { return writeOpenDevices(settings.isolation); }},
        {"IsolationRenderNodes",
         [](const std::string& value, Settings& settings) {
             settings.isolation.renderNodes = readFlag(value);
         },
         [](const Settings& settings) { return writeFlag(settings.isolation.renderNodes); }}};
    return keys;
}

const Keys<Settings>& slurmKeys() {
    static const Keys<Settings> keys{
        {"Devices",
         [](const std::string& value, Settings& settings) {
             settings.slurm.devices = readSlurmDevices(value);
         },
         [](const Settings& settings) { return writeSlurmDevices(settings.slurm.devices); }},
        {"IdleAction",
         [](const std::string& value, Settings& settings) {
             settings.slurm.idleAction = readSlurmIdleAction(value);
         },
         [](const Settings& settings) { return core::toString(settings.slurm.idleAction); }},
        {"BinDir",
         [](const std::string& value, Settings& s) { s.slurm.binDir = readSlurmBinDir(value); },
         [](const Settings& settings) { return settings.slurm.binDir; }}};
    return keys;
}

core::MemoryPart readMemoryPart(const std::string& value) {
    if (!value.ends_with('%'))
        return {std::nullopt, core::parseBytes(value)};
    return {readNumber(value.substr(0, value.size() - 1), 0, 100), core::Bytes{0}};
}

std::string writeMemoryPart(const core::MemoryPart& part) {
    return part.percent ? fmt::format("{}%", *part.percent) : core::formatBytes(part.bytes);
}

Key<Settings> parkingFlag(std::string_view name, bool core::ParkingSettings::*flag) {
    return {name,
            [=](const std::string& value, Settings& settings) {
                settings.parking.*flag = readFlag(value);
            },
            [=](const Settings& settings) { return writeFlag(settings.parking.*flag); }};
}

Key<Settings> parkingTime(std::string_view name, milliseconds core::ParkingSettings::*time) {
    return {name,
            [=](const std::string& value, Settings& settings) {
                settings.parking.*time = readTime(value, leastInterval);
            },
            [=](const Settings& settings) { return writeTime(settings.parking.*time); }};
}

// An empty value means no limit.
Key<Settings> parkingLimit(std::string_view name,
                           std::optional<core::Bytes> core::ParkingSettings::*limit) {
    return {name,
            [=](const std::string& value, Settings& settings) {
                settings.parking.*limit =
                    value.empty() ? std::nullopt : std::optional(core::parseBytes(value));
            },
            [=](const Settings& settings) {
                const auto& set = settings.parking.*limit;
                return set ? core::formatBytes(*set) : std::string();
            }};
}

const Keys<Settings>& parkingKeys() {
    using Parking = core::ParkingSettings;
    static const Keys<Settings> keys{
        parkingFlag("Enable", &Parking::enable),
        {"KeepMemory",
         [](const std::string& value, Settings& settings) {
             settings.parking.keepMemory = readMemoryPart(value);
         },
         [](const Settings& settings) { return writeMemoryPart(settings.parking.keepMemory); }},
        parkingLimit("MaxMemory", &Parking::maxMemory),
        parkingLimit("MaxMemoryPerUser", &Parking::maxMemoryPerUser),
        parkingTime("LockTimeout", &Parking::lockTimeout),
        parkingTime("MaxParkedTime", &Parking::maxParkedTime),
        parkingFlag("MultiGpu", &Parking::multiGpu),
        parkingFlag("WithoutIsolation", &Parking::withoutIsolation),
        parkingFlag("AtLeaseEnd", &Parking::atLeaseEnd),
        {"Turn",
         [](const std::string& value, Settings& settings) {
             settings.parking.turn =
                 value.empty() ? std::nullopt : std::optional(readTime(value, leastInterval));
         },
         [](const Settings& settings) { return writeLimit(settings.parking.turn); }},
        parkingTime("Timeout", &Parking::timeout)};
    return keys;
}

const Keys<Limits>& limitKeys() {
    static const Keys<Limits> keys = makeLimitKeys();
    return keys;
}

// An empty value unsets the weight, as it does a limit.
void readWeight(const std::string& value, Limits& limits) {
    limits.weight.reset();
    if (!value.empty())
        limits.weight = readNumber(value, 1, core::maxWeight);
}

Keys<Limits> makePersonKeys() {
    Keys<Limits> keys = limitKeys();
    keys.push_back(
        {"Weight", readWeight, [](const Limits& limits) { return writeLimit(limits.weight); }});
    return keys;
}

// The keys of sections that name a user or a group.
const Keys<Limits>& personKeys() {
    static const Keys<Limits> keys = makePersonKeys();
    return keys;
}

template <typename Target>
std::vector<std::string_view> namesOf(const Keys<Target>& keys) {
    std::vector<std::string_view> names;
    for (const auto& key : keys)
        names.push_back(key.name);
    return names;
}

template <typename Target>
void readKey(const Keys<Target>& keys, std::string_view name, const std::string& value,
             Target& target) {
    for (const auto& key : keys) {
        if (key.name == name)
            key.read(value, target);
    }
}

template <typename Target>
std::string writeKey(const Keys<Target>& keys, std::string_view name, const Target& target) {
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

// Returns the keys of a section with its own settings, or null if the section holds limits.
const Keys<Settings>* settingsKeys(Section::Kind kind) {
    switch (kind) {
    case Section::Kind::Gpu:
        return &gpuKeys();
    case Section::Kind::Enforcement:
        return &enforcementKeys();
    case Section::Kind::Queue:
        return &queueKeys();
    case Section::Kind::Isolation:
        return &isolationKeys();
    case Section::Kind::Slurm:
        return &slurmKeys();
    case Section::Kind::Parking:
        return &parkingKeys();
    case Section::Kind::Limits:
    case Section::Kind::User:
    case Section::Kind::Group:
        break;
    }
    return nullptr;
}

// The sections without a user or group name, in the order of their documentation.
constexpr std::array plainSections{
    std::pair<std::string_view, Section::Kind>{"GPU", Section::Kind::Gpu},
    std::pair<std::string_view, Section::Kind>{"Enforcement", Section::Kind::Enforcement},
    std::pair<std::string_view, Section::Kind>{"Queue", Section::Kind::Queue},
    std::pair<std::string_view, Section::Kind>{"Isolation", Section::Kind::Isolation},
    std::pair<std::string_view, Section::Kind>{"Slurm", Section::Kind::Slurm},
    std::pair<std::string_view, Section::Kind>{"Parking", Section::Kind::Parking},
    std::pair<std::string_view, Section::Kind>{"Limits", Section::Kind::Limits},
};

} // namespace

std::vector<std::string_view> Section::keys() const {
    const Keys<Settings>* keys = settingsKeys(kind_);
    if (keys != nullptr)
        return namesOf(*keys);
    return namesOf(kind_ == Kind::Limits ? limitKeys() : personKeys());
}

bool Section::has(std::string_view key) const {
    const auto names = keys();
    return std::find(names.begin(), names.end(), key) != names.end();
}

void Section::read(std::string_view key, const std::string& value, Settings& settings) const {
    if (const Keys<Settings>* keys = settingsKeys(kind_))
        readKey(*keys, key, value, settings);
    else if (kind_ == Kind::User)
        readKey(personKeys(), key, value, settings.limits.users[name_]);
    else if (kind_ == Kind::Group)
        readKey(personKeys(), key, value, settings.limits.groups[name_]);
    else
        readKey(limitKeys(), key, value, settings.limits.general);
}

std::string Section::write(std::string_view key, const Settings& settings) const {
    if (const Keys<Settings>* keys = settingsKeys(kind_))
        return writeKey(*keys, key, settings);
    if (kind_ == Kind::User)
        return writeKey(personKeys(), key, limitsOf(settings.limits.users, name_));
    if (kind_ == Kind::Group)
        return writeKey(personKeys(), key, limitsOf(settings.limits.groups, name_));
    return writeKey(limitKeys(), key, settings.limits.general);
}

std::optional<Section> findSection(std::string_view heading) {
    for (const auto& [name, kind] : plainSections) {
        if (heading == name)
            return Section(kind, "");
    }
    for (const auto& [prefix, kind] :
         {std::pair<std::string_view, Section::Kind>{"User ", Section::Kind::User},
          {"Group ", Section::Kind::Group}}) {
        if (heading.starts_with(prefix) && heading.size() > prefix.size())
            return Section(kind, std::string(heading.substr(prefix.size())));
    }
    return std::nullopt;
}

std::vector<std::string> settingsChanged(const Settings& before, const Settings& after) {
    std::vector<std::pair<std::string, Section>> sections;
    for (const auto& [heading, kind] : plainSections)
        sections.push_back({"", {kind, ""}});
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
            // A duration such as "1h 30min" may be written without blanks, unlike a list of words.
            if (section.separatesByBlanks())
                std::ranges::replace(value, ' ', ',');
            else
                std::erase(value, ' ');
            changes.push_back(fmt::format("{}{}={}", prefix, key, value));
        }
    }
    return changes;
}

} // namespace genv::service
