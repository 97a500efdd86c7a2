// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/message.hpp"

#include "core/sentences.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace genv::notify {

namespace {

using core::DeviceIndex;

// The maximum number of lines in a summary.
constexpr std::size_t maxLines = 8;
constexpr std::string_view rulePrefix = "rule:";

std::uint64_t toNumber(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// A notice, with typed access to its details.
class Details {
  public:
    explicit Details(const Notice& notice) : notice_(notice) {}

    [[nodiscard]] std::string text(const char* key) const {
        const auto found = notice_.details.find(key);
        return found == notice_.details.end() ? std::string() : found->second;
    }
    [[nodiscard]] std::uint64_t number(const char* key) const { return toNumber(text(key)); }
    [[nodiscard]] bool has(const char* key) const { return notice_.details.contains(key); }
    [[nodiscard]] NamedDevice device() const {
        return {static_cast<DeviceIndex>(number("device")), text("uuid")};
    }
    [[nodiscard]] std::vector<DeviceIndex> devices() const { return numbers("devices"); }
    [[nodiscard]] std::vector<core::Pid> pids() const { return numbers("pids"); }

  private:
    [[nodiscard]] std::vector<std::uint32_t> numbers(const char* key) const {
        std::vector<std::uint32_t> result;
        const std::string list = text(key);
        for (std::string_view rest = list; !rest.empty();) {
            const std::string_view one = rest.substr(0, rest.find(','));
            result.push_back(static_cast<std::uint32_t>(toNumber(one)));
            rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        }
        return result;
    }

    const Notice& notice_;
};

/// Notices that are combined to one sentence.
struct Group {
    std::string kind;
    std::string environment;
    std::string reason;
    std::string actor; ///< a user name
    std::map<DeviceIndex, std::string> devices;
    core::NamedProcesses processes;
    ReceivedNotice last;

    [[nodiscard]] std::vector<DeviceIndex> indices() const {
        std::vector<DeviceIndex> result;
        for (const auto& [index, uuid] : devices)
            result.push_back(index);
        return result;
    }
    [[nodiscard]] std::vector<core::Pid> pids() const {
        std::vector<core::Pid> result;
        for (const auto& [pid, command] : processes)
            result.push_back(pid);
        return result;
    }
    [[nodiscard]] bool isRule() const {
        return std::string_view(reason).substr(0, rulePrefix.size()) == rulePrefix;
    }
    /// Returns the rule that is the reason, or an empty text if the reason is not a rule.
    [[nodiscard]] std::string_view rule() const {
        return isRule() ? std::string_view(reason).substr(rulePrefix.size()) : std::string_view();
    }
    [[nodiscard]] core::WallTime end() const {
        return last.when + std::chrono::seconds(Details(last.notice).number("left"));
    }
};

/// The content of a message about a group.
struct Part {
    Urgency urgency = Urgency::Normal;
    std::string category;
    std::string title;
    std::string sentence;
    std::string hint;
    std::optional<Action> action;
};

std::string nameEnvironment(const Notice& notice) {
    const std::string id = core::escaped(notice.environment);
    const auto name = notice.details.find("name");
    return name == notice.details.end() ? id
                                        : fmt::format("{} ({})", core::escaped(name->second), id);
}

std::string capitalised(std::string text) {
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text;
}

// Returns how to avoid further actions of a rule. A rule that is not listed here enforces a limit
// on the user.
std::string adviceOn(std::string_view rule) {
    if (rule == "non-env-processes")
        return "Run the program in an environment: \"genvctl run --gpus 1 -- COMMAND\"";
    if (rule == "env-devices")
        return "Use only the GPUs in CUDA_VISIBLE_DEVICES; \"genv attach\" attaches another";
    if (rule == "env-memory")
        return "Use less GPU memory, or take a larger share with --gpu-memory";
    return "\"genvctl limits\" shows your limits";
}

std::string adviceFor(const Group& group, const char* next) {
    if (group.reason == "admin")
        return fmt::format("Ask {} why; {}.", group.actor, next);
    if (group.isRule())
        return fmt::format("{}; {}.", adviceOn(group.rule()), next);
    return capitalised(next) + ".";
}

Part describeDetached(const Group& group) {
    const auto indices = group.indices();
    const bool isLost = group.reason == "device-lost";
    Part part{isLost ? Urgency::Critical : Urgency::Normal,
              isLost ? "device.error" : "device.removed",
              fmt::format("{} {} {}", core::nameGpus(indices), indices.size() == 1 ? "was" : "were",
                          isLost ? "lost" : "taken away"),
              core::describeChange(indices, false, group.reason, group.actor),
              adviceFor(group, "\"genv attach\" attaches another"),
              std::nullopt};
    if (!isLost) {
        part.action = Action{Action::Kind::AttachAgain, group.environment, {}, {}};
        for (const auto& [index, uuid] : group.devices)
            part.action->devices.push_back({index, uuid});
    }
    return part;
}

Part describeAttached(const Group& group) {
    const auto indices = group.indices();
    return {Urgency::Low,
            "device.added",
            fmt::format("{} {} attached", core::nameGpus(indices),
                        indices.size() == 1 ? "was" : "were"),
            core::describeChange(indices, true, group.reason.empty() ? "admin" : group.reason,
                                 group.actor),
            {},
            std::nullopt};
}

Part describeEnded(const Group& group) {
    return {Urgency::Critical,
            "x-genv.environment.ended",
            fmt::format("Environment {} was ended", nameEnvironment(group.last.notice)),
            core::describeEnd(group.reason, group.actor),
            adviceFor(group, "\"genv activate\" starts another"),
            std::nullopt};
}

Part describeTerminated(const Group& group) {
    return {Urgency::Critical,
            "x-genv.process.terminated",
            capitalised(fmt::format("{} {} ended", core::nameProcesses(group.processes),
                                    group.processes.size() == 1 ? "was" : "were")),
            core::describeTermination(group.processes, group.indices(), group.reason, group.actor),
            group.reason == "admin" ? fmt::format("Ask {} why.", group.actor)
            : group.isRule()        ? adviceOn(group.rule()) + "."
                                    : "",
            std::nullopt};
}

Part describeGranted(const Group& group) {
    const auto indices = group.indices();
    return {Urgency::Normal,
            "device.added",
            fmt::format("{} {} yours", core::nameGpus(indices), indices.size() == 1 ? "is" : "are"),
            core::describeGrant(indices,
                                std::chrono::seconds(Details(group.last.notice).number("waited"))),
            {},
            std::nullopt};
}

Part describeOccupied(const Group& group) {
    const auto indices = group.indices();
    const std::string gpus = core::nameGpus(indices);
    const auto pids = group.pids();
    const Details details(group.last.notice);
    const std::string owner =
        pids.size() == 1 && details.has("owner")
            ? " of " + userName(static_cast<std::uint32_t>(details.number("owner")))
            : "";
    return {Urgency::Low,
            "device",
            fmt::format("{} {} in use", gpus, indices.size() == 1 ? "is" : "are"),
            pids.empty() ? fmt::format("a process of another user still runs on {}", gpus)
                         : fmt::format("{}{} still {} on {}", core::nameProcesses(pids), owner,
                                       pids.size() == 1 ? "runs" : "run", gpus),
            {},
            std::nullopt};
}

Part describeLingering(const Group& group) {
    const auto indices = group.indices();
    const std::string gpus = core::nameGpus(indices);
    return {Urgency::Normal,
            "device",
            fmt::format("{} {} still in use", gpus, indices.size() == 1 ? "is" : "are"),
            core::describeLingering(indices, group.pids()),
            fmt::format("\"genvctl deactivate --id {} --kill\" ends them.",
                        core::escaped(group.environment)),
            std::nullopt};
}

Part describeExpiring(const Group& group) {
    return {Urgency::Normal,
            "x-genv.lease.ending",
            "A lease ends soon",
            core::describeLeaseEnding(group.indices(), group.end()),
            {},
            Action{Action::Kind::Extend, group.environment, group.end(), {}}};
}

Part describeWarned(const Group& group) {
    const Details details(group.last.notice);
    if (details.number("left") == 0) // the rule takes no action
        return {Urgency::Normal,
                "x-genv.rule.warning",
                fmt::format("The rule {} found a violation", core::escaped(details.text("rule"))),
                core::describeWarning(details.text("message"), details.text("rule"), std::nullopt),
                adviceOn(details.text("rule")) + ".",
                std::nullopt};
    return {Urgency::Normal,
            "x-genv.rule.warning",
            fmt::format("The rule {} acts soon", core::escaped(details.text("rule"))),
            core::describeWarning(details.text("message"), details.text("rule"), group.end()),
            fmt::format("If the violation ends before, the rule does nothing. {}.",
                        adviceOn(details.text("rule"))),
            std::nullopt};
}

Part describeMemory(const Group& group) {
    const Details details(group.last.notice);
    const core::Bytes used{details.number("used")};
    const core::Bytes share{details.number("share")};
    return {Urgency::Normal,
            "x-genv.memory",
            used > share ? "GPU memory exceeds its share" : "GPU memory is nearly full",
            core::describeMemory(details.device().index, used, share),
            used > share ? "Use less memory: processes above the share may be ended."
                         : "Processes above the share may be ended.",
            std::nullopt};
}

Part describeHealth(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    const std::string health = details.text("health");
    const bool isWell = health == "ok";
    const bool isOld = health == "stale";
    return {isWell || isOld ? Urgency::Low : Urgency::Critical,
            isWell ? "device" : "device.error",
            fmt::format("GPU {} {}", index, isWell ? "is healthy again" : "is unhealthy"),
            core::describeHealth(index, health),
            isWell || isOld ? "" : "Save your work; \"genv attach\" attaches another.",
            std::nullopt};
}

Part describeSharing(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    return {Urgency::Low,
            "x-genv.device.shared",
            fmt::format("GPU {} is now shared", index),
            core::describeSharing(index, details.text("by"), group.actor),
            "Take turns with \"genv lock COMMAND\".",
            std::nullopt};
}

Part describeRefused(const Group& group) {
    const Details details(group.last.notice);
    const DeviceIndex index = details.device().index;
    return {Urgency::Normal,
            "device.error",
            fmt::format("You do not hold GPU {}", index),
            fmt::format("{}; {}", core::describeRefusedOpen(index, group.processes),
                        core::adviseOnRefusedOpen(index, details.has(heldByOthers))),
            {},
            std::nullopt};
}

struct Kind {
    std::string_view name;
    Part (*describe)(const Group&);
    bool isGathered; ///< notices with one cause become one sentence
};

constexpr std::array kinds{
    Kind{"ended", &describeEnded, true},
    Kind{"detached", &describeDetached, true},
    Kind{"process-terminated", &describeTerminated, true},
    Kind{"attached", &describeAttached, true},
    Kind{"granted", &describeGranted, true},
    Kind{"device-occupied", &describeOccupied, true},
    Kind{"lingering", &describeLingering, true},
    Kind{"expiring", &describeExpiring, true},
    Kind{"device-health", &describeHealth, false},
    Kind{"warning", &describeWarned, false},
    Kind{"memory", &describeMemory, false},
    Kind{"over-subscribed", &describeSharing, false},
    Kind{"open-refused", &describeRefused, false},
};

const Kind* findKind(std::string_view name) {
    const auto* found = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const Kind& each) { return each.name == name; });
    return found == kinds.end() ? nullptr : found;
}

