// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/devices/occupancy.hpp"

#include <memory>
#include <utility>

namespace genv::core {

void Occupancy::onEvent(const Event& event) {
    const auto* detached = std::get_if<Detached>(&event);
    if (detached == nullptr)
        return;
    const TableDevice* device = ledger_.devices().findUuid(detached->attachment.device.uuid);
    if (device == nullptr || !device->isUsedOutside() || std::exchange(isSampling_, true))
        return;
    scheduler_.soon([this] {
        observer_.observe(std::chrono::milliseconds{0},
                          [this](const auto&, const std::string&) { isSampling_ = false; });
    });
}

struct Occupancy::Question {
    std::function<void()> function;
    int pauses = 0;
    std::unique_ptr<Scheduled> next; ///< the next look, or the deadline

    void answer() {
        next.reset();
        if (const auto once = std::exchange(function, nullptr))
            once();
    }
};

void Occupancy::sample(std::function<void()> function) {
    ask(std::make_shared<Question>(Question{std::move(function), 0, nullptr}));
}

void Occupancy::ask(const std::shared_ptr<Question>& question) {
    if (isEnding_() && question->pauses++ < maxEndingPauses) {
        question->next = scheduler_.after(endingPause, [this, question] { ask(question); });
        return;
    }
    question->next = scheduler_.after(occupancySampleDeadline, [asked = std::weak_ptr(question)] {
        if (const auto late = asked.lock())
            late->answer();
    });
    observer_.observe(std::chrono::milliseconds{0},
                      [question](const auto&, const std::string&) { question->answer(); });
}

} // namespace genv::core
