// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/activation_options.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/model/slurm_job.hpp"

#include <utility>

namespace genv::dbus {

namespace {

void requireDevices(const core::WantedEnvironment& wanted, bool namesDevices,
                    const core::RequestTerms& terms) {
    if (terms.wait && !wanted.attach)
        core::fail(core::ErrorCode::InvalidArgs,
                   "wait needs gpus or attach, which say how many GPUs to wait for");
    if (namesDevices && !wanted.attach)
        core::fail(core::ErrorCode::InvalidArgs,
                   "indices and uuids name devices to attach; attach must not be false");
    if (wanted.model && namesDevices)
        core::fail(core::ErrorCode::InvalidArgs, "model can be combined with gpus only");
    if (wanted.model && !wanted.attach)
        core::fail(core::ErrorCode::InvalidArgs,
                   "model needs gpus or attach, which say how many GPUs to attach");
}

void requireId(const core::EnvironmentId& id, core::Uid caller) {
    core::requireIdentifier(id, "id");
    if (core::isJobEnvironmentId(id))
        core::fail(
            caller == 0 ? core::ErrorCode::InvalidArgs : core::ErrorCode::AccessDenied,
            "ids that begin with \"slurm-\" are those of Slurm's jobs, which root starts with "
            "the option job; give another id");
}

} // namespace

WantedActivation readWantedActivation(VariantMap values, core::Uid caller) {
    CallOptions options(std::move(values));
    WantedActivation wanted;
    core::WantedEnvironment& environment = wanted.environment;
    environment.id = options.take<std::string>("id");
    if (environment.id)
        requireId(*environment.id, caller);
    environment.configuration.name = options.takeName("name");
    const auto gpus = options.take<std::uint32_t>("gpus");
    if (gpus && *gpus != 0)
        environment.configuration.gpus = gpus;
    environment.configuration.gpuMemory = options.takeMemory("gpu-memory");
    environment.configuration.overSubscribable = options.takeFlag("over-subscribable");
    environment.configuration.preemptible =
        takePreemptible(options).value_or(core::Preemptible::No);
    environment.within = options.take<std::string>("within");
    if (environment.within)
        core::requireIdentifier(*environment.within, "within");
    wanted.pid = options.take<std::uint32_t>("pid");
    wanted.process = options.takeDescriptor("process");
    wanted.jupyterKernel = options.take<std::string>("kernel");
    if (wanted.jupyterKernel)
        core::requireIdentifier(*wanted.jupyterKernel, "kernel");
    const auto attach = options.take<bool>("attach");
    const auto named = takeNamedDevices(options);
    if (named)
        environment.named = wantedOf(*named);
    environment.model = options.takeName("model");
    environment.attach = attach.value_or(environment.configuration.gpus.has_value() || named);
    environment.overSubscribe = options.takeFlag("over-subscribe");
    wanted.terms = takeWaitOptions(options);
    wanted.owner = options.take<std::uint32_t>("uid").value_or(caller);
    options.finish();
    requireDevices(environment, named.has_value(), wanted.terms);
    requireMayLend(environment.within.has_value(), environment.configuration.preemptible);
    if (wanted.pid.has_value() + wanted.process.has_value() + wanted.jupyterKernel.has_value() > 1)
        core::fail(core::ErrorCode::InvalidArgs, "give only one of pid, process and kernel");
    return wanted;
}

} // namespace genv::dbus
