// SPDX-License-Identifier: LGPL-2.1-or-later
// The client: one connection to genvd over the system bus. Calls block. A call that changes
// something has no timeout on the client's side: the user may be typing a password meanwhile, and
// the service limits that time itself. A client must be used by one thread at a time.
#pragma once

#include "genv/error.hpp"
#include "genv/export.hpp"
#include "genv/isolation.hpp"
#include "genv/loans.hpp"
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

/// A connection to the service. Every call throws Error if it fails, or ServiceUnavailable if the
/// service cannot be reached.
class GENV_EXPORT Client {
  public:
    /// Connects to the system bus, or to the bus named by DBUS_SYSTEM_BUS_ADDRESS. Makes no call to
    /// the service yet.
    Client();
    /// Connects to another bus, such as the bus of another machine. The function returns the
    /// address of the bus in the form of DBUS_SYSTEM_BUS_ADDRESS. It is called again for each
    /// further connection, which a call needs that waits while the client listens for events, and
    /// after a canceled wait. It is always called on the thread of that call.
    explicit Client(std::function<std::string()> address);
    Client(Client&& other) noexcept;
    Client& operator=(Client&& other) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Sets whether the following calls may ask for a password through the user's authentication
    /// agent. If they may not, a call that needs a password fails with
    /// org.freedesktop.DBus.Error.InteractiveAuthorizationRequired.
    void allowInteraction(bool allow);

    /// Returns the uid that the bus reports for this client. Every call here is made as this user.
    std::uint32_t uid();

    // -- reading: allowed for every user, with the default timeout of the bus

    /// Returns all environments, oldest first.
    std::vector<EnvironmentEntry> environments();
    /// Returns one environment with all its properties. Throws Error
    /// dev.genv.Error.NoSuchEnvironment.
    Environment environment(const std::string& id);
    /// Returns the id of the environment that a process belongs to. A PID of 0 means the caller.
    std::string environmentOfProcess(std::uint32_t pid);
    /// Returns all devices by index.
    std::vector<Device> devices();
    /// Returns all attachments by device. The attachments of a nested environment come after those
    /// of its parent and are part of them.
    std::vector<Attachment> attachments();
    /// Returns the processes that use a GPU now.
    std::vector<ComputeProcess> processes();
    /// Returns the requests in the queue, in the order in force.
    std::vector<WaitingRequest> queue();
    /// Returns what the caller has used so far. `all`: of all users, for which the caller must be
    /// authorized.
    std::vector<UserUse> use(bool all);
    /// Returns every device and every environment with all their properties, at one moment.
    Machine machine(StartsService starts = StartsService::Yes);
    /// Returns the processes that use a GPU now, with their names and users.
    std::vector<ProcessDescription> describeProcesses();
    /// Returns the readings of the last hour, oldest first, or only the readings later than
    /// `since`. The service has already taken these readings, so the call samples nothing.
    std::vector<Reading> readings(std::optional<Time> since = {});
    /// Returns the whole state as JSON.
    std::string snapshot();
    ServiceStatus status();
    /// Returns the limits of a user and the used part of each, by their names in genvd.conf.
    std::map<std::string, Limit> limits(std::uint32_t uid);
    /// Returns the names of the users that have limits of their own in genvd.conf.
    std::vector<std::string> limitedUsers();
    /// Returns the isolation mode in force, the configured mode, and the reason if they differ. In
    /// every mode except "none", CUDA_VISIBLE_DEVICES must contain UUIDs, because CUDA numbers only
    /// the devices that it can open.
    IsolationState isolation();
    /// Returns how often the kernel refused devices to the caller, latest first. With `all`,
    /// returns the refusals of every user, which needs an administrator's consent.
    std::vector<RefusedOpen> refusedOpens(bool all = false);

    /// Calls the function for each event of the history, oldest first, in as many requests as it
    /// takes. Only the events of other users need an administrator's consent. Throws Error
    /// org.freedesktop.DBus.Error.NotSupported if the machine has no journal.
    void history(const HistoryQuery& query, const std::function<void(const HistoryEvent&)>& take);

    // -- changing: the caller's own environments freely, those of others with an administrator's
    // consent

    /// Starts or joins an environment and returns its id. If attaching fails, no new environment is
    /// left.
    std::string activate(const ActivateOptions& options);
    /// Attaches all requested devices or none. Returns every attached index, ascending.
    std::vector<std::uint32_t> attach(const std::string& id, const AttachOptions& options);
    /// Detaches these devices, or all if the list is empty. Returns the indices still attached.
    std::vector<std::uint32_t> detach(const std::string& id,
                                      const std::vector<std::uint32_t>& indices);
    void configure(const std::string& id, const ConfigurationChange& change);
    /// Extends the leases of an environment to this time from now, and never shortens them. Throws
    /// Error org.freedesktop.DBus.Error.InvalidArgs if the environment has no lease.
    void extend(const std::string& id, std::chrono::seconds lifetime);
    void addProcess(const std::string& id, std::uint32_t pid);
    /// Removes a root process. The environment ends if it has no process and no Jupyter kernel
    /// left.
    void removeProcess(const std::string& id, std::uint32_t pid);
    void addKernel(const std::string& id, const std::string& kernel);
    void removeKernel(const std::string& id, const std::string& kernel);
    /// Ends an environment.
    void deactivate(const std::string& id);
    /// Detaches a device from an environment, or from every environment if the id is "", and ends
    /// their processes on the device.
    void detachDevice(std::uint32_t index, const std::string& environment);
    /// Cancels a request in the queue by its ticket, as queue() returns it. The waiting call fails
    /// with dev.genv.Error.DeviceUnavailable. Throws Error dev.genv.Error.NoSuchWait if no request
    /// has this ticket.
    void cancelWait(std::uint64_t ticket);
    /// Ends a process that uses a GPU.
    void terminateProcess(std::uint32_t pid);
    /// Makes the service reload its configuration.
    void reload();
    /// Suspends or resumes isolation. While isolation is suspended, the kernel refuses nothing; it
    /// stays suspended until the machine restarts. Throws Error
    /// org.freedesktop.DBus.Error.NotSupported if isolation is not configured or its program is not
    /// loaded.
    void suspendIsolation(bool suspended);

