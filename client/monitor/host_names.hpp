// SPDX-License-Identifier: LGPL-2.1-or-later
// The names under which the exporter answers. A web page can let its own name resolve to 127.0.0.1
// (DNS rebinding). Its script then reads the metrics through the browser of a local user. Such a
// request has the page's name in its Host header.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::monitor {

/// Whether a text is a host name as it appears in a URL, without a port.
bool isHostName(std::string_view text);

/// Returns the host name of this machine, its first label, and its fully qualified name. Asks the
/// name service, which may take seconds.
std::vector<std::string> namesOfThisMachine();

/// Used by the threads of the web server.
class HostNames {
  public:
    using OwnNames = std::function<std::vector<std::string>()>;

    /// `names` are accepted besides addresses, localhost and what `ownNames` returns.
    explicit HostNames(const std::vector<std::string>& names,
                       OwnNames ownNames = namesOfThisMachine);

    /// Whether to answer a request with this Host header. Only a name that is not known yet causes
    /// a call of `ownNames`: one at a time, and one a minute.
    [[nodiscard]] bool accept(std::string_view header);

  private:
    [[nodiscard]] bool isKnown(const std::string& name);
    [[nodiscard]] bool isOwn(const std::string& name);

    const OwnNames ownNames_;
    std::set<std::string> given_;
    std::mutex asking_; ///< held during a call of ownNames_
    std::chrono::steady_clock::time_point nextCall_{};
    std::mutex mutex_; ///< guards the member below
    std::set<std::string> own_;
};

} // namespace genv::monitor
