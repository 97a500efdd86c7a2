// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policy/polkit_authorizer.hpp"

#include <gio/gio.h>
#include <polkit/polkit.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace genv::policy {

// Named, since PolkitAuthorizer::Authority has members of these types.
namespace polkit {

struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename T>
using ObjectPtr = std::unique_ptr<T, Unref>;

struct FreeError {
    void operator()(GError* error) const { g_error_free(error); }
};
using ErrorPtr = std::unique_ptr<GError, FreeError>;

// A pending question. The callback of libpolkit, the timers and the Check share it. The first of
// them takes the callback out, so that it is called at most once.
struct Pending {
    Question question{};
    std::string busName;
    bool interactive = false;
    std::chrono::milliseconds cancellationDelay{};
    Authorizer::Answer answer;
    ObjectPtr<GCancellable> cancellable{g_cancellable_new()};
    ObjectPtr<PolkitAuthority> authority; ///< set once the question was sent
    guint timer = 0;                      ///< the timeout, and later the cancellation
    guint pause = 0;                      ///< the delay before a retry
    std::size_t repeats = 0;

    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    ~Pending() { stopTimers(); }

    void stopTimers() {
        for (guint* source : {&timer, &pause}) {
            if (*source != 0)
                g_source_remove(std::exchange(*source, 0));
        }
    }

    void finish(Verdict verdict) {
        stopTimers();
        if (auto callback = std::exchange(answer, nullptr))
            callback(verdict);
    }
};
using PendingPtr = std::shared_ptr<Pending>;

} // namespace polkit

namespace {

using namespace polkit;
using namespace std::chrono_literals;

// The delays before the retries. After the last one the question fails.
constexpr std::array<std::chrono::milliseconds, 3> pauses{50ms, 200ms, 800ms};

// Passes a shared_ptr through the user data pointer of C callbacks. The last callback takes it
// back.
template <typename T>
gpointer giveAway(std::shared_ptr<T> shared) {
    return std::make_unique<std::shared_ptr<T>>(std::move(shared)).release();
}
template <typename T>
std::shared_ptr<T> takeBack(gpointer data) {
    const std::unique_ptr<std::shared_ptr<T>> holder(static_cast<std::shared_ptr<T>*>(data));
    return std::move(*holder);
}

Verdict verdictOf(PolkitAuthorizationResult* result) {
    if (polkit_authorization_result_get_is_authorized(result))
        return Verdict::Authorized;
    return polkit_authorization_result_get_is_challenge(result) ? Verdict::InteractionRequired
                                                                : Verdict::Denied;
}

// Returns whether polkitd is not running, or is stopping or starting. The bus starts it again on
// the next request.
bool isBetweenTwo(const GError& error) {
    constexpr std::array codes{G_DBUS_ERROR_NO_REPLY, G_DBUS_ERROR_SERVICE_UNKNOWN,
                               G_DBUS_ERROR_NAME_HAS_NO_OWNER, G_DBUS_ERROR_SPAWN_CHILD_EXITED,
                               G_DBUS_ERROR_SPAWN_CHILD_SIGNALED};
    return error.domain == G_DBUS_ERROR &&
           std::find(codes.begin(), codes.end(), error.code) != codes.end();
}

void checkAfterAPause(const PendingPtr& pending);

void onChecked(GObject* source, GAsyncResult* async, gpointer data) {
    const auto pending = takeBack<Pending>(data);
    GError* failure = nullptr;
    const ObjectPtr<PolkitAuthorizationResult> result(
        polkit_authority_check_authorization_finish(POLKIT_AUTHORITY(source), async, &failure));
    const ErrorPtr error(failure);
    if (result)
        pending->finish(verdictOf(result.get()));
    else if (pending->answer && isBetweenTwo(*error) && pending->repeats < pauses.size())
        checkAfterAPause(pending);
    else
        pending->finish(Verdict::Unavailable);
}

void check(const PendingPtr& pending) {
    const ObjectPtr<PolkitDetails> details(polkit_details_new());
    for (const auto& [key, value] : pending->question.details)
        polkit_details_insert(details.get(), key.c_str(), value.c_str());
    polkit_details_insert(details.get(), "polkit.message", pending->question.message().c_str());
    const ObjectPtr<PolkitSubject> subject(polkit_system_bus_name_new(pending->busName.c_str()));
    const std::string action(idOf(pending->question.action));
    const auto flags = pending->interactive
                           ? POLKIT_CHECK_AUTHORIZATION_FLAGS_ALLOW_USER_INTERACTION
                           : POLKIT_CHECK_AUTHORIZATION_FLAGS_NONE;
    polkit_authority_check_authorization(pending->authority.get(), subject.get(), action.c_str(),
                                         details.get(), flags, pending->cancellable.get(),
                                         onChecked, giveAway(pending));
}

gboolean onPauseOver(gpointer data) {
    const PendingPtr pending = *static_cast<PendingPtr*>(data);
    pending->pause = 0; // returning G_SOURCE_REMOVE removes the source
    check(pending);
    return G_SOURCE_REMOVE;
}

void checkAfterAPause(const PendingPtr& pending) {
    const std::chrono::milliseconds pause = pauses.at(pending->repeats++);
    pending->pause =
        g_timeout_add_full(G_PRIORITY_DEFAULT, static_cast<guint>(pause.count()), onPauseOver,
                           giveAway(pending), [](gpointer data) { takeBack<Pending>(data); });
}

void startTimer(const PendingPtr& pending, std::chrono::milliseconds time, GSourceFunc callback) {
    pending->timer =
        g_timeout_add_full(G_PRIORITY_DEFAULT, static_cast<guint>(time.count()), callback,
                           giveAway(pending), [](gpointer data) { takeBack<Pending>(data); });
}

gboolean onCancellation(gpointer data) {
    const PendingPtr pending = *static_cast<PendingPtr*>(data);
    pending->timer = 0; // returning G_SOURCE_REMOVE removes the source
    g_cancellable_cancel(pending->cancellable.get());
    pending->finish(Verdict::Unavailable);
    return G_SOURCE_REMOVE;
}

// For a question whose verdict matters no more. A cancellation tells polkitd to close the password
// prompt.
void cancelLater(const PendingPtr& pending) {
    pending->stopTimers();
    startTimer(pending, pending->cancellationDelay, onCancellation);
}

gboolean onTimeout(gpointer data) {
    const PendingPtr pending = *static_cast<PendingPtr*>(data);
    pending->timer = 0; // returning G_SOURCE_REMOVE removes the source
    pending->finish(Verdict::TimedOut);
    cancelLater(pending);
    return G_SOURCE_REMOVE;
}

class PolkitCheck : public Check {
  public:
    explicit PolkitCheck(PendingPtr pending) : pending_(std::move(pending)) {}
    PolkitCheck(const PolkitCheck&) = delete;
    PolkitCheck& operator=(const PolkitCheck&) = delete;
    ~PolkitCheck() override {
        if (std::exchange(pending_->answer, nullptr) != nullptr)
            cancelLater(pending_);
    }