// Whether a notice adds to a group. For kinds that are not gathered, only the newest notice about a
// device counts.
bool belongsTo(const Group& group, const Notice& notice, const std::string& actor) {
    const Details details(notice);
    if (group.kind != notice.kind)
        return false;
    if (!findKind(notice.kind)->isGathered)
        return details.device().index == Details(group.last.notice).device().index &&
               details.text("by") == Details(group.last.notice).text("by") &&
               details.text("message") == Details(group.last.notice).text("message");
    if (notice.kind == "expiring")
        return details.has("device") == !group.devices.empty() &&
               details.text("left") == Details(group.last.notice).text("left");
    return group.reason == details.text("reason") && group.actor == actor;
}

// Returns "root (alice)" if the user who logged in and then acted as root is known.
std::string actorName(const Details& details) {
    std::string name = userName(static_cast<std::uint32_t>(details.number("actor")));
    if (!details.has("actor-login"))
        return name;
    return fmt::format("{} ({})", name,
                       userName(static_cast<std::uint32_t>(details.number("actor-login"))));
}

std::vector<Group> grouped(const std::vector<ReceivedNotice>& received) {
    std::vector<Group> groups;
    for (const ReceivedNotice& each : received) {
        const Details details(each.notice);
        const std::string actor = actorName(details);
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
            return belongsTo(known, each.notice, actor);
        });
        if (group == groups.end())
            group = groups.insert(group, {each.notice.kind,
                                          each.notice.environment,
                                          details.text("reason"),
                                          actor,
                                          {},
                                          {},
                                          {}});
        group->last = each;
        if (details.has("device"))
            group->devices[details.device().index] = details.device().uuid;
        for (const DeviceIndex index : details.devices())
            group->devices.emplace(index, "");
        if (details.has("pid"))
            group->processes.emplace(static_cast<core::Pid>(details.number("pid")),
                                     details.text("command"));
        for (const core::Pid pid : details.pids())
            group->processes.emplace(pid, "");
    }
    return groups;
}

