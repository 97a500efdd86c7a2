// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/write_retries.hpp"

#include <chrono>
#include <utility>

namespace genv::service {

namespace {

constexpr std::chrono::seconds writeRetryInterval{1};

} // namespace

WriteRetries::WriteRetries(core::Ledger& ledger, FileStore& store, ShellFiles& shellFiles,
                           core::Scheduler& scheduler, core::Log& log)
    : ledger_(ledger), store_(store), shellFiles_(shellFiles), scheduler_(scheduler), log_(log) {
    ledger_.onUnwritten([this](const std::string& why) {
        logOnce(why);
        retryLater();
    });
    store_.onFolderRestored([this] {
        ledger_.storeWasLost();
        retryLater();
    });
    shellFiles_.onUnwritten([this] { retryLater(); });
    if (!ledger_.retryWrites()) {
        log_.error("documents of environments that ended could not be removed");
        retryLater();
    }
    if (!shellFiles_.retryWrites())
        retryLater();
}

// Stops listening. Writes that fail from now on are reported to nobody.
WriteRetries::~WriteRetries() {
    ledger_.onUnwritten(nullptr);
    store_.onFolderRestored(nullptr);
    shellFiles_.onUnwritten(nullptr);
}

// Logs a problem when it starts, not at each retry.
void WriteRetries::logOnce(const std::string& why) {
    if (!std::exchange(hasLogged_, true))
        log_.error("{}; trying again every second", why);
}

void WriteRetries::retryLater() {
    if (!timer_)
        timer_ = scheduler_.after(writeRetryInterval, [this] { retry(); });
}

void WriteRetries::retry() {
    const bool documents = ledger_.retryWrites();
    const bool files = shellFiles_.retryWrites();
    timer_.reset();
    if (!documents || !files) {
        retryLater();
        return;
    }
    hasLogged_ = false;
    log_.info("the state is written again");
}

} // namespace genv::service
