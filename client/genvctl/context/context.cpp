// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/context/context.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/spellings.hpp"
#include "client/genvctl/context/host_failure.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/remote/fleet/old_genv.hpp"
#include "core/base/command_line/closest_word.hpp"
#include "core/base/user_database.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace genv::ctl {

namespace {

std::uint64_t amountIn(const std::string& text) {
    std::uint64_t amount = 0;
    std::from_chars(text.data(), text.data() + text.size(), amount);
    return amount;
}

// Describes what still uses an attached device: "process 12 of bob still uses it". Users of another
// machine have no names here.
std::string occupantOf(const Notice& notice, bool isHere) {
    const auto pid = notice.details.find("pid");
    if (const auto memory = notice.details.find("unaccounted-memory");
        memory != notice.details.end() && pid == notice.details.end())
        return fmt::format("it has {}", core::describeUnaccounted({amountIn(memory->second)}));
    const auto owner = notice.details.find("owner");
    const auto uid = owner != notice.details.end() ? parseNumber(owner->second) : std::nullopt;
    if (pid == notice.details.end() || !uid)
        return "a process outside its environments still uses it"; // from an earlier service
    const auto person = isHere ? core::shownUser(*uid) : std::nullopt;
    return fmt::format("process {} of {} still uses it", shown(pid->second),
                       person ? shown(person->name) : fmt::format("uid {}", *uid));
}

// Returns the quoted part of an error.
std::string quotedIn(std::string_view text) {
    const std::size_t begin = text.find('"');
    const std::size_t end = text.rfind('"');
    return begin == end ? "" : std::string(text.substr(begin + 1, end - begin - 1));
}

// Returns the uid of a user of this machine, by a name in any spelling or by uid.
std::uint32_t uidHere(const std::string& user) {
    try {
        if (const auto uid = core::uidOf(user))
            return *uid;
    } catch (const core::UserDatabaseError& error) {
        if (const auto uid = parseNumber(user))
            return *uid;
        throw Failure(ExitStatus::Failed,
                      fmt::format("cannot look up the user \"{}\": {}", user, error.what()),
                      "Name the user by uid.");
    }
    throw Failure(ExitStatus::Failed, fmt::format("There is no user \"{}\"", user),
                  "\"getent passwd\" lists the users.");
}

} // namespace

bool printJson(const GlobalOptions& options, const Json& json) {
    if (options.json == JsonMode::Off)
        return false;
    print(jsonText(json, options.json == JsonMode::Pretty));
    return true;
}

Client& Context::client() {
    if (client_)
        return *client_;
    if (!options.host)
        return client_.emplace();
    try {
        session_ = std::make_unique<remote::Session>(remote::readHost(*options.host));
    } catch (const remote::InvalidHost& error) {
        throw Failure(ExitStatus::Usage, fmt::format("-H: {}", error.what()),
                      "Use \"genvctl remote\" for several hosts.");
    }
    return client_.emplace(session_->connect());
}

std::uint32_t Context::uid() {
    return options.host ? client().uid() : geteuid();
}

std::uint32_t Context::uidOf(const std::string& user) {
    if (!options.host)
        return uidHere(user);
    if (const auto uid = parseNumber(user))
        return *uid;
    // The users of another machine are known only from their environments there. This machine may
    // know other spellings of their names.
    const auto spellings = spellingsOf(user);
    for (const EnvironmentEntry& entry : client().environments()) {
        if (spellings.contains(entry.user))
            return entry.uid;
    }
    throw Failure(ExitStatus::Usage,
                  fmt::format("the uid of \"{1}\" is unknown: the user has no environment on {0}",
                              *options.host, user),
                  "Name the user by uid.");
}

std::optional<std::string> Context::otherEnvironmentHint(const std::string& id) try {
    std::vector<std::string> ids;
    for (const EnvironmentEntry& entry : client().environments()) {
        if (entry.id == id)
            continue;
        if (entry.name == id)
            return fmt::format("Environment {} of {} has that name.", entry.id, entry.user);
        ids.push_back(entry.id);
    }
    const auto closest = core::closestWord(id, ids);
    return closest ? std::optional(fmt::format("Did you mean \"{}\"?", *closest)) : std::nullopt;
} catch (const Error&) {
    return std::nullopt; // a hint is no reason to fail
}

