// SPDX-License-Identifier: LGPL-2.1-or-later
// What a caller asks for. Each class holds the options of one call and hides how: a new option is a
// new setter, which changes neither the size nor the layout of the class, so that programs need not
// be built again. A setter returns the object, so that calls can be chained:
//
//     client.activate(genv::ActivateOptions().setGpus(1).setLifetime(std::chrono::hours{2}));
//
// An option that is not set, or set to nothing, is not sent, and the service takes its default.
// Options are values: a copy shares nothing that can be seen with the original, and one that was
// moved from is as new. Setters throw only std::bad_alloc, and change nothing then.
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

/// What Client::activate() starts or joins, and which devices it attaches. Since 2.0.0.
class GENV_EXPORT ActivateOptions {
  public:
    /// An environment of the same owner is joined; without an id the service chooses one.
    ActivateOptions& setId(const std::optional<std::string>& id);
    /// The name that people see.
    ActivateOptions& setName(const std::optional<std::string>& name);
    /// The configured number of devices.
    ActivateOptions& setGpus(std::optional<std::uint32_t> count);
    /// The share of each device, in bytes; without one, whole devices.
    ActivateOptions& setGpuMemoryBytes(std::optional<std::uint64_t> bytes);
    /// The process that keeps the environment alive; without one, the caller.
    ActivateOptions& setPid(std::optional<std::uint32_t> pid);
    /// A Jupyter kernel that keeps it alive, in place of a process.
    ActivateOptions& setKernel(const std::optional<std::string>& kernel);
    /// Whether devices are attached; by default if they are counted or named.
    ActivateOptions& setAttach(std::optional<bool> attach);
    /// Devices by index, in place of a number and of UUIDs. If one cannot be attached, no new
    /// environment is left.
    ActivateOptions& setIndices(const std::vector<std::uint32_t>& indices);
    /// Devices by UUID, in place of a number and of indices.
    ActivateOptions& setUuids(const std::vector<std::string>& uuids);
    /// Part of the name of the devices' model; with a number of devices.
    ActivateOptions& setModel(const std::optional<std::string>& model);
    /// Devices that other environments hold count as free.
    ActivateOptions& setOverSubscribe(bool overSubscribe);
    /// Whether the call waits in the queue until devices are free.
    ActivateOptions& setWait(bool wait);
    /// The timeout of that wait, at least 1 s; without one it has no limit of its own.
    ActivateOptions& setTimeout(std::optional<std::chrono::seconds> timeout);
    /// The environment ends after this time, at least 1 s.
    ActivateOptions& setLifetime(std::optional<std::chrono::seconds> lifetime);
    /// The owner, if it is not the caller.
    ActivateOptions& setUid(std::optional<std::uint32_t> uid);
    /// The environment whose devices it takes, and with which it ends; one's own, or another user's
    /// with an administrator's consent. Without one, the machine's.
    ActivateOptions& setWithin(const std::optional<std::string>& environment);
    /// The number of a Slurm job, whose environment has exactly the named devices and no process.
    /// Root's alone, as the next two.
    ActivateOptions& setJob(const std::optional<std::string>& job);
    /// Whether another environment that holds one of these devices loses it to the job.
    ActivateOptions& setEvict(bool evict);
    /// When Slurm ends the job: shown, and not enforced.
    ActivateOptions& setEnds(std::optional<Time> ends);

