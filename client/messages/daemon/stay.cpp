// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/daemon/stay.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

// By then genv-jobs has told about the job that was its last one.
constexpr auto calm = 5s;

} // namespace

Stay::Stay(const event::LoopBus& bus, sd_event* loop, const jobs::Places& places)
    : unfinished_(places.unfinished), lingering_(bus, ::getuid(), places.folder / "lingering"),
      calm_(loop, [this] { onCalm(); }) {}

bool Stay::isUnfinished() const {
    return ::access(unfinished_.c_str(), F_OK) == 0;
}

void Stay::update(bool isBusy) {
    calm_.stop();
    if (!isBusy)
        calm_.start(calm);
}

// A job that was submitted just then may have seen that the user lingers still.
void Stay::onCalm() {
    if (!isUnfinished()) {
        lingering_.release();
        if (!std::exchange(isReleased_, true))
            calm_.start(calm);
    } else if (std::exchange(isReleased_, false)) {
        lingering_.ensure([](jobs::UserLingering::Note) {});
    }
}

} // namespace genv::messages
