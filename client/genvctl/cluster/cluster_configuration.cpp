// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_configuration.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/files.hpp"
#include "core/base/bytes.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace genv::ctl::cluster {

namespace {

constexpr std::size_t maxFile = 64 << 10;
constexpr std::string_view clientSection = "[Client]";

std::string_view withoutBlanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Reads a text line by line, so that an error can name its line.
class ConfigurationReader {
  public:
    explicit ConfigurationReader(std::string name) : name_(std::move(name)) {}

    ClientConfiguration configuration;

    void take(std::string_view line) {
        ++line_;
        line = withoutBlanks(line);
        if (line.empty() || line.front() == '#' || line.front() == ';')
            return;
        if (line.front() == '[')
            takeSection(line);
        else
            takeAssignment(line);
    }

  private:
    [[noreturn]] void fail(const std::string& what, const char* hint) const {
        throw Failure(ExitStatus::Failed, fmt::format("{}, line {}: {}", name_, line_, what), hint);
    }

    void takeSection(std::string_view line) {
        if (line != clientSection)
            fail(fmt::format("unknown section \"{}\"", core::escaped(line)), "Expected [Client].");
        isInSection_ = true;
    }

    void takeAssignment(std::string_view line) {
        const std::size_t sign = line.find('=');
        if (sign == std::string_view::npos || !isInSection_)
            fail("invalid line", "Expected [Client], then lines of the form Key=value.");
        const std::string_view key = withoutBlanks(line.substr(0, sign));
        const std::string_view value = withoutBlanks(line.substr(sign + 1));
        if (key == "Cluster")
            takeCluster(value);
        else if (key == "ShardMemory")
            takeShardMemory(value);
        else
            fail(fmt::format("unknown key \"{}\"", core::escaped(key)),
                 "Expected Cluster= or ShardMemory=.");
    }

    void takeCluster(std::string_view value) {
        const auto cluster = clusterNamed(value);
        if (!cluster)
            fail(fmt::format("unknown cluster \"{}\"", core::escaped(value)),
                 "Expected slurm or none.");
        configuration.cluster = *cluster;
    }

    void takeShardMemory(std::string_view value) {
        try {
            configuration.shardBytes = core::parseBytes(value).count;
        } catch (const core::Error& error) {
            fail(error.what(), "Expected an amount of memory, such as 1g.");
        }
    }

    std::string name_;
    int line_ = 0;
    bool isInSection_ = false;
};

} // namespace

std::optional<Cluster> clusterNamed(std::string_view text) {
    if (text == "slurm")
        return Cluster::Slurm;
    if (text == "none")
        return Cluster::None;
    return std::nullopt;
}

ClientConfiguration parseConfiguration(std::string_view text, const std::string& name) {
    ConfigurationReader reader(name);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        reader.take(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return reader.configuration;
}

std::string configurationFile() {
    const char* named = std::getenv("GENV_CONF");
    return named != nullptr && *named != '\0' ? named : GENV_CONFIGURATION_FOLDER "/genv.conf";
}

ClientConfiguration readConfiguration() {
    const std::string file = configurationFile();
    if (access(file.c_str(), F_OK) < 0 && errno == ENOENT)
        return {};
    return parseConfiguration(readFile(file, maxFile), file);
}

} // namespace genv::ctl::cluster
