// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the texts in which Slurm lists the generic resources (GRES) of nodes, the GRES held by
// jobs, and the GRES requested by jobs. genv supports GPUs, and shards and MPS, which share GPUs
// among jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Splits a list at its commas, except at commas in brackets.
std::vector<std::string_view> splitGres(std::string_view list);

/// The resources of a node: "gpu:rtx:4(S:0-1),shard:rtx:16".
struct NodeGres {
    std::vector<std::string> models; ///< of each GPU, by its index; empty if it has no type
    std::uint32_t shards = 0;        ///< of all GPUs of the node together
};
NodeGres readNodeGres(std::string_view text);

/// A GPU, or a part of one, that a job holds on a node.
struct HeldGres {
    std::optional<std::uint32_t> index; ///< unset: not reported by Slurm
    bool isShared = false;              ///< a part of the GPU: shards or MPS
    std::optional<std::uint32_t> shards;

    friend bool operator==(const HeldGres&, const HeldGres&) = default;
};
/// Parses the resources that a job holds on one node, in one of these forms: "gpu:rtx:2(IDX:0-1)";
/// "shard:3(IDX:1)" up to Slurm 23.02; "shard:3(0/4,3/4)", used and total shards of each GPU, since
/// 23.11.
std::vector<HeldGres> readHeldGres(std::string_view text);

/// A request of a job: "gres:gpu:rtx:2" in Slurm 22.05, "gres/gpu:rtx:2" or "gres/gpu=2" in 24.11.
struct WantedGres {
    std::uint32_t gpus = 0;
    std::uint32_t shards = 0;
};
WantedGres readWantedGres(std::string_view text);

} // namespace genv::ctl::cluster
