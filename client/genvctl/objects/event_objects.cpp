// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/objects/event_objects.hpp"

#include "client/genvctl/objects/event.hpp"
#include "client/genvctl/objects/machine_objects.hpp"

namespace genv::ctl {

const char* kindName(Event::Kind kind) {
    switch (kind) {
    case Event::Kind::EnvironmentAdded:
        return "environment-started";
    case Event::Kind::EnvironmentRemoved:
        return "environment-ended";
    case Event::Kind::Attached:
        return "attached";
    case Event::Kind::Detached:
        return "detached";
    case Event::Kind::ProcessTerminated:
        return "process-terminated";
    case Event::Kind::QueueChanged:
        return "queue-changed";
    case Event::Kind::Notice:
        return "notice";
    case Event::Kind::ServiceEnded:
        return "service-ended";
    case Event::Kind::ServiceStarted:
        return "service-started";
    }
    return "";
}

Json eventObject(const HistoryEvent& event) {
    return object<schema::event>({{"time", toJson(event.time)},
                                  {"event", event.kind},
                                  {"environment", orNull(event.environment)},
                                  {"parent", orNull(event.parent)},
                                  {"job", orNull(jobOfEnvironment(event.environment.value_or("")))},
                                  {"name", orNull(event.name)},
                                  {"uid", orNull(event.uid)},
                                  {"user", orNull(event.user)},
                                  {"devices", event.devices},
                                  {"uuids", event.uuids},
                                  {"model", orNull(event.model)},
                                  {"gpu_memory_bytes", orNull(event.shareBytes)},
                                  {"over_subscribed", event.overSubscribed},
                                  {"reason", orNull(event.reason)},
                                  {"caller", orNull(event.caller)},
                                  {"caller_user", orNull(event.callerUser)},
                                  {"caller_login", orNull(event.callerLogin)},
                                  {"caller_login_user", orNull(event.callerLoginUser)},
                                  {"method", orNull(event.method)},
                                  {"action", orNull(event.action)},
                                  {"error", orNull(event.error)},
                                  {"pid", orNull(event.pid)},
                                  {"program", orNull(event.command)},
                                  {"rule", orNull(event.rule)},
                                  {"health", orNull(event.health)},
                                  {"count", orNull(event.count)},
                                  {"waited_seconds", orNull(event.waited)},
                                  {"held_seconds", orNull(event.held)},
                                  {"left_seconds", orNull(event.left)},
                                  {"since", orNull(event.since)},
                                  {"settings", orNull(event.settings)},
                                  {"message", orNull(event.message)},
                                  {"cursor", orNull(event.cursor)}});
}

Json eventObject(const Event& event) {
    Json json =
        object<schema::event>({{"time", toJson(event.time)},
                               {"event", kindName(event.kind)},
                               {"environment", orNull(event.environment)},
                               {"job", orNull(jobOfEnvironment(event.environment.value_or("")))},
                               {"uid", orNull(event.uid)},
                               {"user", orNull(event.user)},
                               {"devices", Json::array()},
                               {"pid", orNull(event.pid)},
                               {"reason", orNull(event.reason)}});
    if (event.device)
        fill<schema::event>(json, {{"devices", std::vector{*event.device}}});
    if (event.notice)
        fill<schema::event>(json,
                            {{"notice", event.notice->kind}, {"details", event.notice->details}});
    return json;
}

} // namespace genv::ctl
