// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/known_hosts.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/files.hpp"
#include "client/remote/ssh/host.hpp"

#include <strings.h>

#include <set>
#include <sstream>

namespace genv::ctl {

namespace {

constexpr std::size_t maxBytes = std::size_t{1} << 20;

std::istringstream linesOf(const std::filesystem::path& file) {
    try {
        return std::istringstream(readFile(file, maxBytes));
    } catch (const Failure&) {
        return {};
    }
}

void add(std::set<std::string>& hosts, const std::string& word) {
    try {
        hosts.insert(remote::readHost(word).label());
    } catch (const remote::InvalidHost&) {
        // A pattern, a hash or a marker, but not a name.
    }
}

} // namespace

std::vector<std::string> knownHosts(const std::filesystem::path& sshFolder) {
    std::set<std::string> hosts;
    std::istringstream configuration = linesOf(sshFolder / "config");
    for (std::string line; std::getline(configuration, line);) {
        std::istringstream words(line);
        std::string word;
        if (words >> word && strcasecmp(word.c_str(), "Host") == 0) {
            while (words >> word)
                add(hosts, word);
        }
    }
    std::istringstream known = linesOf(sshFolder / "known_hosts");
    for (std::string line; std::getline(known, line);) {
        std::istringstream names(line.substr(0, line.find(' ')));
        for (std::string name; std::getline(names, name, ',');)
            add(hosts, name);
    }
    return {hosts.begin(), hosts.end()};
}

} // namespace genv::ctl