Failure Context::failureOf(const Error& error) {
    if (error.name() == dbus::contract::error::noSuchEnvironment && client_) {
        const Failure failure = toFailure(error);
        const auto hint = otherEnvironmentHint(quotedIn(failure.what()));
        return hint ? Failure(failure.status(), failure.what(), *hint + ' ' + failure.hint())
                    : failure;
    }
    if (options.noAskPassword &&
        error.name() == dbus::contract::error::interactiveAuthorizationRequired)
        return {ExitStatus::NotAuthorized, error.what(),
                "Leave --no-ask-password out, or do it as root."};
    if (!session_)
        return toFailure(error);
    remote::HostFailure failure = session_->explain(error);
    constexpr std::chrono::seconds timeout{5};
    if (failure.trouble() == remote::Trouble::NoService &&
        remote::hasOldGenv(session_->host(), {timeout, nullptr}))
        failure = {remote::Trouble::NoService, "it has genv 1, which has no service to ask",
                   fmt::format("\"genvctl remote -H {0} devices\" and \"remote -H {0} envs\" show "
                               "its GPUs and environments; \"ssh {0} genv\" runs genv 1 there.",
                               session_->host().name)};
    return failure.trouble() == remote::Trouble::Failed ? toFailure(error)
                                                        : hostFailed(session_->host(), failure);
}

void Context::requireThisMachine() const {
    if (options.host)
        throw Failure(ExitStatus::Usage, "This shell's environment is not on another machine",
                      "Name an environment of that machine with --id, or omit -H.");
}

std::optional<client::NamedEnvironment> Context::namedEnvironment() const {
    auto named = ctl::namedEnvironment();
    // If there is no status file, the shell function does not know the time.
    if (named && named->created.empty() && shell && statusFile(named->id))
        named->created = shell->began;
    return named;
}

std::optional<Environment> Context::activeEnvironment() {
    const auto named = namedEnvironment();
    if (!named)
        return std::nullopt;
    auto found = client::identify(client(), *named);
    return found.standing == client::Standing::Own ? std::move(found.environment) : std::nullopt;
}

void Context::requireOwn(const std::string& id) {
    const auto found = client::identify(client(), *namedEnvironment());
    if (found.standing == client::Standing::Ended)
        throw endedEnvironment(id);
    if (found.standing == client::Standing::Anothers) {
        const std::uint32_t uid = client().uid();
        const auto caller = core::shownUser(uid);
        throw Failure(ExitStatus::NotInEnvironment,
                      fmt::format("environment {} belongs to {} ({}), not to {} ({})", id,
                                  shown(found.environment->user), found.environment->uid,
                                  caller ? shown(caller->name) : "you", uid),
                      fmt::format("To act on it, name it: \"genvctl devices attach --eid {0}\", "
                                  "\"genvctl extend --id {0}\".",
                                  id));
    }
    if (ctl::namedEnvironment()->created.empty())
        missingStamp_ = stampVariable(client::stampOf(found.environment->created));
}

const ShellLink& Context::requireShell(const std::string& name) {
    if (!shell)
        throw Failure(ExitStatus::Usage,
                      fmt::format("\"{}\" changes your shell, which is not set up for genv", name),
                      setUpHint());
    return *shell;
}

void Context::requireWritable(const std::vector<Variable>& variables) const {
    if (!shell)
        return;
    for (const auto& [name, value] : variables) {
        if (std::ranges::find(shell->readOnly, name) != shell->readOnly.end())
            throw Failure(ExitStatus::Failed, fmt::format("{} is read-only in this shell", name),
                          name == "PS1" ? "Use --no-prompt, or \"genvctl run\"."
                                        : "Use another shell, or \"genvctl run\".");
    }
}

void Context::sendToShell(const ShellCode& code) {
    if (!shell)
        return;
    ShellCode all = code;
    if (missingStamp_)
        all.set({*std::exchange(missingStamp_, std::nullopt)});
    all.send(shell->kind, shell->descriptor);
}

void Context::warnOfNotices(const std::string& environment) {
    for (const Notice& notice : client().takeNotices()) {
        const auto device = notice.details.find("device");
        if (notice.environment == environment && notice.kind == "device-occupied" &&
            device != notice.details.end())
            warn(fmt::format("GPU {} is attached, but {}", device->second,
                             occupantOf(notice, !options.host)));
    }
}

std::string Context::currentEnvironment() {
    if (auto named = ctl::namedEnvironment())
        return std::move(named->id);
    throw Failure(ExitStatus::NotInEnvironment, "Not running in an active environment",
                  "Start one with \"genv activate\".");
}

Failure Context::endedEnvironment(const std::string& id) {
    return {
        ExitStatus::NotInEnvironment, "Not running in an active environment",
        fmt::format("Environment {} has ended. Clean this shell up with \"genv deactivate\".", id)};
}

} // namespace genv::ctl
