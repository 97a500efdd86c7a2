// SPDX-License-Identifier: LGPL-2.1-or-later
// The protocol between genvd and genv-slurm: one line of JSON for the request and one for the
// answer, then the connection closes.
//
//   {"request":"list-devices"}                         {"devices":[{"number":0,"node":[195,2]}]}
//   {"request":"set-end","job":12,"end":1764039600}    {"done":true}
//   {"request":"cancel","job":12}                      {"error":"..."}
//   {"request":"requeue","job":12}
//   {"request":"find-job","sluid":2489417286410240}    {"job":12}
//
// A request carries only numbers: no path, argument or other text reaches Slurm's programs. Each
// object has exactly these members. Neither side trusts the other.
#pragma once

#include "core/ports/slurm.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace genv::service {

/// The maximum size of a request and of an answer in bytes, including the line feed.
inline constexpr std::size_t maxSlurmRequest = 256;
inline constexpr std::size_t maxSlurmAnswer = 256U << 10U;
/// The maximum length of the reason for a failure, in bytes.
inline constexpr std::size_t maxSlurmReason = 512;
/// The maximum number of GPUs of a node.
inline constexpr std::size_t maxSlurmDevices = 4096;

/// A line that violates the protocol.
class SlurmProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SlurmListDevices {
    friend bool operator==(const SlurmListDevices&, const SlurmListDevices&) = default;
};
struct SlurmSetEnd {
    core::SlurmJobId job = 0;
    core::WallTime end; ///< in whole seconds

    friend bool operator==(const SlurmSetEnd&, const SlurmSetEnd&) = default;
};
struct SlurmCancel {
    core::SlurmJobId job = 0;

    friend bool operator==(const SlurmCancel&, const SlurmCancel&) = default;
};
struct SlurmRequeue {
    core::SlurmJobId job = 0;

    friend bool operator==(const SlurmRequeue&, const SlurmRequeue&) = default;
};
struct SlurmFindJob {
    core::Sluid sluid;

    friend bool operator==(const SlurmFindJob&, const SlurmFindJob&) = default;
};
using SlurmRequest =
    std::variant<SlurmListDevices, SlurmSetEnd, SlurmCancel, SlurmRequeue, SlurmFindJob>;

/// Slurm carried out the request.
struct SlurmDone {};
/// The job that was looked for.
struct SlurmFound {
    core::SlurmJobId job = 0;
};
using SlurmAnswer =
    std::variant<std::vector<core::SlurmDevice>, SlurmDone, SlurmFound, core::SlurmFailure>;

/// Encode lines, without their line feed.
std::string encodeSlurmRequest(const SlurmRequest& request);
std::string encodeSlurmAnswer(const SlurmAnswer& answer);

/// Decode lines. Both throw SlurmProtocolError.
SlurmRequest decodeSlurmRequest(std::string_view line);
SlurmAnswer decodeSlurmAnswer(std::string_view line);

} // namespace genv::service
