// SPDX-License-Identifier: LGPL-2.1-or-later
// The values that calls return: environments, devices, attachments and processes as the service
// tells them. Where the bus uses a special number for "unset" or "unknown", these have an empty
// optional. They are plain structs, which programs read and copy by their layout: a struct gets no
// new member. A value that it has no room for comes in a new struct, from a new function of Client.
// What a caller asks for is in options.hpp, whose classes can grow.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// A moment by the machine's clock.
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// What an environment's owner wants; each may be unset.
struct Configuration {
    std::optional<std::string> name;
    std::optional<std::uint32_t> gpus;
    std::optional<std::uint64_t> gpuMemoryBytes; ///< the share of each device; unset: whole devices
};

/// An environment with everything that is known of it.
struct Environment {
    std::string id;
    std::uint32_t uid = 0;
    std::string user; ///< the owner's name, or the uid as text
    Time created;
    Configuration configuration;
    std::vector<std::uint32_t> processes; ///< the root processes
    std::vector<std::string> kernels;     ///< the ids of Jupyter kernels
    std::vector<std::uint32_t> devices;   ///< the attached indices, ascending
    std::optional<Time> expires;          ///< when the first of its leases ends, or an attachment's
    /// No registered process is left: `processes` are compute processes that still use `devices`.
    bool lingering = false;
};

/// A row of the list of environments.
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
    std::uint64_t totalMemoryBytes = 0;
};

/// An environment's hold on a device.
struct Attachment {
    std::uint32_t device = 0;
    std::string environment;
    std::optional<std::string> environmentName;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    Time since;
};

/// A device with what is known of it at this moment. A reading that is unset is not known.
struct DeviceState {
    Device device;
    std::uint64_t availableMemoryBytes = 0; ///< that no attachment holds
    std::vector<Attachment> attachments;    ///< oldest first; without the environments' names
    std::optional<std::string> lockHolder;  ///< the environment that holds the lock
    std::string health;                     ///< "ok", "stale", "lost" or "xid-N"
    std::optional<std::uint64_t> usedMemoryBytes;
    std::optional<std::uint32_t> utilizationPercent;
    std::optional<std::int32_t> temperatureCelsius;
    std::optional<std::uint64_t> powerMilliwatts;
    std::optional<Time> sampledAt; ///< when the driver was read; unset: never
};

/// Every device and every environment at one moment.
struct Overview {
    std::vector<DeviceState> devices;      ///< by index
    std::vector<Environment> environments; ///< oldest first
};

/// What a compute process uses of one device.
struct DeviceUse {
    std::uint32_t device = 0;
    std::optional<std::uint64_t> usedMemoryBytes; ///< unset: the driver does not know
};

/// A process that the driver reports as using a GPU.
struct ComputeProcess {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::optional<std::string> environment;
    std::vector<DeviceUse> uses;
};

/// What the service says of itself.
struct ServiceStatus {
    std::string version;
    std::uint32_t deviceCount = 0;
    std::uint32_t environmentCount = 0;
};

/// Something that the owner of an environment should hear.
struct Notice {
    std::string kind;
    std::string environment;
    std::map<std::string, std::string> details; ///< numbers and lists as text
};

/// A request that waits for devices. The first in the queue gets what becomes free first.
struct QueueEntry {
    std::uint64_t ticket = 0; ///< grows with each one that comes
    std::string environment;
    std::uint32_t uid = 0;
    std::uint32_t gpus = 0; ///< how many more devices it waits for
    Time since;
};

/// Something that the service told everybody, or that became of the service itself.
struct Event {
    enum class Kind {
        EnvironmentAdded,
        EnvironmentRemoved,
        Attached,
        Detached,
        ProcessTerminated,
        QueueChanged,
        Notice,
        ServiceEnded,  ///< what happens from here on is not told
        ServiceStarted ///< again, or for the first time
    };
    Kind kind = Kind::QueueChanged;
    Time time; ///< when it was heard
    std::optional<std::string> environment;
    std::string user; ///< the environment's owner; empty where it is not known
    std::optional<std::uint32_t> device;
    std::optional<std::uint32_t> pid;
    std::string reason;                 ///< of Detached and ProcessTerminated
    std::optional<std::uint32_t> uid;   ///< whom a notice is for
    std::optional<genv::Notice> notice; ///< what a notice says
};

/// One thing that an enforcement found, did, or would do.
struct EnforcementAction {
    std::string kind;    ///< "finding", "terminate", "detach", "end", "cancel", "requeue" or
                         ///< "failed"
    std::string rule;    ///< empty for a report
    std::string message; ///< for people; may quote text that other users chose
    std::string user;    ///< name
    std::optional<std::uint32_t> pid;
    std::optional<std::string> environment;
    std::vector<std::uint32_t> devices;
};

/// How much a user may have of something and has: bytes for memory, seconds for times.
struct Limit {
    std::optional<std::uint64_t> allowed; ///< unset: unlimited
    std::uint64_t used = 0;
};

/// Something that has happened. Texts may hold what users chose.
struct HistoryEvent {
    std::string cursor; ///< where it stands in the history
    Time time;
    std::string kind;
    std::string message; ///< for people
    std::optional<std::string> environment;
    std::optional<std::string> name;    ///< the environment's
    std::optional<std::uint32_t> uid;   ///< its owner
    std::optional<std::string> user;    ///< its owner's name
    std::vector<std::uint32_t> devices; ///< the indices that they had
    std::vector<std::string> uuids;     ///< as many
    std::optional<std::string> model;
    std::optional<std::uint64_t> shareBytes; ///< unset: the whole device
    bool overSubscribed = false;
    std::optional<std::string> reason;
    std::optional<std::uint32_t> caller; ///< who did it; 0 is the service, too
    std::optional<std::string> callerUser;
    std::optional<std::string> method; ///< of a refusal, as the next two
    std::optional<std::string> action;
    std::optional<std::string> error;
    std::optional<std::uint32_t> pid;
    std::optional<std::string> rule;
    std::optional<std::string> health;
    std::optional<std::uint32_t> count; ///< how many devices were waited for
    std::optional<std::chrono::microseconds> waited;
    std::optional<std::chrono::microseconds> held;
    std::optional<std::chrono::microseconds> left; ///< until a lease ends or a rule acts
    std::optional<Time> since;                     ///< when what is told began
    std::optional<std::string> settings;           ///< what a policy change changed
};

/// What is known of an event beside that.
struct HistoryDetails {
    std::optional<std::string> parent;          ///< the environment that its environment is within
    std::optional<std::uint32_t> callerLogin;   ///< who logged in and acted as root
    std::optional<std::string> callerLoginUser; ///< their name
    std::optional<std::string> command;         ///< the name of the process with the pid
};

} // namespace genv
