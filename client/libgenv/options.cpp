// SPDX-License-Identifier: LGPL-2.1-or-later
#include "genv/options.hpp"

#include "client/libgenv/option_contents.hpp"

#include <utility>

namespace genv {

using client::Dictionary;

namespace {

// An object without values has no option set.
template <typename Values>
const Values& valuesOf(const std::shared_ptr<const Values>& values) {
    static const Values none;
    return values ? *values : none;
}

// Copies share their values. Values are therefore never changed, only replaced.
template <typename Values, typename Change>
void change(std::shared_ptr<const Values>& values, Change apply) {
    auto changed = std::make_shared<Values>(valuesOf(values));
    apply(*changed);
    values = std::move(changed);
}

template <typename Value>
void put(Dictionary& arguments, const std::string& name, const std::optional<Value>& value) {
    if (value)
        arguments[name] = sdbus::Variant(*value);
    else
        arguments.erase(name);
}

template <typename Values, typename Value>
void put(std::shared_ptr<const Values>& values, const std::string& name,
         const std::optional<Value>& value) {
    change(values, [&](Values& changed) { put(changed.arguments, name, value); });
}

// A single device is sent in the form that every version of the service understands.
template <typename Values, typename Value>
void putNamed(std::shared_ptr<const Values>& values, const char* one, const char* several,
              const std::vector<Value>& named) {
    change(values, [&](Values& changed) {
        put(changed.arguments, one,
            named.size() == 1 ? std::optional(named.front()) : std::nullopt);
        put(changed.arguments, several, named.size() > 1 ? std::optional(named) : std::nullopt);
    });
}

// Each part of a configuration goes either into the values or into the `unset` list of Configure.
template <typename Values, typename Value>
void putPart(std::shared_ptr<const Values>& values, const char* name,
             const std::optional<Value>& value) {
    change(values, [&](Values& changed) {
        put(changed.arguments, name, value);
        std::erase(changed.unset, name);
        if (!value)
            changed.unset.emplace_back(name);
    });
}

template <typename Value>
std::optional<Value> get(const Dictionary& arguments, const char* name) {
    const auto found = arguments.find(name);
    if (found == arguments.end())
        return std::nullopt;
    return found->second.get<Value>();
}

std::optional<std::uint64_t> secondsIn(std::optional<std::chrono::seconds> span) {
    if (!span)
        return std::nullopt;
    return static_cast<std::uint64_t>(span->count());
}

std::optional<std::chrono::seconds> timeoutIn(const Dictionary& arguments) {
    const auto seconds = get<std::uint64_t>(arguments, "timeout");
    if (!seconds)
        return std::nullopt;
    return std::chrono::seconds(*seconds);
}

std::optional<bool> ifTrue(bool value) {
    return value ? std::optional(true) : std::nullopt;
}

template <typename Values>
std::optional<Values> ifAny(const Values& values) {
    return values.empty() ? std::nullopt : std::optional(values);
}

} // namespace

ActivateOptions& ActivateOptions::setId(const std::optional<std::string>& id) {
    put(values_, "id", id);
    return *this;
}

ActivateOptions& ActivateOptions::setName(const std::optional<std::string>& name) {
    put(values_, "name", name);
    return *this;
}

ActivateOptions& ActivateOptions::setGpus(std::optional<std::uint32_t> count) {
    put(values_, "gpus", count);
    return *this;
}

ActivateOptions& ActivateOptions::setGpuMemoryBytes(std::optional<std::uint64_t> bytes) {
    put(values_, "gpu-memory", bytes);
    return *this;
}

ActivateOptions& ActivateOptions::setOverSubscribable(bool overSubscribable) {
    put(values_, "over-subscribable", ifTrue(overSubscribable));
    return *this;
}

ActivateOptions& ActivateOptions::setPreemptible(const std::optional<std::string>& kind) {
    put(values_, "preemptible", kind);
    return *this;
}

ActivateOptions& ActivateOptions::setPid(std::optional<std::uint32_t> pid) {
    put(values_, "pid", pid);
    return *this;
}

ActivateOptions& ActivateOptions::setKernel(const std::optional<std::string>& kernel) {
    put(values_, "kernel", kernel);
    return *this;
}

ActivateOptions& ActivateOptions::setAttach(std::optional<bool> attach) {
    put(values_, "attach", attach);
    return *this;
}

ActivateOptions& ActivateOptions::setIndices(const std::vector<std::uint32_t>& indices) {
    put(values_, "indices", ifAny(indices));
    return *this;
}

ActivateOptions& ActivateOptions::setUuids(const std::vector<std::string>& uuids) {
    put(values_, "uuids", ifAny(uuids));
    return *this;
}

ActivateOptions& ActivateOptions::setModel(const std::optional<std::string>& model) {
    put(values_, "model", model);
    return *this;
}

ActivateOptions& ActivateOptions::setOverSubscribe(bool overSubscribe) {
    put(values_, "over-subscribe", ifTrue(overSubscribe));
    return *this;
}

ActivateOptions& ActivateOptions::setWait(bool wait) {
    put(values_, "wait", ifTrue(wait));
    return *this;
}

ActivateOptions& ActivateOptions::setHoldForQuota(bool hold) {
    put(values_, "hold-for-quota", ifTrue(hold));
    return *this;
}

ActivateOptions& ActivateOptions::setTimeout(std::optional<std::chrono::seconds> timeout) {
    put(values_, "timeout", secondsIn(timeout));
    return *this;
}

ActivateOptions& ActivateOptions::setPriority(std::optional<std::int32_t> priority) {
    put(values_, "priority", priority);
    return *this;
}

ActivateOptions& ActivateOptions::setLifetime(std::optional<std::chrono::seconds> lifetime) {
    put(values_, "lifetime", secondsIn(lifetime));
    return *this;
}

ActivateOptions& ActivateOptions::setUid(std::optional<std::uint32_t> uid) {
    put(values_, "uid", uid);
    return *this;
}

ActivateOptions& ActivateOptions::setWithin(const std::optional<std::string>& environment) {
    put(values_, "within", environment);
    return *this;
}

ActivateOptions& ActivateOptions::setJob(const std::optional<std::string>& job) {
    put(values_, "job", job);
    return *this;
}

ActivateOptions& ActivateOptions::setEvict(bool evict) {
    put(values_, "evict", ifTrue(evict));
    return *this;
}

ActivateOptions& ActivateOptions::setEnds(std::optional<Time> ends) {
    put(values_, "ends",
        ends ? std::optional(static_cast<std::uint64_t>(ends->time_since_epoch().count()))
             : std::nullopt);
    return *this;
}

std::optional<std::uint32_t> ActivateOptions::pid() const {
    return get<std::uint32_t>(values().arguments, "pid");
}

std::optional<std::string> ActivateOptions::kernel() const {
    return get<std::string>(values().arguments, "kernel");
}

bool ActivateOptions::waits() const {
    return values().arguments.contains("wait");
}

std::optional<std::chrono::seconds> ActivateOptions::timeout() const {
    return timeoutIn(values().arguments);
}

const ActivateOptions::Values& ActivateOptions::values() const {
    return valuesOf(values_);
}

AttachOptions& AttachOptions::setCount(std::optional<std::uint32_t> count) {
    put(values_, "count", count);
    return *this;
}

AttachOptions& AttachOptions::setIndices(const std::vector<std::uint32_t>& indices) {
    putNamed(values_, "index", "indices", indices);
    return *this;
}

AttachOptions& AttachOptions::setUuids(const std::vector<std::string>& uuids) {
    putNamed(values_, "uuid", "uuids", uuids);
    return *this;
}

AttachOptions& AttachOptions::setModel(const std::optional<std::string>& model) {
    put(values_, "model", model);
    return *this;
}

AttachOptions& AttachOptions::setOverSubscribe(bool overSubscribe) {
    put(values_, "over-subscribe", ifTrue(overSubscribe));
    return *this;
}

AttachOptions& AttachOptions::setPreemptible(const std::optional<std::string>& kind) {
    put(values_, "preemptible", kind);
    return *this;
}

AttachOptions& AttachOptions::setWait(bool wait) {
    put(values_, "wait", ifTrue(wait));
    return *this;
}

AttachOptions& AttachOptions::setHoldForQuota(bool hold) {
    put(values_, "hold-for-quota", ifTrue(hold));
    return *this;
}

AttachOptions& AttachOptions::setTimeout(std::optional<std::chrono::seconds> timeout) {
    put(values_, "timeout", secondsIn(timeout));
    return *this;
}

AttachOptions& AttachOptions::setPriority(std::optional<std::int32_t> priority) {
    put(values_, "priority", priority);
    return *this;
}

AttachOptions& AttachOptions::setLifetime(std::optional<std::chrono::seconds> lifetime) {
    put(values_, "lifetime", secondsIn(lifetime));
    return *this;
}

AttachOptions& AttachOptions::setExact(bool exact) {
    put(values_, "exact", ifTrue(exact));
    return *this;
}

bool AttachOptions::waits() const {
    return values().arguments.contains("wait");
}

std::optional<std::chrono::seconds> AttachOptions::timeout() const {
    return timeoutIn(values().arguments);
}

const AttachOptions::Values& AttachOptions::values() const {
    return valuesOf(values_);
}

EnforceOptions& EnforceOptions::setRule(const std::string& rule, bool isEvaluated) {
    put(values_, rule, std::optional(isEvaluated));
    return *this;
}

EnforceOptions& EnforceOptions::setCount(const std::string& limit, std::uint32_t count) {
    put(values_, limit, std::optional(count));
    return *this;
}

EnforceOptions& EnforceOptions::setAmount(const std::string& limit, std::uint64_t amount) {
    put(values_, limit, std::optional(amount));
    return *this;
}

EnforceOptions&
EnforceOptions::setMaxDevicesForUser(const std::map<std::string, std::uint32_t>& limits) {
    put(values_, "max-devices-for-user", ifAny(limits));
    return *this;
}

EnforceOptions& EnforceOptions::setDryRun(bool dryRun) {
    put(values_, "dry-run", ifTrue(dryRun));
    return *this;
}

EnforceOptions& EnforceOptions::setTerminate(bool terminate) {
    put(values_, "terminate", std::optional(terminate));
    return *this;
}

const EnforceOptions::Values& EnforceOptions::values() const {
    return valuesOf(values_);
}

ConfigurationChange& ConfigurationChange::setName(const std::optional<std::string>& name) {
    putPart(values_, "name", name);
    return *this;
}

ConfigurationChange& ConfigurationChange::setGpus(std::optional<std::uint32_t> count) {
    putPart(values_, "gpus", count);
    return *this;
}

ConfigurationChange& ConfigurationChange::setGpuMemoryBytes(std::optional<std::uint64_t> bytes) {
    putPart(values_, "gpu-memory", bytes);
    return *this;
}

ConfigurationChange& ConfigurationChange::setOverSubscribable(bool overSubscribable) {
    putPart(values_, "over-subscribable", std::optional(overSubscribable));
    return *this;
}

ConfigurationChange& ConfigurationChange::setPreemptible(const std::string& kind) {
    putPart(values_, "preemptible", std::optional(kind));
    return *this;
}

ConfigurationChange&
ConfigurationChange::setLifetime(std::optional<std::chrono::seconds> lifetime) {
    putPart(values_, "lifetime", secondsIn(lifetime));
    return *this;
}

const ConfigurationChange::Values& ConfigurationChange::values() const {
    return valuesOf(values_);
}

HistoryQuery& HistoryQuery::setSince(Time since) {
    change(values_, [&](Values& changed) { changed.since = since; });
    return *this;
}

HistoryQuery& HistoryQuery::setUntil(std::optional<Time> until) {
    change(values_, [&](Values& changed) { changed.until = until; });
    return *this;
}

HistoryQuery& HistoryQuery::setUid(std::optional<std::uint32_t> uid) {
    put(values_, "uid", uid);
    return *this;
}

HistoryQuery& HistoryQuery::setEverybody(bool everybody) {
    put(values_, "all", ifTrue(everybody));
    return *this;
}

HistoryQuery& HistoryQuery::setEnvironment(const std::optional<std::string>& id) {
    put(values_, "environment", id);
    return *this;
}

HistoryQuery& HistoryQuery::setDeviceUuid(const std::optional<std::string>& uuid) {
    put(values_, "device", uuid);
    return *this;
}

HistoryQuery& HistoryQuery::setKinds(const std::vector<std::string>& kinds) {
    put(values_, "kinds", ifAny(kinds));
    return *this;
}

Time HistoryQuery::since() const {
    return values().since;
}

std::optional<Time> HistoryQuery::until() const {
    return values().until;
}

std::optional<std::uint32_t> HistoryQuery::uid() const {
    return get<std::uint32_t>(values().arguments, "uid");
}

bool HistoryQuery::everybody() const {
    return values().arguments.contains("all");
}

const HistoryQuery::Values& HistoryQuery::values() const {
    return valuesOf(values_);
}

Waiting& Waiting::setStopDescriptor(int descriptor) {
    change(values_, [&](Values& changed) { changed.stopDescriptor = descriptor; });
    return *this;
}

Waiting& Waiting::setChanged(std::function<void()> changed) {
    change(values_, [&](Values& values) { values.changed = std::move(changed); });
    return *this;
}

Waiting& Waiting::setAgain(std::function<std::optional<std::chrono::milliseconds>()> again) {
    change(values_, [&](Values& values) { values.again = std::move(again); });
    return *this;
}

Waiting& Waiting::setPause(std::function<std::chrono::milliseconds()> pause) {
    change(values_, [&](Values& values) { values.pause = std::move(pause); });
    return *this;
}

Waiting& Waiting::setFollowsDevices(bool follows) {
    change(values_, [&](Values& values) { values.followsDevices = follows; });
    return *this;
}

Waiting& Waiting::setObject(const std::string& path) {
    change(values_, [&](Values& values) { values.object = path; });
    return *this;
}

Waiting& Waiting::setRepeats(bool repeats) {
    change(values_, [&](Values& values) { values.repeats = repeats; });
    return *this;
}

const Waiting::Values& Waiting::values() const {
    return valuesOf(values_);
}

} // namespace genv
