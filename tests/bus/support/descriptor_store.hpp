// SPDX-License-Identifier: LGPL-2.1-or-later
// systemd's part of the descriptor store (sd_notify(3), FDSTORE): keeps what the service hands
// over, and hands it back to the service that is started next.
#pragma once

#include "tests/bus/support/service.hpp"

#include <map>
#include <memory>
#include <string>

namespace genv::tests {

/// A descriptor that is closed with its last copy.
using SharedDescriptor = std::shared_ptr<const int>;
SharedDescriptor own(int fd);

class DescriptorStore {
  public:
    /// Listens; the service is told where by NOTIFY_SOCKET.
    DescriptorStore();

    [[nodiscard]] std::string address() const { return address_; }
    /// Takes in what the service has sent until now; what is kept, by name. What has hung up is
    /// dropped, as systemd does.
    const std::map<std::string, SharedDescriptor>& kept();
    /// The same without dropping anything: as if systemd had not looked yet.
    const std::map<std::string, SharedDescriptor>& received();

  private:
    bool receive();

    std::string address_;
    SharedDescriptor socket_;
    std::map<std::string, SharedDescriptor> kept_;
};

} // namespace genv::tests
