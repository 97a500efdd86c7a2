// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of each call. Each class hides how it stores its options: a new option is a new
// setter, which changes neither the size nor the layout of the class, so programs need not be
// rebuilt. A setter returns the object, so that calls can be chained:
//
//     client.activate(genv::ActivateOptions().setGpus(1).setLifetime(std::chrono::hours{2}));
//
// An option that is unset, or set to nothing, is not sent, and the service uses its default.
// Options are values: changing a copy never changes the original, and a moved-from object is like a
// new one. Setters throw only std::bad_alloc, and change nothing in that case.
#pragma once

#include "genv/export.hpp"
#include "genv/types.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv {

/// The environment that Client::activate() starts or joins, and its devices. Since 2.0.0.
class GENV_EXPORT ActivateOptions {
  public:
    /// The id of the environment to join, which must have the same owner. Without an id, the
    /// service chooses one for a new environment.
    ActivateOptions& setId(const std::optional<std::string>& id);
    /// The name shown to people.
    ActivateOptions& setName(const std::optional<std::string>& name);
    /// The configured number of devices.
    ActivateOptions& setGpus(std::optional<std::uint32_t> count);
    /// The share of each device in bytes. Without it, whole devices.
    ActivateOptions& setGpuMemoryBytes(std::optional<std::uint64_t> bytes);
    /// Whether other users may over-subscribe the devices of the environment.
    ActivateOptions& setOverSubscribable(bool overSubscribable);
    /// Whether the devices are on loan, so that others' requests may take them: "park" (it is
    /// parked for them) or "end" (where it cannot be parked, it ends). Without it, they are not.
    ActivateOptions& setPreemptible(const std::optional<std::string>& kind);
    /// The PID of the process that keeps the environment alive. Without it, the caller's.
    ActivateOptions& setPid(std::optional<std::uint32_t> pid);
    /// The Jupyter kernel that keeps the environment alive, in place of a process.
    ActivateOptions& setKernel(const std::optional<std::string>& kernel);
    /// Whether to attach devices. By default, devices are attached if a count, an index or a UUID
    /// is set.
    ActivateOptions& setAttach(std::optional<bool> attach);
    /// Devices by index, in place of a count and of UUIDs. If one of them cannot be attached, no
    /// new environment is left.
    ActivateOptions& setIndices(const std::vector<std::uint32_t>& indices);
    /// Devices by UUID, in place of a count and of indices.
    ActivateOptions& setUuids(const std::vector<std::string>& uuids);
    /// A part of the model name that the devices must have; used with a count.
    ActivateOptions& setModel(const std::optional<std::string>& model);
    /// Whether devices held by other environments may be attached as well. Those of other users
    /// need their consent, or an administrator's.
    ActivateOptions& setOverSubscribe(bool overSubscribe);
    /// Whether the call waits in the queue until devices are free.
    ActivateOptions& setWait(bool wait);
    /// Whether a call that waits also waits while a quota forbids the request, and is not refused.
    ActivateOptions& setHoldForQuota(bool hold);
    /// The timeout of that wait, at least 1 s. Without it, the call waits without a limit of its
    /// own.
    ActivateOptions& setTimeout(std::optional<std::chrono::seconds> timeout);
    /// The priority of that wait among the waiting requests of the owner, -100 to 100.
    ActivateOptions& setPriority(std::optional<std::int32_t> priority);
    /// The lifetime after which the environment ends, at least 1 s.
    ActivateOptions& setLifetime(std::optional<std::chrono::seconds> lifetime);
    /// The owner, if it is not the caller.
    ActivateOptions& setUid(std::optional<std::uint32_t> uid);
    /// The environment to nest in: the new environment takes devices from it and ends with it. It
    /// must belong to the caller; another user's needs an administrator's consent. Without it, the
    /// new environment takes devices of the machine.
    ActivateOptions& setWithin(const std::optional<std::string>& environment);
    /// The number of a Slurm job. The job's environment has exactly the named devices and no
    /// process. Only root may set this option and the next two.
    ActivateOptions& setJob(const std::optional<std::string>& job);
    /// Whether other environments that hold one of these devices lose it to the job.
    ActivateOptions& setEvict(bool evict);
    /// The time at which Slurm ends the job. It is displayed, not enforced.
    ActivateOptions& setEnds(std::optional<Time> ends);

