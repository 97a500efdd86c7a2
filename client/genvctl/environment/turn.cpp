// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/turn.hpp"

#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/environment/taking_follower.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/duration.hpp"
#include "core/queue/quota_hold.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace genv::ctl {

namespace {

// A line with more holders would be too long to read; "genvctl devices" lists all of them.
constexpr std::size_t maxHolders = 8;

// After a change, each waiting command asks for the whole queue. Together they ask at most 20 times
// a second.
constexpr std::chrono::milliseconds pauseForRequest{50};

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
std::vector<std::string> siblingsWithDevices(Client& client, const std::string& parent) {
    std::vector<std::string> holders;
    for (const Environment& environment : client.machine().environments) {
        if (environment.parent == parent && !environment.devices.empty())
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

/// Finds the caller's request in the queue. Its environment is looked for only once.
class OwnRequest {
  public:
    OwnRequest(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting)
        : client_(client), isWaiting_(std::move(isWaiting)) {}

    /// Returns nullptr if the request does not wait.
    const WaitingRequest* in(const std::vector<WaitingRequest>& queue) {
        if (!environment_ && !queue.empty())
            find(queue);
        const auto found = std::ranges::find_if(queue, [&](const WaitingRequest& request) {
            return request.description.entry.environment == environment_;
        });
        return found == queue.end() ? nullptr : &*found;
    }

  private:
    void find(const std::vector<WaitingRequest>& queue) {
        for (const EnvironmentEntry& environment : client_.environments()) {
            const bool waits = std::ranges::any_of(queue, [&](const WaitingRequest& request) {
                return request.description.entry.environment == environment.id;
            });
            if (waits && isWaiting_(environment)) {
                environment_ = environment.id;
                return;
            }
        }
    }

    Client& client_;
    std::function<bool(const EnvironmentEntry&)> isWaiting_;
    std::optional<std::string> environment_; ///< once it waits
};

} // namespace

TurnText queueText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting) {
    return [&client, own = OwnRequest(client, std::move(isWaiting)), follower = TakingFollower(),
            isTold = false](bool brief) mutable -> TurnState {
        auto queue = client.queue();
        const std::size_t requests = queue.size();
        const WaitingRequest* request = own.in(queue);
        if (request == nullptr)
            return {std::nullopt, requests};
        if (auto line = follower.follow(*request, std::chrono::steady_clock::now()))
            return {line, requests};
        if (std::exchange(isTold, true) && !brief)
            return {std::nullopt,
                    requests}; // where lines stay, the place in the queue is told once
        const QueueDescription known = request->description;
        const std::string what = fmt::format(
            "waiting for {} GPU{}{}", known.entry.gpus, known.entry.gpus == 1 ? "" : "s",
            known.parent ? " of environment " + *known.parent : std::string());
        if (const auto hold = holdText(known))
            return {fmt::format("{}: {}", what, *hold), requests};
        // A nested environment waits only for the other environments of its parent.
        std::erase_if(queue, [&](const WaitingRequest& other) {
            return other.description.parent != known.parent;
        });
        const auto before = std::ranges::count_if(queue, [&](const WaitingRequest& other) {
            return other.description.position < known.position;
        });
        return {withHolders(fmt::format("{}, number {} of {}{}", what, before + 1, queue.size(),
                                        brief ? "" : " in the queue"),
                            known.parent ? siblingsWithDevices(client, *known.parent)
                                         : holdersOfMachine(client, client.environments(), brief),
                            brief ? std::optional(asideWidth()) : std::nullopt),
                requests};
    };
}

TurnText takingOnlyText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting) {
    return [&client, own = OwnRequest(client, std::move(isWaiting)),
            follower = TakingFollower()](bool) mutable -> TurnState {
        const auto queue = client.queue();
        const WaitingRequest* request = own.in(queue);
        return {request == nullptr ? std::nullopt
                                   : follower.follow(*request, std::chrono::steady_clock::now()),
                queue.size()};
    };
}

TurnText lockText(Client& client, const std::string& environment) {
    return [&client, environment](bool) -> std::optional<TurnLine> {
        std::map<std::string, std::vector<std::uint32_t>> locked;
        const auto attached = client.environment(environment).devices;
        for (const DeviceState& state : client.machine().devices) {
            const std::uint32_t device = state.device.index;
            if (state.lockHolder && *state.lockHolder != environment &&
                std::find(attached.begin(), attached.end(), device) != attached.end())
                locked[*state.lockHolder].push_back(device);
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
    counts_ = false;
    std::optional<TurnLine> line;
    try {
        for (line = text(); line && line->stays; line = text()) {
            end();
            printNote(line->text);
        }
    } catch (const ServiceUnavailable&) {
        if (hasWaited_ && rewrites_)
            line = TurnLine("waiting for the service genvd, which does not run");
    } catch (const Error&) {
        // The waiting call itself reports this failure if it is relevant.
    }
    if (line)
        show(*line);
}

std::optional<TurnLine> TurnDisplay::text() {
    TurnState state = text_(rewrites_);
    requests_ = state.requests;
    return std::move(state.line);
}

void TurnDisplay::show(const TurnLine& line) {
    hasWaited_ = true;
    counts_ = line.counts && rewrites_;
    if (!rewrites_) {
        if (stages_.insert(line.stage).second)
            printNote(line.text);
        return;
    }
    if (line.text == shown_)
        return;
    shown_ = line.text;
    rewriteAside(line.text);
}

std::optional<std::chrono::milliseconds> TurnDisplay::again() const {
    return counts_ ? std::optional(std::chrono::milliseconds{1000}) : std::nullopt;
}

std::chrono::milliseconds TurnDisplay::pause() const {
    return requests_ * pauseForRequest;
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
