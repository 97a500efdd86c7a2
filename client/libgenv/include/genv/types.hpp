// SPDX-License-Identifier: LGPL-2.1-or-later
// The values that calls return: environments, devices, attachments and processes as the service
// reports them. Where the bus uses a special number for "unset" or "unknown", these structs have an
// empty optional. They are plain structs, and programs are compiled against their layout, so from
// the release of 2.0.0 on no struct gets a new member: a new value then goes into a new struct,
// returned by a new function of Client. The options of calls are in options.hpp, whose classes can
// grow.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// A point in time on the machine's clock.
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// The configuration of an environment, chosen by its owner. Each part may be unset.
struct Configuration {
    std::optional<std::string> name;
    std::optional<std::uint32_t> gpus;
    std::optional<std::uint64_t> gpuMemoryBytes; ///< the share of each device; unset: whole devices
};

/// A device that an environment holds.
struct AttachedDevice {
    std::uint32_t device = 0;
    std::optional<Time> expires; ///< end of its lease or of the environment's; unset: no lease
};

/// A device that a parked environment gave up.
struct ParkedDevice {
    std::uint32_t device = 0;
    std::uint64_t memoryBytes = 0; ///< that its processes had there
};

/// Whether an environment is parked: the GPU memory of its processes is in host memory, and its
/// GPUs are free for others, until it resumes.
struct ParkingState {
    std::string state = "active"; ///< "active", "parking", "parked" or "resuming"
    std::vector<ParkedDevice> devices;
    std::uint64_t memoryBytes = 0; ///< of the host, that its parked processes hold
    std::optional<Time> since;     ///< when it was parked
    std::string reason;  ///< "user", "admin", "taken", "idle" or "expired"; empty: not parked
    std::string takenBy; ///< the user whose request it is parked for; empty: nobody
    std::uint64_t movedBytes = 0; ///< while it parks or resumes
    std::uint64_t bytesToMove = 0;
    std::string problem; ///< why parking failed or a resume cannot go on, with the remedy
};

/// An environment with all its properties.
struct Environment {
    std::string id;
    std::uint32_t uid = 0;
    std::string user; ///< the owner's name, or the uid as text
    Time created;
    Configuration configuration;
    std::vector<std::uint32_t> processes; ///< root processes
    std::vector<std::string> kernels;     ///< ids of Jupyter kernels
    std::vector<std::uint32_t> devices;   ///< indices of attached devices, ascending
    std::optional<Time> expires; ///< the earliest end of its own lease or of an attachment's
    /// Whether no registered process is left. `processes` are then the compute processes that still
    /// use `devices`.
    bool lingering = false;
    std::vector<AttachedDevice> attached; ///< `devices` with the ends of their leases, by index
    std::optional<std::string> parent;    ///< the environment that it is nested in
    std::optional<std::string> job; ///< its Slurm job number, if it is the environment of a job
    bool overSubscribable = false;  ///< whether other users may over-subscribe its devices
    std::string preemptible = "no"; ///< whether its devices are on loan: "no", "park" or "end"
    ParkingState parking;
};

/// An entry of the list of environments.
struct EnvironmentEntry {
    std::string id;
    std::uint32_t uid = 0;
    std::string user;
    std::optional<std::string> name;
    Time created;
    std::vector<std::uint32_t> processes;
};

/// A GPU or a MIG instance. The UUID of an instance starts with "MIG-".
struct Device {
    std::uint32_t index = 0;
    std::string uuid;
    std::string model;
    std::uint64_t totalMemoryBytes = 0; ///< 0: not known
};

/// An environment's hold on a device.
struct Attachment {
    std::uint32_t device = 0;
    std::string environment;
    std::optional<std::string> environmentName;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    Time since;
};

/// The values of a device's sensors; unset if not known.
struct DeviceSensors {
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint64_t> powerMilliwatts;
    std::optional<std::uint32_t> powerLimitMilliwatts; ///< that the driver enforces
};

/// A device with its current readings. A reading is unset if it is not known.
struct DeviceState {
    Device device;
    std::uint64_t availableMemoryBytes = 0; ///< memory for attachments; 0 if the total is unknown
    std::vector<Attachment> attachments;    ///< oldest first; environment names are not set
    std::optional<std::string> lockHolder;  ///< the environment that holds the lock
    std::string health;                     ///< "ok", "stale", "lost" or "xid-N"
    std::optional<std::uint64_t> usedMemoryBytes;
    DeviceSensors sensors;
    std::optional<Time> sampledAt; ///< time of the last reading from the driver; unset: never
    std::string pciAddress;        ///< such as "0000:65:00.0"; empty if unknown
    std::optional<std::string> reservedFor; ///< "slurm": only Slurm jobs get the device
    /// No environment holds it, nothing outside genv uses it, its health is "ok", and it is not
    /// reserved.
    bool isFree = false;
    std::uint64_t unaccountedMemoryBytes = 0; ///< used memory that no process accounts for
    std::uint64_t refusedOpens = 0; ///< by users who do not hold it, since the service started
};

/// The use of one device by a compute process.
struct DeviceUse {
    std::uint32_t device = 0;
    std::optional<std::uint64_t> usedMemoryBytes; ///< unset: not known to the driver
};

/// A process that the driver reports as using a GPU.
struct ComputeProcess {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::optional<std::string> environment;
    std::vector<DeviceUse> uses;
};

