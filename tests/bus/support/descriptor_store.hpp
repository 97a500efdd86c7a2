// SPDX-License-Identifier: LGPL-2.1-or-later
// systemd's part of the descriptor store (sd_notify(3), FDSTORE): keeps the descriptors that the
// service sends, and passes them to the next service.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace genv::tests {

/// A descriptor that is closed with its last copy.
using SharedDescriptor = std::shared_ptr<const int>;
SharedDescriptor own(int fd);

class DescriptorStore {
  public:
    /// Listens on a socket. The service gets its address in NOTIFY_SOCKET.
    DescriptorStore();

    [[nodiscard]] std::string address() const { return address_; }
    /// Receives everything that the service has sent so far, and returns the kept descriptors by
    /// name. Descriptors whose other end has closed are dropped, as systemd does.
    const std::map<std::string, SharedDescriptor>& kept();
    /// Does the same without dropping anything, as if systemd had not polled yet.
    const std::map<std::string, SharedDescriptor>& received();

    /// Receives everything, and returns the last status that the service sent.
    const std::string& status();

  private:
    bool receive();

    std::string address_;
    SharedDescriptor socket_;
    std::map<std::string, SharedDescriptor> kept_;
    std::string status_;
};

} // namespace genv::tests
