// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/job_activation.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/model/slurm_job.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/operation.hpp"
#include "dbus/calls/paths.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace genv::dbus {

namespace {

constexpr const char* jobOption = "job";
constexpr const char* evictOption = "evict";
constexpr const char* endsOption = "ends";
constexpr const char* sluidOption = "sluid";

// End of the year 9999, in microseconds since the epoch.
constexpr std::uint64_t latestEnd = 253'402'300'799'000'000;

struct WantedJob {
    core::NewSlurmJob job;
    std::optional<NamedDevices> devices;
};

core::SlurmJobId takeJob(CallOptions& options) {
    const auto text = options.take<std::string>(jobOption);
    if (!text)
        core::fail(core::ErrorCode::InvalidArgs,
                   "options \"evict\", \"ends\" and \"sluid\" need \"job\"");
    const auto job = core::parseSlurmJobId(*text);
    if (!job)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid job \"{}\": expected the number of a Slurm job, from 1 to 4294967295",
                   core::escaped(*text));
    return *job;
}

std::optional<core::WallTime> takeEnd(CallOptions& options) {
    const auto ends = options.take<std::uint64_t>(endsOption);
    if (ends && (*ends == 0 || *ends > latestEnd))
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid ends {}: expected 1-{} (microseconds since the epoch)", *ends,
                   latestEnd);
    return ends ? std::optional(core::fromMicroseconds(*ends)) : std::nullopt;
}

std::optional<core::Sluid> takeSluid(CallOptions& options) {
    const auto text = options.take<std::string>(sluidOption);
    const auto sluid = text ? core::parseSluid(*text) : std::nullopt;
    if (text && !sluid)
        core::fail(core::ErrorCode::InvalidArgs,
                   "invalid sluid \"{}\": expected \"s\" and 13 digits of base 32, such as "
                   "sEKNKTV3WPV500",
                   core::escaped(*text));
    return sluid;
}

WantedJob readWantedJob(VariantMap values) {
    CallOptions options(std::move(values));
    WantedJob wanted;
    wanted.job.id = takeJob(options);
    const auto uid = options.take<std::uint32_t>("uid");
    const auto id = options.take<std::string>("id");
    wanted.devices = takeNamedDevices(options);
    wanted.job.name = options.takeName("name");
    wanted.job.evict = options.takeFlag(evictOption);
    wanted.job.ends = takeEnd(options);
    wanted.job.sluid = takeSluid(options);
    options.finish();
    if (!uid)
        core::fail(core::ErrorCode::InvalidArgs,
                   "missing option \"uid\": expected the owner of job {}", wanted.job.id);
    wanted.job.uid = *uid;
    if (id && *id != core::environmentIdOf(wanted.job.id))
        core::fail(core::ErrorCode::InvalidArgs,
                   "the environment of job {} has the id {}; leave id out", wanted.job.id,
                   core::environmentIdOf(wanted.job.id));
    return wanted;
}

// A pending call.
class JobActivation : public Operation<JobActivation, ActivateReply> {
  public:
    JobActivation(const BusContext& context, ActivateReply reply, WantedJob wanted)
        : Operation(std::move(reply)), context_(context), wanted_(std::move(wanted)) {}

    void start() {
        context_.machine.users.describe(wanted_.job.uid, later(&JobActivation::takeOwner));
    }

  private:
    void takeOwner(const core::UserInfo& owner) {
        wanted_.job.user = owner.name;
        policy::Target target;
        target.environment = core::environmentIdOf(wanted_.job.id);
        target.owner = owner.uid;
        target.ownerName = owner.name;
        context_.calls.gate.pass(reply_, target, later(&JobActivation::apply));
    }

    void apply() {
        wanted_.job.devices = devices();
        context_.sharing.ledger.startJob(wanted_.job);
        const core::EnvironmentId id = core::environmentIdOf(wanted_.job.id);
        reply_.send(id, environmentPath(id));
    }

    [[nodiscard]] std::vector<core::DeviceUuid> devices() const {
        if (!wanted_.devices)
            return {};
        if (const auto* uuids = std::get_if<core::UuidsWanted>(&*wanted_.devices))
            return uuids->uuids;
        std::vector<core::DeviceUuid> uuids;
        for (const core::DeviceIndex index :
             std::get<core::IndicesWanted>(*wanted_.devices).indices)
            uuids.push_back(context_.sharing.ledger.device(index).facts.uuid);
        return uuids;
    }

    const BusContext& context_;
    WantedJob wanted_;
};

} // namespace

bool asksForJob(const VariantMap& options) {
    return std::ranges::any_of(std::array{jobOption, evictOption, endsOption, sluidOption},
                               [&](const char* name) { return options.contains(name); });
}

void activateJob(const BusContext& context, const ActivateReply& reply, VariantMap options) {
    if (reply.caller().uid != 0)
        core::fail(core::ErrorCode::AccessDenied,
                   "job, evict, ends and sluid are root's alone: Slurm's prolog gives them");
    std::make_shared<JobActivation>(context, reply, readWantedJob(std::move(options)))->start();
}

} // namespace genv::dbus
