// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/context/host_failure.hpp"

#include <fmt/format.h>

namespace genv::ctl {

namespace {

using remote::Trouble;

ExitStatus statusOf(Trouble trouble) {
    switch (trouble) {
    case Trouble::NotAuthorized:
        return ExitStatus::NotAuthorized;
    case Trouble::Unreachable:
    case Trouble::TimedOut:
    case Trouble::NoService:
        return ExitStatus::NoService;
    case Trouble::Cancelled:
    case Trouble::Failed:
        break;
    }
    return ExitStatus::Failed;
}

} // namespace

Failure hostFailed(const remote::Host& host, const remote::HostFailure& failure) {
    return {statusOf(failure.trouble()), fmt::format("{}: {}", host.label(), failure.what()),
            failure.hint()};
}

Failure noHostAnswered(const std::vector<remote::HostFailure>& failures) {
    ExitStatus status =
        failures.empty() ? ExitStatus::Failed : statusOf(failures.front().trouble());
    for (const remote::HostFailure& failure : failures) {
        if (statusOf(failure.trouble()) != status)
            status = ExitStatus::Failed;
    }
    return {status, failures.size() == 1 ? "" : "No host answered"};
}

} // namespace genv::ctl
