// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/job_reply.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/jobs_names.hpp"
#include "dbus/contract/names.hpp"

#include <cstdio>
#include <exception>

namespace genv::jobs {

namespace {

namespace name = dbus::contract::error;

const char* busErrorName(JobErrorCode code) {
    switch (code) {
    case JobErrorCode::NoSuchJob:
        return name::noSuchJob;
    case JobErrorCode::InvalidArgs:
        return name::invalidArgs;
    case JobErrorCode::LimitsExceeded:
        return name::limitsExceeded;
    case JobErrorCode::NotSupported:
        return name::notSupported;
    case JobErrorCode::StorageFailed:
        return name::ioError;
    }
    return name::failed;
}

} // namespace

BusError currentBusError() {
    try {
        throw;
    } catch (const JobError& error) {
        return {busErrorName(error.code()), error.what()};
    } catch (const core::Error& error) { // core's checks of names and sizes
        return {name::invalidArgs, error.what()};
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-jobs: %s\n", core::escaped(error.what(), 512).c_str());
    } catch (...) {
        std::fputs("genv-jobs: an exception of an unknown type\n", stderr);
    }
    return {name::failed,
            "an internal error of genv-jobs; \"journalctl --user -u genv-jobs\" says more"};
}

struct JobReply::State {
    State(dbus::raw::Message received, std::shared_ptr<std::size_t> counter)
        : call(std::move(received)), open(std::move(counter)) {
        ++*open;
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { refuse({name::failed, "genv-jobs gave the call up; try again"}); }

    bool take() {
        if (std::exchange(isSent, true))
            return false;
        --*open;
        return true;
    }
    void refuse(const BusError& error) {
        if (take())
            call.refuse(error.name, error.text);
    }

    const dbus::raw::Message call;
    const std::shared_ptr<std::size_t> open;
    bool isSent = false;
};

JobReply::JobReply(dbus::raw::Message call, std::shared_ptr<std::size_t> open)
    : state_(std::make_shared<State>(std::move(call), std::move(open))) {}

// The bus may be gone, and every caller with it.
void JobReply::send(const Write& write) const {
    if (state_->isSent)
        return;
    try {
        state_->call.reply(write);
        state_->take();
    } catch (const sdbus::Error& error) {
        std::fprintf(stderr, "genv-jobs: cannot reply: %s\n",
                     core::escaped(error.getMessage(), 256).c_str());
        refuse({name::failed, "the reply cannot be sent"});
    }
}

void JobReply::refuse(const BusError& error) const {
    state_->refuse(error);
}

} // namespace genv::jobs
