// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/notice_subscription.hpp"

#include "core/base/text.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace genv::notify {

NoticeSubscription::NoticeSubscription(sd_event* loop, std::function<void(const Notice&)> handler)
    : handler_(std::move(handler)), retry_(loop, [this] { connectOrRetry(); }) {}

void NoticeSubscription::connect() {
    Client client;
    client.listenForNotices(getuid());
    client_.emplace(std::move(client));
    backoff_.succeeded();
    if (std::exchange(isLost_, false))
        std::fputs("genv-notify: connected to the system bus again\n", stderr);
}

void NoticeSubscription::connectOrRetry() {
    try {
        connect();
    } catch (const Error& error) {
        client_.reset();
        if (!std::exchange(isLost_, true))
            std::fprintf(stderr, "genv-notify: %s; trying again\n",
                         core::escaped(error.what(), 512).c_str());
        retry_.start(backoff_.next());
    }
}

bool NoticeSubscription::wait(int descriptor) {
    if (!client_)
        return false;
    try {
        const auto first = client_->nextNotice(descriptor);
        if (!first)
            return true;
        onNotice(*first);
        // Notices that have arrived by now belong to one burst, even if this process reads them
        // late.
        for (const Notice& notice : client_->takeNotices())
            onNotice(notice);
    } catch (const Error& error) {
        client_.reset();
        if (!std::exchange(isLost_, true))
            std::fprintf(stderr, "genv-notify: lost the system bus (%s); trying again\n",
                         core::escaped(error.what(), 512).c_str());
        retry_.start(backoff_.next());
    }
    return true;
}

// The advice depends on the present holders of the GPU.
void NoticeSubscription::onNotice(Notice notice) {
    const auto device = notice.details.find("device");
    if (notice.kind == "open-refused" && device != notice.details.end()) {
        try {
            // Unlike other calls, this one does not start a service that has just been stopped.
            for (const DeviceState& state : client_->machine(StartsService::No).devices) {
                if (std::to_string(state.device.index) == device->second &&
                    !state.attachments.empty())
                    notice.details[heldByOthers] = "yes";
            }
        } catch (const Error&) { // NOLINT(bugprone-empty-catch): the usual advice is given then
        }
    }
    handler_(notice);
}

} // namespace genv::notify
