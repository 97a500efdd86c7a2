// SPDX-License-Identifier: LGPL-2.1-or-later
// The texts in which Slurm says which generic resources (GRES) a node has, a job has and a job
// wants. genv knows GPUs, and the two that share GPUs among jobs: shards and MPS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Splits a list at its commas, but not at those in brackets.
std::vector<std::string_view> splitGres(std::string_view list);

/// What a node has: "gpu:rtx:4(S:0-1),shard:rtx:16".
struct NodeGres {
    std::vector<std::string> models; ///< of each GPU, by its index; empty where it has no type
    std::uint32_t shards = 0;        ///< of all its GPUs together
};
NodeGres readNodeGres(std::string_view text);

/// A GPU that a job has on a node, or a part of one.
struct HeldGres {
    std::optional<std::uint32_t> index; ///< unset: Slurm does not say which
    bool isShared = false;              ///< a part of it: shards or MPS
    std::optional<std::uint32_t> shards;

    friend bool operator==(const HeldGres&, const HeldGres&) = default;
};
/// What a job has on one node, in one of these forms: "gpu:rtx:2(IDX:0-1)"; "shard:3(IDX:1)" up to
/// Slurm 23.02; "shard:3(0/4,3/4)", used and all of each GPU, from 23.11 on.
std::vector<HeldGres> readHeldGres(std::string_view text);

/// What a job asks for: "gres:gpu:rtx:2" of Slurm 22.05, "gres/gpu:rtx:2" or "gres/gpu=2" of 24.11.
struct WantedGres {
    std::uint32_t gpus = 0;
    std::uint32_t shards = 0;
};
WantedGres readWantedGres(std::string_view text);

} // namespace genv::ctl::cluster