// Removes groups whose content is part of another group.
void dropRepetitions(std::vector<Group>& groups) {
    const auto has = [all = groups](std::string_view kind, const std::string* reason) {
        return std::any_of(all.begin(), all.end(), [&](const Group& group) {
            return group.kind == kind && (reason == nullptr || group.reason == *reason);
        });
    };
    const std::string lost = "device-lost";
    std::erase_if(groups, [&](const Group& group) {
        return (group.kind == "detached" && has("ended", &group.reason)) ||
               (group.kind == "memory" && has("warning", nullptr)) ||
               (group.kind == "device-health" && has("detached", &lost) &&
                Details(group.last.notice).text("health") == "lost");
    });
}

} // namespace

std::optional<std::string> subjectOf(const Notice& notice) {
    if (findKind(notice.kind) == nullptr)
        return std::nullopt;
    const Details details(notice);
    const std::string reason = details.text("reason");
    std::string cause = notice.kind;
    if (notice.kind == "granted" || notice.kind == "device-occupied" || notice.kind == "attached")
        cause = "grant";
    else if (notice.kind == "expiring" || reason == "expired")
        cause = "lease";
    else if (notice.kind == "device-health" || reason == "device-lost")
        cause = "health";
    else if (notice.kind == "warning")
        cause = details.text("rule") == "max-lifetime" ? "lease" : details.text("rule");
    else if (notice.kind == "memory")
        cause = "env-memory";
    else if (reason == "idle")
        cause = "idle-timeout";
    else if (!reason.empty())
        cause = reason.substr(reason.rfind(rulePrefix, 0) == 0 ? rulePrefix.size() : 0);
    return notice.environment + ' ' + cause;
}

