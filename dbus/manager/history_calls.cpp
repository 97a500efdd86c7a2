// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/history_calls.hpp"

#include "core/base/text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace genv::dbus {

namespace {

core::WallTime toTime(const char* what, std::uint64_t microseconds) {
    if (microseconds > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid {}: expected microseconds since the epoch", what);
    return core::fromMicroseconds(microseconds);
}

void requireKinds(const std::vector<std::string>& given,
                  const std::vector<std::string_view>& known) {
    for (const std::string& kind : given) {
        if (std::find(known.begin(), known.end(), kind) == known.end())
            core::fail(core::ErrorCode::InvalidArgs, "unknown kind \"{}\": expected one of {}",
                       core::escaped(kind), fmt::join(known, ", "));
    }
}

void requireCursor(const std::string& cursor) {
    constexpr std::size_t maxLength = 256;
    const bool isGood =
        cursor.size() <= maxLength && std::all_of(cursor.begin(), cursor.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '=' || c == ';';
        });
    if (!isGood || cursor.empty())
        core::fail(core::ErrorCode::InvalidArgs, "invalid cursor in \"after\": expected the cursor "
                                                 "of an event that ListEvents returned");
}

std::string requireUuid(std::string uuid) {
    core::requireIdentifier(uuid, "device, which is a UUID");
    return uuid;
}

// `uid` selects the user of the history; it is unset for the history of all users.
core::HistoryFilter readFilter(VariantMap values, core::Uid caller,
                               const std::vector<std::string_view>& kinds) {
    CallOptions options(std::move(values));
    core::HistoryFilter query;
    const auto uid = options.take<std::uint32_t>("uid");
    const bool all = options.takeFlag("all");
    query.environment = options.take<std::string>("environment");
    query.device = options.take<std::string>("device");
    query.kinds = options.take<std::vector<std::string>>("kinds").value_or(query.kinds);
    const std::uint32_t limit =
        options.take<std::uint32_t>("limit").value_or(core::HistoryFilter::maxRows);
    const auto after = options.take<std::string>("after");
    options.finish();
    if (uid && all)
        core::fail(core::ErrorCode::InvalidArgs, "give only one of uid and all");
    if (!all)
        query.uid = uid.value_or(caller);
    if (query.environment)
        core::requireIdentifier(*query.environment, "environment");
    if (query.device)
        query.device = requireUuid(*query.device);
    requireKinds(query.kinds, kinds);
    if (limit == 0 || limit > core::HistoryFilter::maxRows)
        core::fail(core::ErrorCode::InvalidArgs, "invalid limit {}: expected 1-{}", limit,
                   core::HistoryFilter::maxRows);
    query.limit = limit;
    if (after) {
        requireCursor(*after);
        query.after = *after;
    }
    return query;
}

} // namespace

void Histories::list(const Reply<EventRows>& reply, std::uint64_t since, std::uint64_t until,
                     VariantMap filter) {
    core::HistoryFilter asked =
        readFilter(std::move(filter), reply.caller().uid, machine_.history.kinds());
    asked.since = toTime("since", since);
    asked.until = toTime("until", until);
    core::HistoryFilter query = asked;
    if (until == 0)
        query.until = clock_.wallNow();
    if (query.since > query.until)
        core::fail(core::ErrorCode::InvalidArgs, "since is later than until");
    pass(reply, asked, std::move(query));
}

// Returns the end of the time range if the request continues an authorized read: the time at which
// that read was authorized.
std::optional<core::WallTime> Histories::allowedUntil(const std::string& busName,
                                                      const core::HistoryFilter& asked) const {
    const auto found = allowed_.find(busName);
    if (found == allowed_.end() || asked.after.empty() || asked.after != found->second.cursor)
        return std::nullopt;
    core::HistoryFilter begun = found->second.asked;
    begun.after = asked.after;
    return begun == asked ? std::optional(found->second.until) : std::nullopt;
}

void Histories::pass(const Reply<EventRows>& reply, const core::HistoryFilter& asked,
                     core::HistoryFilter query) {
    if (const auto until = allowedUntil(reply.caller().busName, asked)) {
        query.until = *until;
        read(reply, asked, std::move(query));
        return;
    }
    policy::Target target;
    target.environment = asked.environment;
    target.owner = asked.uid;
    if (!asked.uid || *asked.uid == reply.caller().uid || reply.caller().uid == 0) {
        ask(reply, target, asked, query);
        return;
    }
    // The question names the user whose history is requested.
    const auto place = calls_.listCalls.enter(reply.caller().uid);
    machine_.users.describeFor(
        reply.caller().uid, *asked.uid,
        reply.later([this, reply, target, asked, query, place](const core::UserInfo& user) {
            policy::Target named = target;
            named.ownerName = user.name;
            ask(reply, named, asked, query);
        }));
}

void Histories::ask(const Reply<EventRows>& reply, const policy::Target& target,
                    const core::HistoryFilter& asked, const core::HistoryFilter& query) {
    calls_.gate.pass(reply, target, [this, reply, asked, query] { read(reply, asked, query); });
}

void Histories::read(const Reply<EventRows>& reply, const core::HistoryFilter& asked,
                     core::HistoryFilter query) {
    const auto place = calls_.listCalls.enter(reply.caller().uid);
    // If the caller disconnects, the result is dropped.
    const auto remembered = calls_.waitingCalls.remember(reply);
    const core::WallTime until = query.until;
    machine_.history.read(
        reply.caller().uid, std::move(query),
        reply.later([this, reply, asked, until, place, remembered](core::HistoryPage page) {
            if (page.failure)
                throw core::Error(*page.failure);
            const Caller& caller = reply.caller();
            const bool isOwn = asked.uid == caller.uid;
            if (page.rows.empty())
                allowed_.erase(caller.busName);
            else if (!isOwn && caller.uid != 0)
                allowed_[caller.busName] = {asked, until, page.rows.back().cursor};
            reply.send({std::move(page.rows)});
        }));
}

} // namespace genv::dbus
