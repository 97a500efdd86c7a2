// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/dynamic_users.hpp"

#include <gio/gio.h>

#include <string_view>
#include <utility>

namespace genv::service {

// Named, since DynamicUsers::Bus has a member of this type.
namespace gdbus {

struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
};

} // namespace gdbus

namespace {

constexpr const char* logind = "org.freedesktop.login1";
constexpr const char* logindPath = "/org/freedesktop/login1";
constexpr const char* logindManager = "org.freedesktop.login1.Manager";
constexpr const char* systemd = "org.freedesktop.systemd1";
constexpr const char* systemdPath = "/org/freedesktop/systemd1";
constexpr const char* systemdManager = "org.freedesktop.systemd1.Manager";
constexpr std::string_view noSuchUser = "org.freedesktop.systemd1.NoSuchDynamicUser";
constexpr int timeoutMilliseconds = 25'000;

struct FreeError {
    void operator()(GError* error) const { g_error_free(error); }
};
using Error = std::unique_ptr<GError, FreeError>;

struct FreeVariant {
    void operator()(GVariant* value) const { g_variant_unref(value); }
};
using Value = std::unique_ptr<GVariant, FreeVariant>;

core::DynamicUids::Answer answerOf(const Value& reply, const Error& error) {
    if (reply)
        return core::DynamicUids::Answer::Service;
    struct Free {
        void operator()(gchar* text) const { g_free(text); }
    };
    const std::unique_ptr<gchar, Free> name(g_dbus_error_get_remote_error(error.get()));
    return name && name.get() == noSuchUser ? core::DynamicUids::Answer::Person
                                            : core::DynamicUids::Answer::None;
}

} // namespace

// The part that outlives the object until the last call has its answer.
struct DynamicUsers::Bus : std::enable_shared_from_this<DynamicUsers::Bus> {
    using Connection = std::unique_ptr<GDBusConnection, gdbus::Unref>;

    // What a pending call needs. Its callback takes it back.
    struct Call {
        std::weak_ptr<Bus> bus;
        core::Uid uid = 0;
    };

    Bus(const core::Clock& clockOfService, core::Log& logOfService, std::set<core::Uid> people,
        Changed onChanged)
        : clock(clockOfService), log(logOfService), uids(std::move(people)),
          changed(std::move(onChanged)) {}
    Bus(const Bus&) = delete;
    Bus& operator=(const Bus&) = delete;
    ~Bus() {
        if (logins != 0)
            g_dbus_connection_signal_unsubscribe(connection.get(), logins);
    }

    void connect();
    void connected(Connection opened);
    void listen();
    void listUsers();
    void seen(core::Uid uid, core::DynamicUids::Sign sign);
    void ask(core::Uid uid);
    void learn(core::Uid uid, core::DynamicUids::Answer answer);
    void call(const char* name, const char* path, const char* interface, const char* method,
              GVariant* arguments, const char* reply, core::Uid uid, GAsyncReadyCallback done);

    const core::Clock& clock;
    core::Log& log;
    core::DynamicUids uids;
    const Changed changed;
    Connection connection;
    bool isConnecting = false;
    guint logins = 0;
};

void DynamicUsers::Bus::connect() {
    if (connection || std::exchange(isConnecting, true))
        return;
    auto call = std::make_unique<Call>(Call{weak_from_this()});
    g_bus_get(
        G_BUS_TYPE_SYSTEM, nullptr,
        [](GObject* /*source*/, GAsyncResult* result, gpointer data) {
            const std::unique_ptr<Call> made(static_cast<Call*>(data));
            Connection opened(g_bus_get_finish(result, nullptr));
            if (const auto bus = made->bus.lock())
                bus->connected(std::move(opened));
        },
        call.release());
}

void DynamicUsers::Bus::connected(Connection opened) {
    isConnecting = false;
    if (!opened)
        return; // the next check tries again
    connection = std::move(opened);
    // The main loop reports a closed bus.
    g_dbus_connection_set_exit_on_close(connection.get(), FALSE);
    listen();
    listUsers();
    for (const core::Uid uid : uids.askAgain(clock.bootNow()))
        ask(uid);
}