    [[nodiscard]] std::optional<std::uint32_t> pid() const;
    [[nodiscard]] std::optional<std::string> kernel() const;
    [[nodiscard]] bool waits() const;
    [[nodiscard]] std::optional<std::chrono::seconds> timeout() const;

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// The devices that Client::attach() attaches: at most one of a count, indices and UUIDs. Since
/// 2.0.0.
class GENV_EXPORT AttachOptions {
  public:
    /// The number of devices that the environment holds afterwards. Without a count, indices and
    /// UUIDs, this is the configured number.
    AttachOptions& setCount(std::optional<std::uint32_t> count);
    /// Devices to attach in addition, by index.
    AttachOptions& setIndices(const std::vector<std::uint32_t>& indices);
    /// Devices to attach in addition, by UUID.
    AttachOptions& setUuids(const std::vector<std::string>& uuids);
    /// A part of the model name that the devices must have; used with a count, with one index, or
    /// alone.
    AttachOptions& setModel(const std::optional<std::string>& model);
    /// Whether devices held by other environments may be attached as well. Those of other users
    /// need their consent, or an administrator's.
    AttachOptions& setOverSubscribe(bool overSubscribe);
    /// Whether the devices of the environment are on loan from now on: "no", "park" or "end".
    /// Without it, this stays as it is.
    AttachOptions& setPreemptible(const std::optional<std::string>& kind);
    /// Whether the call waits in the queue until devices are free.
    AttachOptions& setWait(bool wait);
    /// Whether a call that waits also waits while a quota forbids the request, and is not refused.
    AttachOptions& setHoldForQuota(bool hold);
    /// The timeout of that wait, at least 1 s. Without it, the call waits without a limit of its
    /// own.
    AttachOptions& setTimeout(std::optional<std::chrono::seconds> timeout);
    /// The priority of that wait among the waiting requests of the owner, -100 to 100.
    AttachOptions& setPriority(std::optional<std::int32_t> priority);
    /// The lifetime after which these devices are detached, at least 1 s.
    AttachOptions& setLifetime(std::optional<std::chrono::seconds> lifetime);
    /// Whether a count below the number of attached devices detaches the newest of them.
    AttachOptions& setExact(bool exact);

    [[nodiscard]] bool waits() const;
    [[nodiscard]] std::optional<std::chrono::seconds> timeout() const;

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// The rules that Client::enforce() evaluates, and their limits. Rules and limits have the names
/// listed by `genvctl enforce --help`, so a new one needs no new setter. The service refuses
/// unknown names. A limit that is not set does not apply. Since 2.0.0.
class GENV_EXPORT EnforceOptions {
  public:
    /// Whether to evaluate a rule, such as "env-devices".
    EnforceOptions& setRule(const std::string& rule, bool isEvaluated);
    /// A limit on a number, such as "max-devices-per-user".
    EnforceOptions& setCount(const std::string& limit, std::uint32_t count);
    /// A limit on memory in bytes or on time in seconds, such as "max-lifetime".
    EnforceOptions& setAmount(const std::string& limit, std::uint64_t amount);
    /// Limits on the devices of single users, by user name. They override "max-devices-per-user".
    EnforceOptions& setMaxDevicesForUser(const std::map<std::string, std::uint32_t>& limits);
    /// Whether the rules only report what they would do.
    EnforceOptions& setDryRun(bool dryRun);
    /// Whether the rules signal processes, which is the default. Otherwise, they only detach
    /// environments.
    EnforceOptions& setTerminate(bool terminate);

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// The parts of a configuration that Client::configure() changes. Parts that are not set here stay
/// as they are; a part that is set to nothing is unset in the environment. Since 2.0.0.
class GENV_EXPORT ConfigurationChange {
  public:
    ConfigurationChange& setName(const std::optional<std::string>& name);
    ConfigurationChange& setGpus(std::optional<std::uint32_t> count);
    /// The share of each device in bytes.
    ConfigurationChange& setGpuMemoryBytes(std::optional<std::uint64_t> bytes);
    /// Whether other users may over-subscribe the devices of the environment. Those who share a
    /// device already keep it.
    ConfigurationChange& setOverSubscribable(bool overSubscribable);
    /// Whether the devices of the environment are on loan: "no", "park" or "end".
    ConfigurationChange& setPreemptible(const std::string& kind);
    /// The time from now after which leases end, at least 1 s and never earlier than before.
    /// Nothing removes the lease.
    ConfigurationChange& setLifetime(std::optional<std::chrono::seconds> lifetime);

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// A filter for Client::history(): events must match every part that is set. Since 2.0.0.
class GENV_EXPORT HistoryQuery {
  public:
    /// The earliest time. By default, the beginning of the journal.
    HistoryQuery& setSince(Time since);
    /// The latest time. By default, now.
    HistoryQuery& setUntil(std::optional<Time> until);
    /// The user whom the events concern. By default, the caller.
    HistoryQuery& setUid(std::optional<std::uint32_t> uid);
    /// Whether to include the events of all users and of the machine. Excludes setUid().
    HistoryQuery& setEverybody(bool everybody);
    /// The id of an environment.
    HistoryQuery& setEnvironment(const std::optional<std::string>& id);
    HistoryQuery& setDeviceUuid(const std::optional<std::string>& uuid);
    /// The kinds of events, such as "attached". By default, all.
    HistoryQuery& setKinds(const std::vector<std::string>& kinds);

    [[nodiscard]] Time since() const;
    [[nodiscard]] std::optional<Time> until() const;
    [[nodiscard]] std::optional<std::uint32_t> uid() const;
    [[nodiscard]] bool everybody() const;

    struct Values;
    /// For internal use by the library.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

} // namespace genv
