// SPDX-License-Identifier: LGPL-2.1-or-later
// The Authorizer that asks polkit, with libpolkit-gobject on the GLib context of the calling
// thread. The subject is always the bus name of the sender, so that another process cannot take its
// place while the question is pending. Nothing is cached: a new rule of the administrator applies
// to the next call.
#pragma once

#include "policy/authorizer.hpp"

#include <chrono>
#include <memory>

namespace genv::policy {

struct PolkitTimes {
    /// The timeouts of a question; an interactive one waits for a person.
    std::chrono::milliseconds deadline{10'000};
    std::chrono::milliseconds interactiveDeadline{120'000};
    /// The time between the end of a request and the cancellation of its question. By then polkitd
    /// has ended the question itself if its sender or the password agent has left the bus. A
    /// cancellation in the same moment can stop polkitd forever: see "polkit and the bus" in
    /// data/doc/faults.md.
    std::chrono::milliseconds cancellationDelay{5'000};
};

class PolkitAuthorizer : public Authorizer {
  public:
    explicit PolkitAuthorizer(const PolkitTimes& times = {});
    PolkitAuthorizer(const PolkitAuthorizer&) = delete;
    PolkitAuthorizer& operator=(const PolkitAuthorizer&) = delete;
    ~PolkitAuthorizer() override;

    [[nodiscard]] std::unique_ptr<Check> ask(const std::string& busName, const Question& question,
                                             bool interactive, Answer answer) override;

  private:
    struct Authority;
    const PolkitTimes times_;
    std::shared_ptr<Authority> authority_;
};

} // namespace genv::policy
