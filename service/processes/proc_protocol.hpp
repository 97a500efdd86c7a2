// SPDX-License-Identifier: LGPL-2.1-or-later
// The protocol between the service and its reader of /proc (proc_server.hpp). It uses packets of a
// SOCK_SEQPACKET pair: one packet of requests, and then one packet for each answer, in the same
// order. Both ends are the same program, so numbers keep their layout in memory. Sizes are checked
// nevertheless.
#pragma once

#include "core/base/process.hpp"
#include "service/processes/proc_files.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace genv::service {

/// The parts of a process that can be read.
enum class ProcPart : std::uint32_t {
    Identity,     ///< which process has the PID
    Facts,        ///< its identity, uids and parent
    Lineage,      ///< its facts and its ancestors
    Claims,       ///< its claims about itself
    Arguments,    ///< its command line
    Login,        ///< its login user
    PidNamespace, ///< whether it is in the service's
};

struct ProcRequest {
    core::Pid pid = 0;
    ProcPart part = ProcPart::Facts;
};

/// The process is gone, or was replaced by another one during the read.
struct ProcGone {};
/// Descriptors or memory ran out, which says nothing about the process.
struct ProcShortage {};

using ProcAnswer =
    std::variant<ProcGone, ProcShortage, core::ProcessIdentity, core::ProcessFacts, core::Lineage,
                 ProcClaims, ProcArguments, ProcLogin, ProcPidNamespace>;

/// The maximum number of requests in a packet, and the maximum size of a packet in bytes.
inline constexpr std::size_t maxProcRequests = 1024;
inline constexpr std::size_t maxProcPacketSize = 128U << 10U;
/// Sent by the reader when it is ready, before any request.
inline constexpr std::string_view procGreeting = "genv proc reader";

/// A packet that violates the protocol.
class ProcProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

std::string encodeProcRequests(const std::vector<ProcRequest>& requests);
std::string encodeProcAnswer(const ProcAnswer& answer);

/// Decode packets. Both throw ProcProtocolError.
std::vector<ProcRequest> decodeProcRequests(std::string_view packet);
ProcAnswer decodeProcAnswer(std::string_view packet);

} // namespace genv::service
