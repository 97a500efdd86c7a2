// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-park: makes one call of NVIDIA's driver for a process of a user, which moves its GPU memory
// to the host or back. Reads one request from standard input, writes one line to standard output
// (park_protocol.hpp), and exits. It holds nothing: the state is in the process, so a helper that
// is killed at any moment leaves no more than a call that may still take effect.
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "service/park/park_child.hpp"
#include "service/park/park_protocol.hpp"
#include "service/park/park_target.hpp"
#include "service/posix/single_request.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>

namespace {

using namespace genv;
using namespace genv::service;

core::ParkingReply refusal(core::ParkingFault fault) {
    core::ParkingReply reply;
    reply.failure = core::ParkingFailure{fault};
    return reply;
}

ParkAnswer carryOut(const ParkRequest& request, std::chrono::milliseconds deadline) {
    const auto* call = std::get_if<ParkCallRequest>(&request);
    if (call == nullptr)
        return capabilityInChild(deadline);
    const auto target = ParkTarget::open(call->target);
    if (!target)
        return refusal(core::ParkingFault::Gone);
    const auto owner = target->owner();
    if (const auto* fault = std::get_if<core::ParkingFault>(&owner))
        return refusal(*fault);
    return callInChild(*call, *target, std::get<ParkOwner>(owner), deadline);
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Make one call of NVIDIA's driver for genvd, from standard input, with a line of "
                 "JSON. systemd starts this program; see genvd(8)",
                 "genv-park");
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    unsigned maxSeconds = 900;
    app.add_option("--deadline", maxSeconds, "Give up after this many seconds at the latest")
        ->check(CLI::Range(1U, 3600U).description(""))
        ->type_name("SECONDS")
        ->capture_default_str();
    if (const auto status = core::exitAfterParsing(app, argc, argv))
        return *status;
    ::signal(SIGPIPE, SIG_IGN);
    try {
        const ParkRequest request = decodeParkRequest(readSingleRequest(maxParkRequest));
        const auto deadline = std::min<std::chrono::milliseconds>(parkDeadline(request),
                                                                  std::chrono::seconds{maxSeconds});
        // Ends this process, and with it the child, if anything but the child hangs.
        ::alarm(static_cast<unsigned>(deadline.count() / 1000) + 3);
        writeSingleAnswer(encodeParkAnswer(carryOut(request, deadline)));
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-park: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