void DynamicUsers::Bus::listen() {
    logins = g_dbus_connection_signal_subscribe(
        connection.get(), logind, logindManager, "UserNew", logindPath, nullptr,
        G_DBUS_SIGNAL_FLAGS_NONE,
        [](GDBusConnection* /*connection*/, const gchar* /*sender*/, const gchar* /*path*/,
           const gchar* /*interface*/, const gchar* /*signal*/, GVariant* arguments,
           gpointer data) {
            guint32 uid = 0;
            if (!g_variant_is_of_type(arguments, G_VARIANT_TYPE("(uo)")))
                return;
            g_variant_get(arguments, "(u&o)", &uid, nullptr);
            if (const auto bus = static_cast<Call*>(data)->bus.lock())
                bus->seen(uid, core::DynamicUids::Sign::Login);
        },
        std::make_unique<Call>(Call{weak_from_this()}).release(),
        [](gpointer data) { std::unique_ptr<Call>(static_cast<Call*>(data)); });
}

// Those who logged in before the service started.
void DynamicUsers::Bus::listUsers() {
    call(logind, logindPath, logindManager, "ListUsers", nullptr, "(a(uso))", 0,
         [](GObject* source, GAsyncResult* result, gpointer data) {
             const std::unique_ptr<Call> made(static_cast<Call*>(data));
             const Value reply(
                 g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, nullptr));
             const auto bus = made->bus.lock();
             if (!reply || !bus)
                 return;
             const Value users(g_variant_get_child_value(reply.get(), 0));
             for (gsize n = 0; n < g_variant_n_children(users.get()); ++n) {
                 guint32 uid = 0;
                 g_variant_get_child(users.get(), n, "(u&s&o)", &uid, nullptr, nullptr);
                 bus->seen(uid, core::DynamicUids::Sign::Login);
             }
         });
}

void DynamicUsers::Bus::seen(core::Uid uid, core::DynamicUids::Sign sign) {
    if (connection && uids.ask(uid, sign, clock.bootNow()))
        ask(uid);
}

void DynamicUsers::Bus::ask(core::Uid uid) {
    call(systemd, systemdPath, systemdManager, "LookupDynamicUserByUID", g_variant_new("(u)", uid),
         "(s)", uid, [](GObject* source, GAsyncResult* result, gpointer data) {
             const std::unique_ptr<Call> made(static_cast<Call*>(data));
             GError* failure = nullptr;
             const Value reply(
                 g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, &failure));
             const Error error(failure);
             if (const auto bus = made->bus.lock())
                 bus->learn(made->uid, answerOf(reply, error));
         });
}

void DynamicUsers::Bus::learn(core::Uid uid, core::DynamicUids::Answer answer) {
    if (!uids.learn(uid, answer))
        return;
    if (uids.people().contains(uid))
        log.notice("isolation: uid {} is no service of systemd; it is not exempt any more", uid);
    else
        log.notice("isolation: a service of systemd has uid {} now; it is exempt", uid);
    changed(uids.people());
}

void DynamicUsers::Bus::call(const char* name, const char* path, const char* interface,
                             const char* method, GVariant* arguments, const char* reply,
                             core::Uid uid, GAsyncReadyCallback done) {
    g_dbus_connection_call(connection.get(), name, path, interface, method, arguments,
                           G_VARIANT_TYPE(reply), G_DBUS_CALL_FLAGS_NO_AUTO_START,
                           timeoutMilliseconds, nullptr, done,
                           std::make_unique<Call>(Call{weak_from_this(), uid}).release());
}

DynamicUsers::DynamicUsers(const core::Clock& clock, core::Log& log, std::set<core::Uid> people,
                           Changed changed)
    : bus_(std::make_shared<Bus>(clock, log, std::move(people), std::move(changed))) {}

DynamicUsers::~DynamicUsers() = default;

void DynamicUsers::check() {
    bus_->connect();
    if (!bus_->connection)
        return;
    for (const core::Uid uid : bus_->uids.askAgain(bus_->clock.bootNow()))
        bus_->ask(uid);
}

void DynamicUsers::observed(const core::Observation& observation) {
    for (const core::ObservedProcess& process : observation.processes)
        bus_->seen(process.user(), core::DynamicUids::Sign::GpuUse);
}

} // namespace genv::service
