// SPDX-License-Identifier: LGPL-2.1-or-later
// genv.conf, the configuration of genvctl: whether genvctl manages the GPUs of this machine or of a
// cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genv::ctl::cluster {

/// The scheduler of the GPUs that genvctl manages.
enum class Cluster {
    None, ///< genvd, for the GPUs of one machine
    Slurm,
};

struct ClientConfiguration {
    Cluster cluster = Cluster::None;
    /// The memory that one shard represents; Slurm only counts shards.
    std::optional<std::uint64_t> shardBytes;
};

/// Parses "slurm" or "none". Returns nothing for any other text.
std::optional<Cluster> clusterNamed(std::string_view text);

/// Parses the text of a file. `name` is used in error messages. Throws Failure with the line
/// number.
ClientConfiguration parseConfiguration(std::string_view text, const std::string& name);

/// Returns the path of the file: GENV_CONF, or genv.conf in genv's configuration directory.
std::string configurationFile();

/// Reads the file. A missing file is an empty configuration. Throws Failure.
ClientConfiguration readConfiguration();

} // namespace genv::ctl::cluster
