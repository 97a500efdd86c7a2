// SPDX-License-Identifier: LGPL-2.1-or-later
// The Authorizer that asks polkit, over libpolkit-gobject on the calling thread's GLib context. The
// subject is always the sender's bus name, so that a process cannot turn into another one while it
// waits. Nothing is cached: an administrator's new rule holds for the next call.
#pragma once

#include "policy/authorizer.hpp"

#include <chrono>
#include <memory>

namespace genv::policy {

class PolkitAuthorizer : public Authorizer {
  public:
    /// How long a question may take; an interactive one waits for a person.
    static constexpr std::chrono::seconds deadline{10};
    static constexpr std::chrono::seconds interactiveDeadline{120};

    PolkitAuthorizer();
    PolkitAuthorizer(const PolkitAuthorizer&) = delete;
    PolkitAuthorizer& operator=(const PolkitAuthorizer&) = delete;
    ~PolkitAuthorizer() override;

    [[nodiscard]] std::unique_ptr<Check> ask(const std::string& busName, const Question& question,
                                             bool interactive, Answer answer) override;

  private:
    struct Authority;
    std::shared_ptr<Authority> authority_;
};

} // namespace genv::policy