/// The version of the service and its counts.
struct ServiceStatus {
    std::string version;
    std::uint32_t deviceCount = 0;
    std::uint32_t environmentCount = 0;
};

/// A message from the service to the owner of an environment.
struct Notice {
    std::string kind;
    std::string environment;
    std::map<std::string, std::string> details; ///< numbers and lists as text
};

/// A request that waits in the queue. Devices that become free go to the first request.
struct QueueEntry {
    std::uint64_t ticket = 0; ///< each new request gets a higher number
    std::string environment;
    std::uint32_t uid = 0;
    std::uint32_t gpus = 0; ///< how many more devices it needs
    Time since;
};

/// A request in the queue, with the reason of its wait.
struct QueueDescription {
    /// A limit of the owner that holds the request back.
    struct Hold {
        std::string limit;         ///< its name in genvd.conf
        std::uint64_t used = 0;    ///< without the request; memory in bytes
        std::uint64_t allowed = 0; ///< the limit
    };

    QueueEntry entry;
    std::uint32_t position = 0; ///< from 1, in the order in which requests are served
    std::string user;
    std::optional<std::string> parent; ///< the environment whose devices it waits for, if nested
    std::string waitsFor;              ///< "devices", "earlier-requests" or "quota"
    std::optional<Hold> hold;          ///< set if it waits for its quota
    std::optional<Time> expectedStart; ///< unset if it is not known
    std::string order;                 ///< the order in force: "fifo" or "fair"
    double useGpuSeconds = 0;          ///< what its user has used, decayed
    std::uint32_t weight = 0;          ///< of its user
    std::int32_t priority = 0;         ///< among the requests of its user
    std::uint32_t overtakings = 0;     ///< how often others were served first while it was next
    std::optional<Time> firstSince;    ///< set while it is the next request of its user
};

/// What a user has used so far, which decides the order of the queue if the administrator wants it
/// fair.
struct UserUse {
    std::uint32_t uid = 0;
    std::string user;
    std::uint64_t gpuSeconds = 0; ///< older use counts less
    std::uint32_t weight = 0;     ///< users with twice the weight may use twice as much
};

/// A signal of the service, or a change of the service itself.
struct Event {
    enum class Kind {
        EnvironmentAdded,
        EnvironmentRemoved,
        Attached,
        Detached,
        ProcessTerminated,
        QueueChanged,
        Notice,
        ServiceEnded,  ///< no events are reported from here on
        ServiceStarted ///< for the first time, or again
    };
    Kind kind = Kind::QueueChanged;
    Time time; ///< when the signal arrived
    std::optional<std::string> environment;
    std::string user; ///< the owner of the environment; empty if not known
    std::optional<std::uint32_t> device;
    std::optional<std::uint32_t> pid;
    std::string reason;                 ///< for Detached and ProcessTerminated
    std::optional<std::uint32_t> uid;   ///< the recipient of a notice
    std::optional<genv::Notice> notice; ///< the content of a notice
};

/// One finding or action of an enforcement, or an action that a dry run would take.
struct EnforcementAction {
    std::string kind;    ///< "finding", "terminate", "detach", "end", "cancel", "requeue" or
                         ///< "failed"
    std::string rule;    ///< empty for an action of a report
    std::string message; ///< for people; may quote text that other users chose
    std::string user;    ///< user name
    std::optional<std::uint32_t> pid;
    std::optional<std::string> environment;
    std::vector<std::uint32_t> devices;
};

/// A user's limit and the used part of it: bytes for memory, seconds for times.
struct Limit {
    std::optional<std::uint64_t> allowed; ///< unset: unlimited
    std::uint64_t used = 0;
};

/// An event in the history. Its texts may contain text chosen by users.
struct HistoryEvent {
    std::string cursor; ///< its position in the history
    Time time;
    std::string kind;
    std::string message; ///< for people
    std::optional<std::string> environment;
    std::optional<std::string> name;    ///< of the environment
    std::optional<std::uint32_t> uid;   ///< the environment's owner
    std::optional<std::string> user;    ///< the name of the owner
    std::vector<std::uint32_t> devices; ///< the device indices at that time
    std::vector<std::string> uuids;     ///< the UUIDs of these devices, in the same order
    std::optional<std::string> model;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    bool overSubscribed = false;
    std::optional<std::string> reason;
    std::optional<std::uint32_t> caller; ///< who caused the event; 0 is also the service
    std::optional<std::string> callerUser;
    std::optional<std::string> method; ///< of a refusal, like action and error
    std::optional<std::string> action;
    std::optional<std::string> error;
    std::optional<std::uint32_t> pid;
    std::optional<std::string> rule;
    std::optional<std::string> health;
    std::optional<std::uint32_t> count; ///< how many devices the request waited for
    std::optional<std::chrono::microseconds> waited;
    std::optional<std::chrono::microseconds> held;
    std::optional<std::chrono::microseconds> left; ///< time until a lease ends or a rule acts
    std::optional<Time> since;                     ///< when the reported state began
    std::optional<std::string> settings;           ///< the settings changed by a policy change
    std::optional<std::string> parent;             ///< the parent of the environment
    std::optional<std::uint32_t> callerLogin;      ///< uid of the login that acted as root
    std::optional<std::string> callerLoginUser;    ///< the name of that user
    std::optional<std::string> command;            ///< the name of the process with this PID
};

} // namespace genv
