// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service and its reader of /proc (proc_server.hpp) say to each other, in packets of a
// SOCK_SEQPACKET pair: a packet of requests, and then a packet for each of them, in their order.
// Both ends are the same program, so numbers are as they lie in memory; sizes are checked all the
// same.
#pragma once

#include "core/process.hpp"
#include "service/processes/proc_files.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace genv::service {

/// What may be read of a process.
enum class ProcPart : std::uint32_t {
    Facts,     ///< its identity, uids and parent
    Lineage,   ///< these and its ancestors
    Claims,    ///< what it says of itself
    Arguments, ///< its command line
    Login,     ///< who logged in
};

struct ProcRequest {
    core::Pid pid = 0;
    ProcPart part = ProcPart::Facts;
};

/// The process is gone, or became another one while it was read.
struct ProcGone {};
/// Descriptors or memory ran out, which says nothing of the process.
struct ProcShortage {};

using ProcAnswer = std::variant<ProcGone, ProcShortage, core::ProcessFacts, core::Lineage,
                                ProcClaims, ProcArguments, ProcLogin>;

/// The most requests in a packet, and the longest packet in bytes.
inline constexpr std::size_t mostProcRequests = 1024;
inline constexpr std::size_t longestProcPacket = 128U << 10U;
/// What the reader says when it is ready, before it is asked anything.
inline constexpr std::string_view procGreeting = "genv proc reader";

/// A packet that is none of the protocol's.
class ProcProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

std::string encodeProcRequests(const std::vector<ProcRequest>& requests);
std::string encodeProcAnswer(const ProcAnswer& answer);

/// The reverse; both throw ProcProtocolError.
std::vector<ProcRequest> decodeProcRequests(std::string_view packet);
ProcAnswer decodeProcAnswer(std::string_view packet);

} // namespace genv::service
