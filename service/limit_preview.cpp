// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/limit_preview.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/user_database.hpp"
#include "core/rules/outside_preview.hpp"
#include "core/rules/over_limits.hpp"
#include "service/isolation/identities.hpp"
#include "service/name_lookups.hpp"
#include "service/processes/proc_files.hpp"
#include "service/user_directory.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace genv::service {

namespace {

struct UserUse {
    core::Uid uid = 0;
    std::map<std::string_view, std::uint64_t> amounts; // by key
};

// Removes the text up to a separator, or all of it, and returns it.
std::string_view takeUpTo(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

template <typename Number>
Number readNumber(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        core::fail(core::ErrorCode::InvalidArgs, "invalid use \"{}\": expected a number",
                   core::escaped(text));
    return number;
}

UserUse parseUse(std::string_view text) {
    UserUse use{readNumber<core::Uid>(takeUpTo(text, ':')), {}};
    while (!text.empty()) {
        std::string_view amount = takeUpTo(text, ',');
        const std::string_view key = takeUpTo(amount, '=');
        use.amounts[key] = readNumber<std::uint64_t>(amount);
    }
    return use;
}

core::NamedIds resolveNames(const std::set<std::string>& names, bool areGroups) {
    core::NamedIds ids;
    for (const std::string& name : names) {
        try {
            if (const auto id = NameLookups::findInSystem({areGroups, name}, std::nullopt))
                ids.names[*id].insert(name);
            else
                ids.nobody.insert(name);
        } catch (const core::UserDatabaseError&) {
            ids.unanswered.insert(name);
        }
    }
    return ids;
}

core::UserInfo userNumbered(core::Uid uid) {
    const core::UserInfo unknown{uid, std::to_string(uid), {}, true};
    core::UserInfo user = UserDirectory::lookUpSystem(uid).value_or(unknown);
    if (user.name.empty())
        user.name = unknown.name;
    return user;
}

// A process outside every environment, and its uses by UUID.
struct OutsideUser {
    core::Uid uid = 0;
    core::Pid pid = 0;
    struct Use {
        core::DeviceIndex index = 0;
        core::DeviceUuid uuid;
        bool isHeld = false;
    };
    std::vector<Use> uses;
};

OutsideUser parseOutside(std::string_view text) {
    OutsideUser process{
        readNumber<core::Uid>(takeUpTo(text, ':')), readNumber<core::Pid>(takeUpTo(text, ':')), {}};
    while (!text.empty()) {
        std::string_view use = takeUpTo(text, ',');
        const auto index = readNumber<core::DeviceIndex>(takeUpTo(use, '='));
        const std::string_view uuid = takeUpTo(use, '=');
        process.uses.push_back({index, core::DeviceUuid(uuid), use == "held"});
    }
    return process;
}

// Slurm judges the processes of its jobs on its own GPUs, known to genv or not.
bool isOfJob(const OutsideUser& process, const core::SlurmSettings& slurm) {
    return !slurm.devices.empty() && std::ranges::all_of(process.uses, [&](const auto& use) {
        return slurm.devices.contains(use.uuid);
    }) && readSlurmCgroup(process.pid);
}

// Decides which uses isolation would refuse.
class Guard {
  public:
    explicit Guard(const core::Settings& settings) : settings_(settings) {
        if (settings.isolation.mode != core::IsolationMode::None)
            exempt_ = isolation::exemptUids(
                isolation::IdentityFiles().read(settings.isolation, {}).blocks);
    }
    [[nodiscard]] bool refuses(core::Uid uid, const OutsideUser::Use& use) const {
        const auto& open = settings_.isolation.openDevices;
        return !use.isHeld && !settings_.slurm.devices.contains(use.uuid) &&
               std::ranges::find(open, use.uuid) == open.end() &&
               std::ranges::none_of(exempt_, [uid](const core::UidRange& range) {
                   return range.first <= uid && uid <= range.last;
               });
    }

  private:
    const core::Settings& settings_;
    std::vector<core::UidRange> exempt_;
};

} // namespace

std::vector<std::string> previewLimits(core::Settings settings,
                                       const std::vector<std::string>& used) {
    const core::Names names = settings.limits.names();
    settings.limits.ids = {resolveNames(names.users, false), resolveNames(names.groups, true)};
    std::vector<std::string> sentences;
    for (const std::string& text : used) {
        const UserUse user = parseUse(text);
        const core::UserInfo info = userNumbered(user.uid);
        const core::Limits limits = settings.limits.enforcedOn(info);
        std::vector<core::LimitUse> uses;
        for (const core::LimitDefinition& limit : core::limitDefinitions()) {
            const auto amount = user.amounts.find(limit.key);
            if (amount != user.amounts.end())
                uses.push_back({limit.key, limit.allowed(limits), amount->second});
        }
        std::ranges::move(core::describeOverLimits(info.name, uses, settings),
                          std::back_inserter(sentences));
    }
    return sentences;
}

std::vector<std::string> previewOutside(const core::Settings& settings,
                                        const std::vector<std::string>& outside) {
    const Guard guard(settings);
    std::map<core::Uid, std::vector<core::OutsideProcess>> users;
    for (const std::string& text : outside) {
        const OutsideUser process = parseOutside(text);
        if (isOfJob(process, settings.slurm))
            continue;
        core::OutsideProcess& shown = users[process.uid].emplace_back();
        shown.pid = process.pid;
        for (const OutsideUser::Use& use : process.uses)
            shown.uses.push_back({use.index, guard.refuses(process.uid, use)});
    }
    std::vector<std::string> sentences;
    for (const auto& [uid, processes] : users)
        std::ranges::move(core::describeOutside(userNumbered(uid).name, processes, settings),
                          std::back_inserter(sentences));
    return sentences;
}

} // namespace genv::service
