// SPDX-License-Identifier: LGPL-2.1-or-later
// The client: one connection to genvd over the system bus. Calls block; those that change something
// wait as long as the service takes, because a person may be typing a password meanwhile, and the
// service bounds that itself. A client is used by one thread at a time.
#pragma once

#include "genv/error.hpp"
#include "genv/export.hpp"
#include "genv/isolation.hpp"
#include "genv/lock.hpp"
#include "genv/machine.hpp"
#include "genv/options.hpp"
#include "genv/types.hpp"
#include "genv/waiting.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// A connection to the service. Every call throws Error, or ServiceUnavailable where the service is
/// not there.
class GENV_EXPORT Client {
  public:
    /// Connects to the system bus (or the one that DBUS_SYSTEM_BUS_ADDRESS names). The service is
    /// not called yet.
    Client();
    /// Connects to another bus, such as another machine's, at the address that the function gives,
    /// in the form of DBUS_SYSTEM_BUS_ADDRESS. It is asked again for each further connection that a
    /// call needs (those that wait for devices do), always on the thread that calls.
    explicit Client(std::function<std::string()> address);
    Client(Client&& other) noexcept;
    Client& operator=(Client&& other) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Whether the calls from here on may ask for a password, through an agent that the user has.
    /// Without it, what needs one fails with
    /// org.freedesktop.DBus.Error.InteractiveAuthorizationRequired.
    void allowInteraction(bool allow);

    /// Who the bus says that this client is: the user that every call here is made by.
    std::uint32_t uid();

    // -- reading: free for everybody, and bounded by the bus' usual time-out

    /// All environments, oldest first.
    std::vector<EnvironmentEntry> environments();
    /// All environments with everything that is known of them, oldest first.
    std::vector<Environment> environmentDetails();
    /// One environment. Throws Error dev.genv.Error.NoSuchEnvironment.
    Environment environment(const std::string& id);
    /// The environments within others: their ids to the ids of those.
    std::map<std::string, std::string> parents();
    /// The environment that this one is within, or nothing. Throws Error
    /// dev.genv.Error.NoSuchEnvironment.
    std::optional<std::string> parentOf(const std::string& id);
    /// The id of the environment that a process belongs to; 0 means the caller.
    std::string environmentOfProcess(std::uint32_t pid);
    /// All devices by index.
    std::vector<Device> devices();
    /// All attachments by device. What an environment within another one has comes after, and is a
    /// part of what that one has; parents() says which those are.
    std::vector<Attachment> attachments();
    /// The processes that use a GPU now.
    std::vector<ComputeProcess> processes();
    /// The requests that wait for devices, first come first.
    std::vector<QueueEntry> queue();
    /// The environment that holds the lock of each device that is locked.
    std::map<std::uint32_t, std::string> lockHolders();
    /// For whom each reserved device is reserved: "slurm", whose jobs alone get it.
    std::map<std::uint32_t, std::string> reservations();
    /// Every device and every environment with everything that is known of them, in one call, which
    /// does not start a service that is not running.
    Overview overview();
    /// The same with how often each device was refused to users who do not hold it.
    OverviewWithRefusals overviewWithRefusals();
    /// Every device and every environment with everything that is known of them, and the driver.
    Machine machine();
    /// The processes that use a GPU now, with what people know them by.
    std::vector<ProcessDescription> describeProcesses();
    /// The readings of the last hour that are later than this, oldest first; all of them without a
    /// time. The service has them already, so nothing is sampled for this. None from a service of
    /// an earlier version.
    std::vector<Reading> readings(std::optional<Time> since = {});
    /// Everything at once as JSON.
    std::string snapshot();
    ServiceStatus status();
    /// The limits of a user and what is used of them, by the names they have in genvd.conf.
    std::map<std::string, Limit> limits(std::uint32_t uid);
    /// The names of the users with limits of their own in genvd.conf.
    std::vector<std::string> limitedUsers();
    /// The mode of isolation that is in force: "none", "watch" or "user". In another mode than
    /// "none" CUDA_VISIBLE_DEVICES must carry UUIDs, since CUDA counts the devices that it can
    /// open.
    std::string isolationMode();
    /// The mode that is in force, the one that is configured, and why they differ.
    IsolationState isolation();
    /// How often the kernel refused devices to the caller, the last first; with `all` to everybody,
    /// which needs an administrator's consent.
    std::vector<RefusedOpen> refusedOpens(bool all = false);

    /// Gives what has happened to the function, oldest first, in as many calls as it takes. One's
    /// own is free; others' needs an administrator's consent. Throws Error
    /// org.freedesktop.DBus.Error.NotSupported where the machine has no journal.
    void history(const HistoryQuery& query, const std::function<void(const HistoryEvent&)>& take);
    /// The same, with what else is known of each event.
    void
    historyWithDetails(const HistoryQuery& query,
                       const std::function<void(const HistoryEvent&, const HistoryDetails&)>& take);
    /// The same, with the id of the environment that the event's one was within.
    void historyWithParents(
        const HistoryQuery& query,
        const std::function<void(const HistoryEvent&, const std::optional<std::string>& parent)>&
            take);

    // -- changing: one's own freely, others' with an administrator's consent