Message compose(const std::string& subject, const std::vector<ReceivedNotice>& received,
                std::size_t missing) {
    std::vector<Group> groups = grouped(received);
    dropRepetitions(groups);
    Message message;
    message.subject = subject;
    bool isFirst = true;
    for (const Group& group : groups) {
        Part part = findKind(group.kind)->describe(group);
        const bool isAlone = group.environment.empty() || group.kind == "warning";
        std::string sentence = isFirst && !isAlone
                                   ? fmt::format("Environment {}: {}",
                                                 nameEnvironment(group.last.notice), part.sentence)
                                   : capitalised(part.sentence);
        message.sentences.push_back(std::move(sentence) + ".");
        // If there are several groups, the most urgent one determines the title of the message.
        if (isFirst || part.urgency > message.urgency) {
            message.urgency = part.urgency;
            message.category = std::move(part.category);
            message.title = std::move(part.title);
            message.hint = std::move(part.hint);
        }
        const bool isKnown =
            part.action &&
            std::any_of(message.actions.begin(), message.actions.end(),
                        [&](const Action& each) { return each.kind == part.action->kind; });
        if (part.action && !isKnown)
            message.actions.push_back(*std::move(part.action));
        isFirst = false;
    }
    if (missing > 0)
        message.sentences.push_back(fmt::format("This happened {} more times.", missing));
    return message;
}

Message joined(const Message& older, Message newer) {
    std::vector<std::string> sentences = older.sentences;
    for (std::string& sentence : newer.sentences) {
        if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
            sentences.push_back(std::move(sentence));
    }
    if (sentences.size() > maxLines)
        sentences.erase(sentences.begin(), sentences.end() - maxLines);
    newer.sentences = std::move(sentences);
    newer.urgency = std::max(newer.urgency, older.urgency);
    return newer;
}

Message summarise(const std::vector<Message>& messages, std::size_t missing) {
    Message summary;
    summary.subject = "summary";
    summary.urgency = Urgency::Low;
    summary.category = "x-genv.summary";
    summary.title = fmt::format("{} messages about your GPUs", messages.size() + missing);
    for (const Message& message : messages) {
        summary.urgency = std::max(summary.urgency, message.urgency);
        if (summary.sentences.size() < maxLines && !message.sentences.empty())
            summary.sentences.push_back(message.sentences.front());
    }
    const std::size_t others = messages.size() + missing - summary.sentences.size();
    if (others > 0)
        summary.sentences.push_back(fmt::format("And {} more.", others));
    summary.hint = "\"genvctl devices\" shows the current holders.";
    return summary;
}

std::string userName(std::uint32_t uid) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return fmt::format("uid {}", uid);
    return core::escaped(found->pw_name);
}

} // namespace genv::notify
