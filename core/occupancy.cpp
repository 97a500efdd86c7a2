// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/occupancy.hpp"

#include <memory>
#include <utility>

namespace genv::core {

void Occupancy::onEvent(const Event& event) {
    const auto* detached = std::get_if<Detached>(&event);
    if (detached == nullptr)
        return;
    const Device* device = ledger_.devices().findUuid(detached->attachment.device.uuid);
    if (device == nullptr || !device->isUsedOutside() || std::exchange(isSampling_, true))
        return;
    scheduler_.soon([this] {
        observer_.observe(std::chrono::milliseconds{0},
                          [this](const auto&, const std::string&) { isSampling_ = false; });
    });
}

void Occupancy::sample(std::function<void()> function) {
    struct Question {
        std::function<void()> function;
        std::unique_ptr<Scheduled> deadline;
    };
    const auto question = std::make_shared<Question>(Question{std::move(function), nullptr});
    const auto answer = [](Question& asked) {
        asked.deadline.reset();
        if (const auto once = std::exchange(asked.function, nullptr))
            once();
    };
    question->deadline =
        scheduler_.after(occupancySampleDeadline, [answer, asked = std::weak_ptr(question)] {
            if (const auto late = asked.lock())
                answer(*late);
        });
    observer_.observe(std::chrono::milliseconds{0},
                      [answer, question](const auto&, const std::string&) { answer(*question); });
}

} // namespace genv::core
