// SPDX-License-Identifier: LGPL-2.1-or-later
// Implements locks as pipes. The client has the writing end and this service the reading end, which
// hangs up when the last copy of the writing end is closed. Nothing is ever read. systemd keeps the
// reading ends while the service restarts (sd_notify(3), FDSTORE) and drops those that hang up
// meanwhile.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/ports/lock_descriptors.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"

#include <cstddef>
#include <map>

namespace genv::service {

class LockPipes : public core::LockDescriptors {
  public:
    /// Maximum number of descriptors to store in systemd. Matches the unit file; a thousand would
    /// make a restart fail.
    static constexpr std::size_t maxStored = 256;

    /// Takes over the descriptors that systemd has stored.
    explicit LockPipes(core::Log& log);

    std::unique_ptr<core::LockEnd> open(std::uint64_t number) override;
    void close(std::uint64_t number) override;
    std::set<std::uint64_t> found() override;
    [[nodiscard]] bool isReleased(std::uint64_t number) const override;
    void onRelease(std::function<void(std::uint64_t number)> listener) override {
        listener_ = std::move(listener);
    }

  private:
    struct Held {
        core::Descriptor end;
        std::unique_ptr<core::Scheduled> watch;
        bool stored = false;
    };

    void hold(std::uint64_t number, core::Descriptor end, bool stored);
    void store(std::uint64_t number, Held& held);

    core::Log& log_;
    std::map<std::uint64_t, Held> held_;
    std::function<void(std::uint64_t number)> listener_;
    std::size_t stored_ = 0;
};

} // namespace genv::service
