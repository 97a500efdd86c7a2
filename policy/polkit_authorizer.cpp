// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policy/polkit_authorizer.hpp"

#include <gio/gio.h>
#include <polkit/polkit.h>

#include <utility>

namespace genv::policy {

namespace {

struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename T>
using ObjectPtr = std::unique_ptr<T, Unref>;

struct FreeError {
    void operator()(GError* error) const { g_error_free(error); }
};
using ErrorPtr = std::unique_ptr<GError, FreeError>;

// One question on its way. libpolkit's callback and the Check both hold it; whoever is first to answer or to
// cancel takes the answer out, so that it is told once or not at all.
struct Pending {
    Question question;
    std::string busName;
    bool interactive = false;
    Authorizer::Answer answer;
    ObjectPtr<GCancellable> cancellable{g_cancellable_new()};
    guint timer = 0;

    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    ~Pending() { stopTimer(); }

    void stopTimer() {
        if (timer != 0)
            g_source_remove(std::exchange(timer, 0));
    }

    void tell(Verdict verdict) {
        stopTimer();
        if (auto told = std::exchange(answer, nullptr))
            told(verdict);
    }
};
using PendingPtr = std::shared_ptr<Pending>;

// C callbacks carry a shared_ptr through a pointer that the last of them takes back.
gpointer giveAway(PendingPtr pending) {
    return std::make_unique<PendingPtr>(std::move(pending)).release();
}
PendingPtr takeBack(gpointer data) {
    const std::unique_ptr<PendingPtr> holder(static_cast<PendingPtr*>(data));
    return std::move(*holder);
}

Verdict verdictOf(PolkitAuthorizationResult* result) {
    if (polkit_authorization_result_get_is_authorized(result))
        return Verdict::Authorized;
    return polkit_authorization_result_get_is_challenge(result) ? Verdict::InteractionRequired : Verdict::Denied;
}

void onChecked(GObject* source, GAsyncResult* async, gpointer data) {
    const PendingPtr pending = takeBack(data);
    GError* failure = nullptr;
    const ObjectPtr<PolkitAuthorizationResult> result(
        polkit_authority_check_authorization_finish(POLKIT_AUTHORITY(source), async, &failure));
    const ErrorPtr error(failure);
    pending->tell(result ? verdictOf(result.get()) : Verdict::Unavailable);
}

void onAuthority(GObject* /*source*/, GAsyncResult* async, gpointer data) {
    const PendingPtr pending = takeBack(data);
    GError* failure = nullptr;
    const ObjectPtr<PolkitAuthority> authority(polkit_authority_get_finish(async, &failure));
    const ErrorPtr error(failure);
    if (!pending->answer) // cancelled in the meantime
        return;
    if (!authority) {
        pending->tell(Verdict::Unavailable);
        return;
    }
    const ObjectPtr<PolkitDetails> details(polkit_details_new());
    for (const auto& [key, value] : pending->question.details)
        polkit_details_insert(details.get(), key.c_str(), value.c_str());
    polkit_details_insert(details.get(), "polkit.message", pending->question.message.c_str());
    const ObjectPtr<PolkitSubject> subject(polkit_system_bus_name_new(pending->busName.c_str()));
    const std::string action(idOf(pending->question.action));
    polkit_authority_check_authorization(authority.get(), subject.get(), action.c_str(), details.get(),
                                         pending->interactive ? POLKIT_CHECK_AUTHORIZATION_FLAGS_ALLOW_USER_INTERACTION
                                                              : POLKIT_CHECK_AUTHORIZATION_FLAGS_NONE,
                                         pending->cancellable.get(), onChecked, giveAway(pending));
}

gboolean onTimeout(gpointer data) {
    const PendingPtr pending = *static_cast<PendingPtr*>(data);
    pending->timer = 0; // returning G_SOURCE_REMOVE ends it
    g_cancellable_cancel(pending->cancellable.get());
    pending->tell(Verdict::TimedOut);
    return G_SOURCE_REMOVE;
}

class PolkitCheck : public Check {
  public:
    explicit PolkitCheck(PendingPtr pending) : pending_(std::move(pending)) {}
    PolkitCheck(const PolkitCheck&) = delete;
    PolkitCheck& operator=(const PolkitCheck&) = delete;
    ~PolkitCheck() override {
        const bool waiting = std::exchange(pending_->answer, nullptr) != nullptr;
        pending_->stopTimer();
        if (waiting) // makes libpolkit tell polkitd, which takes the password prompt away
            g_cancellable_cancel(pending_->cancellable.get());
    }

  private:
    PendingPtr pending_;
};

} // namespace

PolkitAuthorizer::PolkitAuthorizer() {
    // libpolkit shares this connection. A bus that goes away is the main loop's to report; GDBus would end the process
    // with SIGTERM, which looks like somebody stopped the service.
    if (const ObjectPtr<GDBusConnection> connection{g_bus_get_sync(G_BUS_TYPE_SYSTEM, nullptr, nullptr)})
        g_dbus_connection_set_exit_on_close(connection.get(), FALSE);
}

PolkitAuthorizer::~PolkitAuthorizer() = default;

std::unique_ptr<Check> PolkitAuthorizer::ask(const std::string& busName, const Question& question, bool interactive,
                                             Answer answer) {
    auto pending = std::make_shared<Pending>();
    pending->question = question;
    pending->busName = busName;
    pending->interactive = interactive;
    pending->answer = std::move(answer);
    const std::chrono::milliseconds patience = interactive ? interactiveDeadline : deadline;
    pending->timer = g_timeout_add_full(
        G_PRIORITY_DEFAULT, static_cast<guint>(patience.count()), onTimeout, giveAway(pending),
        [](gpointer data) { takeBack(data); });
    polkit_authority_get_async(pending->cancellable.get(), onAuthority, giveAway(pending));
    return std::make_unique<PolkitCheck>(std::move(pending));
}

} // namespace genv::policy