    /// Runs one enforcement cycle and returns its findings and actions. Throws Error
    /// dev.genv.Error.Busy while another enforcement is running. Every user may make a dry run.
    std::vector<EnforcementAction> enforce(const EnforceOptions& options);
    /// The same, and the service repeats the cycle at this interval until this client ends or
    /// requests another repeated enforcement. nextEnforcement() returns the results of the later
    /// cycles.
    std::vector<EnforcementAction> enforceRepeatedly(const EnforceOptions& options,
                                                     std::chrono::seconds interval);
    /// Waits for the next cycle requested by enforceRepeatedly(). Returns nothing as soon as the
    /// descriptor, such as a signalfd, is readable; -1 means that there is none. Throws
    /// ServiceUnavailable when the service ends, because the rules are no longer enforced then.
    std::optional<std::vector<EnforcementAction>> nextEnforcement(int stopDescriptor = -1);
    /// Carries out a report, given as JSON, that was decided elsewhere. Returns the actions taken.
    std::vector<EnforcementAction> execute(const std::string& report);

    // -- waiting: calls with setWait(true) among the options, and lock(). While such a call waits,
    // other calls of the same client work, as long as the service runs. The request survives a
    // restart or a stop of the service: when it runs again, the call is made again, and keeps its
    // place in the queue if that takes less than 30 s. A stopped service is not started. If the
    // timeout expires, the call throws Error org.freedesktop.DBus.Error.Timeout. Cancelling a wait
    // closes the connection to the bus; the next call opens another one.

    /// As activate(). Returns nothing if the wait was canceled; a new environment is removed then.
    std::optional<std::string> activate(const ActivateOptions& options, const Waiting& waiting);
    /// As attach(). Returns nothing if the wait was canceled; no device has been attached then.
    std::optional<std::vector<std::uint32_t>>
    attach(const std::string& id, const AttachOptions& options, const Waiting& waiting);
    /// As extend(). Returns false if the wait was canceled; the leases may have been extended even
    /// so.
    bool extend(const std::string& id, std::chrono::seconds lifetime, const Waiting& waiting);
    /// Moves the GPU memory of an environment's processes to host memory and frees its GPUs.
    /// Returns false if the wait was canceled; parking is undone then. Throws Error
    /// dev.genv.Error.CannotPark with the problem and the remedy.
    bool park(const std::string& id, const Waiting& waiting = {});
    /// Requests the devices of a parked environment again, and returns them once its processes go
    /// on. Only the options of a wait apply. Returns nothing if the wait was canceled.
    std::optional<std::vector<std::uint32_t>>
    resume(const std::string& id, const AttachOptions& options, const Waiting& waiting = {});
    /// Requests exclusive use of all devices of an environment that shares them. Requests for the
    /// lock are queued. The lock is advisory: it excludes only callers that request it. Returns
    /// nothing if the wait was canceled. Throws Error dev.genv.Error.NotAttached if the
    /// environment has no device.
    std::optional<Lock> lock(const std::string& id, const Waiting& waiting = {});

    // -- listening: signals count only if the service itself sent them

    /// Starts to collect the notices of the service for the user with this uid.
    void listenForNotices(std::uint32_t uid);
    /// Returns the notices collected since the last call, in order. The notices caused by a call
    /// arrive before that call returns.
    std::vector<Notice> takeNotices();
    /// Waits for the next notice, also from a service that is started later. Returns nothing as
    /// soon as the descriptor is readable; -1 means that there is none. Throws ServiceUnavailable
    /// if the connection to the bus is lost.
    std::optional<Notice> nextNotice(int stopDescriptor = -1);
    /// Starts to collect every signal of the service for nextEvent(), also from a service that is
    /// started later. From then on, calls of this client fail if the service is not running,
    /// instead of starting it.
    void listenForEvents();
    /// The same without the names of owners. This neither calls nor starts the service, now or
    /// later, so it also works while no service is running.
    void listenForEventsOnly();
    /// Whether the service is running, according to the signals since listenForEvents() or
    /// listenForEventsOnly().
    bool serviceIsThere();
    /// Whether the service is running or the bus could start it. Asks only the bus, so this also
    /// shows whether the bus replies; the service is neither called nor started.
    bool serviceIsInstalled();
    /// Waits for the next signal collected since listenForEvents(). Returns nothing as soon as the
    /// descriptor is readable; -1 means that there is none.
    std::optional<Event> nextEvent(int stopDescriptor = -1);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace genv
