// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides on a request for devices: selects the devices, has the caller's right to them asked for,
// and grants exactly those. Each answer leads to the next decision, which evaluates the request
// anew. If the devices changed hands meanwhile, the request is planned again, and granted if the
// answer covers the new plan, too. Otherwise it is asked about again, as often as it takes. Each
// repetition means that somebody else got devices, so requests make progress. Only if a person
// approved something else, the request is refused, unless it may wait. A request above a limit
// needs a second approval, and its grant is marked as exempt.
#pragma once

#include "core/requests/approval.hpp"
#include "core/requests/evaluated_request.hpp"

#include <optional>
#include <string>
#include <variant>

namespace genv::core {

/// Polkit is to be asked whether the caller may have the devices.
struct DeviceQuestion {
    std::optional<Plan> plan; ///< nothing: no devices
    Target target;
};

/// Polkit is to be asked whether the caller may exceed a limit.
struct LimitQuestion {
    DeviceQuestion asked; ///< before
    std::string violation;
    bool hasOtherWay = false; ///< a no is no refusal, and nobody is prompted: the request waits
};

/// The devices are given, or the request waits for them in the queue.
struct RequestGrant {
    std::optional<Plan> plan;
    bool exempt = false; ///< exceeds a limit, which was approved
};

/// The request is decided anew once the environments that are just ending have ended.
struct AwaitEnds {};
/// The request is decided anew after a new sample of the devices.
struct AwaitSample {};

using RequestDecision =
    std::variant<DeviceQuestion, LimitQuestion, RequestGrant, AwaitEnds, AwaitSample>;

/// How far a request has come. The answers to the questions are noted here.
class RequestProgress {
  public:
    /// Polkit allowed what the last decision asked.
    void allow(Approval by);
    /// Polkit did not allow the request to exceed a limit, and it has another way.
    void refuseToExceed();

  private:
    friend class Deciding; // of request_decision.cpp

    enum class Answer { None, Allowed, Refused };

    std::optional<DeviceQuestion> asked_; ///< the last question about the devices
    std::optional<std::string> exceeds_;  ///< the last question about a limit
    Answer devices_ = Answer::None;
    Answer exceeding_ = Answer::None;
    Approval by_ = Approval::Rules;          ///< of all that was allowed
    Approval exceedingBy_ = Approval::Rules; ///< of the limit
    int settlings_ = 0;
    bool isSampled_ = false;
    bool hasSettled_ = false; ///< before the limits were checked
};

/// Takes the next decision on a request, and notes it in its progress. Throws Error if the request
/// is refused.
RequestDecision decide(const DeviceRequest& request, RequestProgress& progress,
                       const RequestState& state);

} // namespace genv::core