    void abandon() override {
        if (pending_->answer)
            cancelLater(pending_);
    }

  private:
    PendingPtr pending_;
};

} // namespace

// The handle of libpolkit, which is created once and kept. Creating it waits for polkitd in a
// thread of libpolkit that holds a lock. A second polkit_authority_get_async() in the meantime
// would block the loop until polkitd replies.
struct PolkitAuthorizer::Authority : std::enable_shared_from_this<Authority> {
    // The shared connection of libpolkit. It is held so that libpolkit keeps using this one, for
    // which exit-on-close is disabled. The main loop reports a closed bus; the SIGTERM of GDBus
    // would look as if somebody had stopped the service.
    polkit::ObjectPtr<GDBusConnection> connection;
    polkit::ObjectPtr<PolkitAuthority> object;
    bool getting = false;
    std::vector<std::weak_ptr<polkit::Pending>> waiting;

    void get() {
        if (!std::exchange(getting, true))
            polkit_authority_get_async(nullptr, onGot, giveAway(shared_from_this()));
    }

    void ask(const PendingPtr& pending) const {
        pending->authority.reset(POLKIT_AUTHORITY(g_object_ref(object.get())));
        check(pending);
    }

    static void onGot(GObject* /*source*/, GAsyncResult* async, gpointer data) {
        const auto self = takeBack<Authority>(data);
        GError* failure = nullptr;
        self->object.reset(polkit_authority_get_finish(async, &failure));
        const ErrorPtr error(failure);
        self->getting = false;
        for (const auto& weak : std::exchange(self->waiting, {})) {
            const PendingPtr pending = weak.lock();
            if (!pending || !pending->answer)
                continue; // canceled or timed out
            if (self->object)
                self->ask(pending);
            else
                pending->finish(Verdict::Unavailable);
        }
    }
};

PolkitAuthorizer::PolkitAuthorizer(const PolkitTimes& times)
    : times_(times), authority_(std::make_shared<Authority>()) {
    authority_->connection.reset(g_bus_get_sync(G_BUS_TYPE_SYSTEM, nullptr, nullptr));
    if (authority_->connection)
        g_dbus_connection_set_exit_on_close(authority_->connection.get(), FALSE);
    authority_->get();
}

PolkitAuthorizer::~PolkitAuthorizer() = default;

std::unique_ptr<Check> PolkitAuthorizer::ask(const std::string& busName, const Question& question,
                                             bool interactive, Answer answer) {
    auto pending = std::make_shared<Pending>();
    pending->question = question;
    pending->busName = busName;
    pending->interactive = interactive;
    pending->cancellationDelay = times_.cancellationDelay;
    pending->answer = std::move(answer);
    startTimer(pending, interactive ? times_.interactiveDeadline : times_.deadline, onTimeout);
    if (authority_->object) {
        authority_->ask(pending);
    } else {
        authority_->waiting.push_back(pending);
        authority_->get();
    }
    return std::make_unique<PolkitCheck>(std::move(pending));
}

} // namespace genv::policy