    [[nodiscard]] std::optional<std::uint32_t> pid() const;
    [[nodiscard]] std::optional<std::string> kernel() const;
    [[nodiscard]] bool waits() const;
    [[nodiscard]] std::optional<std::chrono::seconds> timeout() const;

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// What Client::attach() attaches: at most one of a count, indices and UUIDs. Since 2.0.0.
class GENV_EXPORT AttachOptions {
  public:
    /// How many devices the environment holds afterwards; without it, indices and UUIDs, the
    /// configured number.
    AttachOptions& setCount(std::optional<std::uint32_t> count);
    /// Devices that are attached in addition, by index.
    AttachOptions& setIndices(const std::vector<std::uint32_t>& indices);
    /// Devices that are attached in addition, by UUID.
    AttachOptions& setUuids(const std::vector<std::string>& uuids);
    /// Part of the name of the devices' model; with a count or one index, or alone.
    AttachOptions& setModel(const std::optional<std::string>& model);
    /// Devices that other environments hold count as free.
    AttachOptions& setOverSubscribe(bool overSubscribe);
    /// Whether the call waits in the queue until devices are free.
    AttachOptions& setWait(bool wait);
    /// The timeout of that wait, at least 1 s; without one it has no limit of its own.
    AttachOptions& setTimeout(std::optional<std::chrono::seconds> timeout);
    /// These devices are given back after this time, at least 1 s.
    AttachOptions& setLifetime(std::optional<std::chrono::seconds> lifetime);
    /// Whether a count below the number of attached devices detaches the newest of them.
    AttachOptions& setExact(bool exact);

    [[nodiscard]] bool waits() const;
    [[nodiscard]] std::optional<std::chrono::seconds> timeout() const;

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// Which rules Client::enforce() evaluates and how. Rules and limits go by the names that
/// `genvctl enforce --help` lists, so a new one needs no new setter; the service refuses names that
/// it does not know. A limit that is not set does not apply. Since 2.0.0.
class GENV_EXPORT EnforceOptions {
  public:
    /// Whether a rule is evaluated, such as "env-devices".
    EnforceOptions& setRule(const std::string& rule, bool isEvaluated);
    /// A limit on a number, such as "max-devices-per-user".
    EnforceOptions& setCount(const std::string& limit, std::uint32_t count);
    /// A limit on memory in bytes or on time in seconds, such as "max-lifetime".
    EnforceOptions& setAmount(const std::string& limit, std::uint64_t amount);
    /// Limits on the devices of single users, by user name, over "max-devices-per-user".
    EnforceOptions& setMaxDevicesForUser(const std::map<std::string, std::uint32_t>& limits);
    /// Whether the rules only report what they would do.
    EnforceOptions& setDryRun(bool dryRun);
    /// Whether processes are signalled, as is the default; otherwise environments are only
    /// detached.
    EnforceOptions& setTerminate(bool terminate);

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// Which parts of a configuration Client::configure() changes: those that are set. A part that is
/// set to nothing is unset in the environment. Since 2.0.0.
class GENV_EXPORT ConfigurationChange {
  public:
    ConfigurationChange& setName(const std::optional<std::string>& name);
    ConfigurationChange& setGpus(std::optional<std::uint32_t> count);
    /// The share of each device, in bytes.
    ConfigurationChange& setGpuMemoryBytes(std::optional<std::uint64_t> bytes);
    /// The time from now on after which leases end, at least 1 s and never earlier than before.
    /// Nothing: there is no lease any more.
    ConfigurationChange& setLifetime(std::optional<std::chrono::seconds> lifetime);

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

/// Which events Client::history() gives: those that match everything that is set. Since 2.0.0.
class GENV_EXPORT HistoryQuery {
  public:
    /// The earliest time; by default the beginning of the journal.
    HistoryQuery& setSince(Time since);
    /// The latest time; by default now.
    HistoryQuery& setUntil(std::optional<Time> until);
    /// The user whom the events concern; by default the caller.
    HistoryQuery& setUid(std::optional<std::uint32_t> uid);
    /// Whether the events of all users and of the machine match; not with a uid.
    HistoryQuery& setEverybody(bool everybody);
    /// The id of an environment.
    HistoryQuery& setEnvironment(const std::optional<std::string>& id);
    HistoryQuery& setDeviceUuid(const std::optional<std::string>& uuid);
    /// The kinds of events, such as "attached"; by default all.
    HistoryQuery& setKinds(const std::vector<std::string>& kinds);

    [[nodiscard]] Time since() const;
    [[nodiscard]] std::optional<Time> until() const;
    [[nodiscard]] std::optional<std::uint32_t> uid() const;
    [[nodiscard]] bool everybody() const;

    struct Values;
    /// For the library itself.
    [[gnu::visibility("hidden"), nodiscard]] const Values& values() const;

  private:
    std::shared_ptr<const Values> values_;
};

} // namespace genv