    /// Starts or joins an environment and returns its id. A failed attachment leaves no new
    /// environment.
    std::string activate(const ActivateOptions& options);
    /// Attaches devices, all or none, and returns every attached index, ascending.
    std::vector<std::uint32_t> attach(const std::string& id, const AttachOptions& options);
    /// Detaches these devices, all where the list is empty, and returns what is left.
    std::vector<std::uint32_t> detach(const std::string& id,
                                      const std::vector<std::uint32_t>& indices);
    void configure(const std::string& id, const ConfigurationChange& change);
    /// Extends the leases of an environment to this long from now, never shortens them. Throws
    /// Error org.freedesktop.DBus.Error.InvalidArgs for an environment without a lease.
    void extend(const std::string& id, std::chrono::seconds lifetime);
    void addProcess(const std::string& id, std::uint32_t pid);
    /// Takes a root process out; without processes and kernels the environment ends.
    void removeProcess(const std::string& id, std::uint32_t pid);
    void addKernel(const std::string& id, const std::string& kernel);
    void removeKernel(const std::string& id, const std::string& kernel);
    /// Ends an environment.
    void deactivate(const std::string& id);
    /// Takes a device from an environment, or with "" from every one, and ends their processes on
    /// it.
    void detachDevice(std::uint32_t index, const std::string& environment);
    /// Ends a wait for devices, by the ticket of queue(). Who waits is refused with
    /// dev.genv.Error.DeviceUnavailable. Throws Error dev.genv.Error.NoSuchWait where nothing waits
    /// with this ticket.
    void cancelWait(std::uint64_t ticket);
    /// Ends a process that uses a GPU.
    void terminateProcess(std::uint32_t pid);
    /// Makes the service read its configuration again.
    void reload();
    /// Suspends isolation, so that the kernel refuses nothing until the machine starts again, or
    /// resumes it. Throws Error org.freedesktop.DBus.Error.NotSupported where isolation is not
    /// configured or its program is not loaded.
    void suspendIsolation(bool suspended);

    /// Runs one cycle of rules and returns what it found and did. Throws Error dev.genv.Error.Busy
    /// while another enforcement is running. A dry run is free for everybody.
    std::vector<EnforcementAction> enforce(const EnforceOptions& options);
    /// The same, and the service runs the cycle again at this interval for as long as this client
    /// lives and asks for no other repeated enforcement. What the later cycles do is told by
    /// nextEnforcement().
    std::vector<EnforcementAction> enforceRepeatedly(const EnforceOptions& options,
                                                     std::chrono::seconds interval);
    /// Waits for the next cycle that enforceRepeatedly() asked for. Returns nothing as soon as the
    /// descriptor is readable, such as a signalfd; -1 waits for cycles only. Throws
    /// ServiceUnavailable when the service ends: nothing is enforced any more then.
    std::optional<std::vector<EnforcementAction>> nextEnforcement(int stopDescriptor = -1);
    /// Carries out a report that was decided elsewhere, as JSON, and returns what was done.
    std::vector<EnforcementAction> execute(const std::string& report);

    // -- waiting: with setWait(true) among the options, or for a lock. While these wait, the
    // client's other calls work. A wait survives a restart of the service: where that comes back
    // within 30 s, the call is made again and has its old place. A wait that timed out throws Error
    // org.freedesktop.DBus.Error.Timeout.

    /// As activate(); returns nothing when it was given up, and a new environment is gone then.
    std::optional<std::string> activate(const ActivateOptions& options, const Waiting& waiting);
    /// As attach(); returns nothing when it was given up, and nothing has been attached then.
    std::optional<std::vector<std::uint32_t>>
    attach(const std::string& id, const AttachOptions& options, const Waiting& waiting);
    /// As extend(); false when it was given up, and it may have been done all the same.
    bool extend(const std::string& id, std::chrono::seconds lifetime, const Waiting& waiting);
    /// Exclusive use of every device of an environment among those who share them, which is asked
    /// for in turn and binds only those who ask. Returns nothing when it was given up. Throws Error
    /// dev.genv.Error.NotAttached where the environment has no device.
    std::optional<Lock> lock(const std::string& id, const Waiting& waiting = {});

    // -- hearing: only the service itself is believed

    /// Collects what the service tells the user with this uid from here on.
    void listenForNotices(std::uint32_t uid);
    /// What was told since the last time, in order; what a call causes is told before it returns.
    std::vector<Notice> takeNotices();
    /// Waits for the next thing that is told, also by a service that is started later. Returns
    /// nothing as soon as the descriptor is readable; -1 waits for notices only. Throws
    /// ServiceUnavailable when the bus is gone.
    std::optional<Notice> nextNotice(int stopDescriptor = -1);
    /// Collects every signal of the service from here on, for nextEvent(), also those of a service
    /// that is started later.
    void listenForEvents();
    /// The same without the names of owners. The service is called neither now nor later, so this
    /// also works while there is none, and starts none.
    void listenForEventsOnly();
    /// Whether the service runs, as far as has been heard since listenForEvents() or
    /// listenForEventsOnly().
    bool serviceIsThere();
    /// Whether the service runs or the bus could start it. It is the bus that is asked, so this
    /// also tells whether that answers; the service is neither called nor started.
    bool serviceIsInstalled();
    /// Waits for the next signal that listenForEvents() asked for. Returns nothing as soon as the
    /// descriptor is readable; -1 waits for signals only.
    std::optional<Event> nextEvent(int stopDescriptor = -1);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace genv
