// SPDX-License-Identifier: LGPL-2.1-or-later
// genv.conf, the configuration of genvctl: whether GPUs are those of this machine or of a cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genv::ctl::cluster {

/// Who schedules the GPUs that genvctl is about.
enum class Cluster {
    None, ///< genvd, those of one machine
    Slurm,
};

struct ClientConfiguration {
    Cluster cluster = Cluster::None;
    /// How much memory of a GPU one shard stands for; Slurm only counts shards.
    std::optional<std::uint64_t> shardBytes;
};

/// Reads "slurm" or "none"; nothing for any other text.
std::optional<Cluster> clusterNamed(std::string_view text);

/// Reads the text of a file. `name` stands in messages. Throws Failure that names the line.
ClientConfiguration parseConfiguration(std::string_view text, const std::string& name);

/// The file: what GENV_CONF names, or genv.conf in the folder of genv's configuration.
std::string configurationFile();

/// Reads the file; one that is not there says nothing. Throws Failure.
ClientConfiguration readConfiguration();

} // namespace genv::ctl::cluster
