// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/turn.hpp"

#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "core/duration.hpp"
#include "core/limit_definitions.hpp"
#include "core/quota_hold.hpp"
#include "core/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace genv::ctl {

namespace {

// A line with more holders would be too long to read; "genvctl devices" lists all of them.
constexpr std::size_t maxHolders = 8;

/// The devices that an environment has held since one minute.
struct HeldSince {
    std::string environment;
    std::string since;
    std::vector<std::uint32_t> devices;
};

std::vector<HeldSince> holdsOfMachine(Client& client) {
    const Time now = currentTime();
    std::vector<HeldSince> holds;
    for (const Attachment& attachment : holdersAttachments(client)) {
        const std::string since = shortTimestamp(attachment.since, now);
        const auto known = std::ranges::find_if(holds, [&](const HeldSince& hold) {
            return hold.environment == attachment.environment && hold.since == since;
        });
        if (known == holds.end())
            holds.push_back({attachment.environment, since, {attachment.device}});
        else
            known->devices.push_back(attachment.device);
    }
    return holds;
}

// Returns the holders of the machine's devices.
std::vector<std::string>
holdersOfMachine(Client& client, const std::vector<EnvironmentEntry>& environments, bool brief) {
    std::map<std::string, std::string> users;
    for (const EnvironmentEntry& entry : environments)
        users.emplace(entry.id, entry.user);
    std::vector<std::string> holders;
    for (HeldSince& hold : holdsOfMachine(client)) {
        std::ranges::sort(hold.devices);
        const auto user = users.find(hold.environment);
        const bool isKnown = user != users.end();
        holders.push_back(fmt::format(
            "{} holds {}{} since {}", isKnown ? user->second : "environment " + hold.environment,
            core::nameGpus(hold.devices),
            brief || !isKnown ? "" : fmt::format(" (environment {})", hold.environment),
            hold.since));
    }
    return holders;
}

// Returns the environments with devices that have the same parent.
std::vector<std::string> siblingsWithDevices(Client& client, const Parents& parents,
                                             const std::string& parent) {
    std::vector<std::string> holders;
    for (const Environment& environment : client.environmentDetails()) {
        if (parentOf(parents, environment.id) == parent && !environment.devices.empty())
            holders.push_back(fmt::format("environment {} holds {}", environment.id,
                                          core::nameGpus(environment.devices)));
    }
    return holders;
}

// Returns the first holders, as many as fit after `what` if the line has a width, and the number
// of the others.
std::string withHolders(std::string what, const std::vector<std::string>& holders,
                        std::optional<std::size_t> width) {
    const auto rest = [&](std::size_t named) {
        return named == holders.size() ? std::string()
               : named == 0 ? fmt::format(": held by {}", core::counted(holders.size(), "other"))
                            : fmt::format(" and {} more", holders.size() - named);
    };
    std::size_t named = 0;
    for (; named < std::min(holders.size(), maxHolders); ++named) {
        const std::string longer = what + (named == 0 ? ": " : ", ") + holders[named];
        if (width && cells(shown(longer + rest(named + 1))) > *width)
            break;
        what = longer;
    }
    return what + rest(named);
}

// Returns the sentence about the quota that holds the reader's request back.
std::optional<std::string> holdText(const QueueDescription& request) {
    if (!request.hold || core::findLimitByKey(request.hold->limit) == nullptr)
        return std::nullopt;
    return core::describeOwnHold({request.hold->limit, request.hold->used, request.hold->allowed});
}

} // namespace

TurnText queueText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting) {
    return [&client, isWaiting = std::move(isWaiting)](bool brief) -> std::optional<std::string> {
        auto queue = client.describeQueue();
        const auto environments = client.environments();
        const auto isOwn = [&](const QueueDescription& request) {
            return std::ranges::any_of(environments, [&](const EnvironmentEntry& environment) {
                return environment.id == request.entry.environment && isWaiting(environment);
            });
        };
        const auto found = std::ranges::find_if(queue, isOwn);
        if (found == queue.end())
            return std::nullopt;
        const QueueDescription own = *found;
        const std::string what =
            fmt::format("waiting for {} GPU{}{}", own.entry.gpus, own.entry.gpus == 1 ? "" : "s",
                        own.parent ? " of environment " + *own.parent : std::string());
        if (const auto hold = holdText(own))
            return fmt::format("{}: {}", what, *hold);
        // A nested environment waits only for the other environments of its parent.
        std::erase_if(queue,
                      [&](const QueueDescription& other) { return other.parent != own.parent; });
        const auto before = std::ranges::count_if(
            queue, [&](const QueueDescription& other) { return other.position < own.position; });
        return withHolders(fmt::format("{}, number {} of {}{}", what, before + 1, queue.size(),
                                       brief ? "" : " in the queue"),
                           own.parent ? siblingsWithDevices(client, client.parents(), *own.parent)
                                      : holdersOfMachine(client, environments, brief),
                           brief ? std::optional(asideWidth()) : std::nullopt);
    };
}

TurnText lockText(Client& client, const std::string& environment) {
    return [&client, environment](bool) -> std::optional<std::string> {
        std::map<std::string, std::vector<std::uint32_t>> locked;
        const auto attached = client.environment(environment).devices;
        for (const auto& [device, holder] : client.lockHolders()) {
            if (holder != environment &&
                std::find(attached.begin(), attached.end(), device) != attached.end())
                locked[holder].push_back(device);
        }
        if (locked.empty())
            return fmt::format("waiting for {} behind earlier requests", core::nameGpus(attached));
        std::map<std::string, std::string> users;
        for (const EnvironmentEntry& entry : client.environments())
            users.emplace(entry.id, entry.user);
        std::vector<std::string> parts;
        for (const auto& [holder, devices] : locked)
            parts.push_back(fmt::format("{}, locked by {} ({})", core::nameGpus(devices),
                                        users[holder], holder));
        return "waiting for " + joined(parts, ", and for ");
    };
}

TurnDisplay::TurnDisplay(TurnText text) : text_(std::move(text)), rewrites_(canRewriteAside()) {}

TurnDisplay::~TurnDisplay() {
    end();
}

void TurnDisplay::update() {
    if (hasWaited_ && !rewrites_)
        return;
    std::optional<std::string> text;
    try {
        text = text_(rewrites_);
    } catch (const ServiceUnavailable&) {
        if (hasWaited_)
            text = "waiting for the service genvd, which does not run";
    } catch (const Error&) {
        // The waiting call itself reports this failure if it is relevant.
    }
    if (!text)
        return;
    hasWaited_ = true;
    if (!rewrites_) {
        printNote(*text);
        return;
    }
    if (*text == shown_)
        return;
    shown_ = *text;
    rewriteAside(*text);
}

void TurnDisplay::end() noexcept {
    if (!shown_.empty())
        clearAside();
    shown_.clear();
}

void TurnDisplay::grant(const std::function<std::string()>& what) {
    end();
    if (hasWaited_)
        printNote(fmt::format("{} after {}", what(), core::formatDuration(waited())));
}

std::chrono::milliseconds TurnDisplay::waited() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 began_);
}

Failure timedOut(std::chrono::seconds timeout) {
    return {ExitStatus::NoDevice, fmt::format("Timed out after {}", core::formatDuration(timeout)),
            "\"genvctl queue\" shows the waiting requests; \"--wait\" alone waits as long as the "
            "service allows."};
}

Failure cutShort(const Error& error) {
    return {ExitStatus::NoDevice, error.what(),
            "\"genvctl queue\" shows the waiting requests; the same command waits again, as the "
            "last in line."};
}

} // namespace genv::ctl
