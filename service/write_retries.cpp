// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/write_retries.hpp"

#include <chrono>
#include <utility>

namespace genv::service {

namespace {

constexpr std::chrono::seconds writeRetryInterval{1};

} // namespace

WriteRetries::WriteRetries(Sharing& sharing, Reporting& reporting, GlibLoop& loop, core::Log& log)
    : sharing_(sharing), reporting_(reporting), loop_(loop), log_(log) {
    sharing_.ledger.onUnwritten([this](const std::string& why) {
        logOnce(why);
        retryLater();
    });
    sharing_.store.onFolderRestored([this] {
        sharing_.ledger.storeWasLost();
        retryLater();
    });
    reporting_.shellFiles.onUnwritten([this] { retryLater(); });
    if (!sharing_.ledger.retryWrites()) {
        log_.error("documents of environments that ended could not be removed");
        retryLater();
    }
    if (!reporting_.shellFiles.retryWrites())
        retryLater();
}

// Stops listening. Writes that fail from now on are reported to nobody.
WriteRetries::~WriteRetries() {
    sharing_.ledger.onUnwritten(nullptr);
    sharing_.store.onFolderRestored(nullptr);
    reporting_.shellFiles.onUnwritten(nullptr);
}

// Logs a problem when it starts, not at each retry.
void WriteRetries::logOnce(const std::string& why) {
    if (!std::exchange(hasLogged_, true))
        log_.error("{}; trying again every second", why);
}

void WriteRetries::retryLater() {
    if (!timer_)
        timer_ = GlibLoop::every(writeRetryInterval, [this] { retry(); });
}

void WriteRetries::retry() {
    const bool documents = sharing_.ledger.retryWrites();
    const bool files = reporting_.shellFiles.retryWrites();
    if (!documents || !files)
        return;
    hasLogged_ = false;
    log_.info("the state is written again");
    loop_.soon([this] { timer_.reset(); }); // a timer must not destroy itself
}

} // namespace genv::service
