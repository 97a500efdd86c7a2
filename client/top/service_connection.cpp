// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/service_connection.hpp"

namespace genv::top {

namespace {

ctl::ExitStatus statusOf(remote::Trouble trouble) {
    return trouble == remote::Trouble::NotAuthorized ? ctl::ExitStatus::NotAuthorized
                                                     : ctl::ExitStatus::NoService;
}

} // namespace

Client& ServiceConnection::client() {
    if (client_)
        return *client_;
    if (!host_)
        return client_.emplace();
    session_ = std::make_unique<remote::Session>(*host_);
    return client_.emplace(session_->connect());
}

void ServiceConnection::drop() {
    client_.reset();
    session_.reset();
}

ctl::Failure ServiceConnection::explain(const Error& error) {
    if (!session_)
        return ctl::toFailure(error);
    const remote::HostFailure failure = session_->explain(error);
    if (failure.trouble() == remote::Trouble::Failed) {
        const ctl::Failure known = ctl::toFailure(error);
        return {known.status(), host_->label() + ": " + known.what(), known.hint()};
    }
    return {statusOf(failure.trouble()), host_->label() + ": " + failure.what(), failure.hint()};
}

} // namespace genv::top
