// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/event_log.hpp"

#include "core/duration.hpp"
#include "core/text.hpp"

#include <fmt/ranges.h>

#include <variant>

namespace genv::service {

namespace {

std::string describe(const core::Cause& cause) {
    return fmt::format("reason {}, by uid {}", cause.reason.text(), cause.actor);
}

std::string describe(const core::Attachment& attachment) {
    return fmt::format("device {} ({}){}{}", attachment.device.index,
                       core::escaped(attachment.device.uuid),
                       attachment.share ? ", " + core::formatBytes(*attachment.share) : "",
                       attachment.overSubscribed ? ", over-subscribed" : "");
}

} // namespace

void EventLog::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void EventLog::on(const core::EnvironmentAdded& event) {
    log_.info("environment {} of uid {} began ({})", event.environment, event.owner,
              describe(event.cause));
}

void EventLog::on(const core::EnvironmentRemoved& event) {
    log_.info("environment {} of uid {} ended ({})", event.environment, event.owner,
              describe(event.cause));
}

void EventLog::on(const core::Attached& event) {
    log_.info("environment {} of uid {} was attached to {} ({})", event.environment, event.owner,
              describe(event.attachment), describe(event.cause));
}

void EventLog::on(const core::Detached& event) {
    log_.info("environment {} of uid {} was detached from {} ({})", event.environment, event.owner,
              describe(event.attachment), describe(event.cause));
}

void EventLog::on(const core::WaitGranted& event) {
    log_.info(
        "environment {} of uid {} got {} devices after it had waited for {}", event.environment,
        event.owner, event.devices.size(),
        core::formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(event.waited)));
}

void EventLog::on(const core::LeaseEnding& event) {
    log_.info("the lease of environment {} of uid {}{} ends in {}", event.environment, event.owner,
              event.device ? fmt::format(" on device {}", event.device->index) : "",
              core::formatDuration(event.left));
}

void EventLog::on(const core::ProcessTerminated& event) {
    log_.notice("process {} of uid {}, environment {}, on devices {} was told to end ({})",
                event.pid, event.owner, event.environment.value_or("none"),
                fmt::join(event.devices, ","), describe(event.cause));
}

} // namespace genv::service
