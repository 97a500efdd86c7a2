// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: processes, pinned by pidfd. All pidfds sit in one epoll set, of which the loop watches
// the one descriptor: ten thousand environments cost a turn of the loop what none do.
#pragma once

#include "core/ports/processes.hpp"
#include "service/gpu/descriptor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace genv::service {

class ProcessTable : public core::Processes {
  public:
    ProcessTable();
    ~ProcessTable() override;
    ProcessTable(const ProcessTable&) = delete;
    ProcessTable& operator=(const ProcessTable&) = delete;

    std::shared_ptr<const core::ProcessPin> pin(core::Pid pid) override;
    std::shared_ptr<const core::ProcessPin> pinDescriptor(int pidfd) override;
    std::vector<core::ProcessIdentity> ancestors(const core::ProcessFacts& process) override;
    std::optional<core::ProcessFacts> look(core::Pid pid) override;
    void onExit(std::function<void(const core::ProcessIdentity&)> listener) override;

    /// What the loop watches; when it is readable, dispatch() tells the exits.
    [[nodiscard]] int descriptor() const;
    void dispatch();

  private:
    class Pin;
    // Shared with the pins, which may outlive the table at the end of the service.
    struct Watch;

    std::shared_ptr<const core::ProcessPin> adopt(Descriptor pidfd, core::Pid pid);

    std::shared_ptr<Watch> watch_;
    std::function<void(const core::ProcessIdentity&)> listener_;
};

} // namespace genv::service
