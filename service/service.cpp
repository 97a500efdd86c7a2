// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/service.hpp"

#include "core/base/error.hpp"
#include "core/rules/over_limits.hpp"
#include "core/sentences/sentences.hpp"
#include "dbus/contract/names.hpp"
#include "service/former_service.hpp"
#include "service/journal/subjects.hpp"
#include "service/park/park_socket.hpp"
#include "service/settings/settings_file.hpp"
#include "service/settings/settings_keys.hpp"
#include "service/slurm/slurm_socket.hpp"

#include <cstdlib>
#include <utility>

namespace genv::service {

namespace {

// How long the first observation of the GPUs may delay the start. A driver that hangs must not keep
// users from their shells.
constexpr std::chrono::seconds startTimeout{5};

// How long the bus may take to notice that the previous service has ended.
constexpr std::chrono::seconds formerServiceTimeout{5};

} // namespace

Service::Service(GlibLoop& loop, core::Log& log, std::filesystem::path configuration,
                 core::Settings settings)
    : loop_(loop), log_(log), configuration_(std::move(configuration)),
      settings_(std::move(settings)) {
    settings_.limits.ids = core::unresolved(settings_.limits.names());
}

// The object counts as constructed once the constructor above has returned. If a later step fails,
// the destructor therefore shuts down the parts that exist.
Service::Service(GlibLoop& loop, Logger& log, const Directories& directories,
                 core::Settings settings, std::unique_ptr<core::Gpus> gpus, ProcProgram procProgram)
    : Service(loop, log, directories.configuration, std::move(settings)) {
    calls_ = std::make_unique<BusCalls>();
    machine_ = std::make_unique<MachineAdapters>(
        loop_, log, std::move(gpus), std::move(procProgram),
        std::make_unique<SlurmSocket>(SlurmSocketSettings{directories.slurmSocket}, loop_),
        std::make_unique<ParkSocket>(ParkSocketSettings{directories.parkSocket}, loop_));
    lines_ = std::make_unique<journal::NamedLines>(machine_->users, log, log.takesFields());
    sharing_ = std::make_unique<Sharing>(*machine_, loop_, *lines_, directories.runtime,
                                         directories.state, settings_, gates_);
    machine_->observer.setUnifiedMemory(settings_.unifiedMemory);
    policing_ = std::make_unique<Policing>(*machine_, *sharing_, loop_, *lines_, settings_);
    slurmDevices_ =
        std::make_unique<SlurmDeviceFile>(directories.runtime, *machine_->slurm, loop_, log_);
    reporting_ =
        std::make_unique<Reporting>(*machine_, *sharing_, loop_, log, *lines_, directories.runtime);
    awaitFormerService(*calls_->connection, log_, formerServiceTimeout);
    recover();
    objects_ = std::make_unique<BusObjects>(*calls_, reporting_->refusals, context(),
                                            [this] { fail("the connection to the bus was lost"); });
    subscribe();
    retries_ = std::make_unique<WriteRetries>(sharing_->ledger, sharing_->store,
                                              reporting_->shellFiles, loop_, log_);
    identities_ = std::make_unique<IdentityUpdates>(gates_, *lines_, &GlibLoop::post);
    const std::set<core::Uid> people = gates_.people();
    identities_->setPeople(people);
    dynamicUsers_ = std::make_unique<DynamicUsers>(machine_->clock, *lines_, people,
                                                   [this](const std::set<core::Uid>& found) {
                                                       identities_->setPeople(found);
                                                       identities_->check(settings_.isolation);
                                                   });
    machine_->watchProcesses([this](const core::ProcessIdentity& process) {
        sharing_->jupyterKernelRestarts.processExited(process);
    });
    machine_->observer.onObservation(
        [this](const core::Observation* observation, const std::string& failure) {
            onObservation(observation, failure);
        });
    sharing_->lingering.start();
    sharing_->parkings.start();
    sharing_->takings.start();
    slurmDevices_->configured(!settings_.slurm.devices.empty());
    names_ = std::make_unique<ConfiguredNames>(machine_->users, machine_->clock, log_);
    names_->resolve(settings_.limits, [this](const core::ResolvedNames& names) {
        take(names);
        hasNames_ = true;
        becomeReadyIfComplete();
    });
    startTimer_ = loop_.after(startTimeout, [this] { becomeReady(); });
    lookAtGpus();
    warnOfGap();
}

Service::~Service() {
    shutDown();
}

// Destroys the parts in an order in which no part needs a destroyed one. A part is missing if the
// start failed.
void Service::shutDown() {
    // Reply to no call from here on. The steps below drop the waiting calls.
    if (calls_)
        calls_->giveUp();
    // Start nothing more: no observation of the GPUs, no retry of a write, no message from the bus.
    looking_.reset();
    startTimer_.reset();
    retries_.reset();
    dynamicUsers_.reset();
    identities_.reset();
    objects_.reset();
    // Stop asking Slurm for its devices. The machine drops the requests that Slurm has not
    // answered.
    slurmDevices_.reset();
    // Write the queued records while the ledger still has the environments that they name.
    reporting_.reset();
    // Stop the workers. They drop the callbacks that wait for their answers, which releases the
    // enforcer's turn and slots among the calls of a user. The enforcer and the calls must
    // therefore still exist.
    machine_.reset();
    policing_.reset();
    // Drop the calls that wait in the queue, for a lock, or for the decision to end an environment.
    sharing_.reset();
    // Close the connection. No call holds a message of it any more.
    calls_.reset();
}

void Service::recover() {
    const core::RecoveryReport report = sharing_->recover();
    reporting_->shellFiles.isolated(sharing_->isolation.inForce() != core::IsolationMode::None);
    reporting_->recovered(report);
    sharing_->resumeWaits();
}

// Listeners receive an event in this order. Listeners that report an event come before listeners
// that change something else because of it.
void Service::subscribe() {
    const auto add = [this](auto& listener) {
        sharing_->events.subscribe(
            [&listener](const core::Event& event) { listener.onEvent(event); });
    };
    add(reporting_->shellFiles);
    add(reporting_->shellNews);
    add(reporting_->eventLog);
    add(objects_->publisher());
    add(objects_->notices());
    add(policing_->evictor);
    add(sharing_->lingering);
    add(sharing_->jobs);
    add(sharing_->occupancy);
    add(sharing_->queue);
    add(sharing_->parkings);
    add(sharing_->takings);
    add(sharing_->locks);
}

dbus::BusContext Service::context() {
    return {{sharing_->ledger, sharing_->queue, sharing_->locks, sharing_->lingering,
             sharing_->occupancy, sharing_->jobs, sharing_->idleness, sharing_->readings,
             sharing_->use, sharing_->parkings, sharing_->takings},
            {machine_->observer, machine_->processes, machine_->jupyterKernels, machine_->users,
             machine_->history, *machine_->slurm},
            {policing_->enforcer, policing_->terminator},
            {sharing_->isolation, sharing_->refusedOpens},
            {calls_->callers, calls_->gate, reporting_->refusals, calls_->listCalls,
             calls_->startingCalls, calls_->waitingCalls, calls_->isEnding},
            {machine_->clock, loop_, *lines_},
            {[this]() -> const core::Settings& { return settings_; },
             [this](const core::Actor& actor, std::function<void()> done) {
                 reload(actor, std::move(done));
             }}};
}

void Service::lookAtGpus() {
    const auto look = [this] {
        sharing_->store.restoreFolder();
        reporting_->shellFiles.retryWrites();
        slurmDevices_->retryWrites();
        lookAtIdentities();
        names_->check(settings_.limits, [this](const core::ResolvedNames& names) { take(names); });
        sharing_->jobs.check();
        machine_->observer.observe(settings_.interval / 2,
                                   [this](const auto& observation, const std::string& /*failure*/) {
                                       if (observation)
                                           policing_->enforcer.watch(observation, settings_);
                                   });
    };
    look();
    looking_ = GlibLoop::every(settings_.interval, look);
}

void Service::lookAtIdentities() {
    identities_->check(settings_.isolation);
    if (settings_.isolation.mode != core::IsolationMode::None)
        dynamicUsers_->check();
}

void Service::onObservation(const core::Observation* observation, const std::string& failure) {
    std::string trouble;
    if (observation != nullptr) {
        sharing_->observed(*observation);
        dynamicUsers_->observed(*observation);
        if (std::exchange(driverVersion_, observation->driverVersion) != observation->driverVersion)
            objects_->publisher().driverChanged();
        if (observation->noDriver.empty())
            slurmDevices_->observed(observation->devices);
        else
            trouble = fmt::format("no GPUs: {}", core::escaped(observation->noDriver, 256));
    } else {
        sharing_->driverFailed();
        trouble = fmt::format("the GPU driver does not answer: {}", core::escaped(failure, 256));
    }
    // Log each problem once, not at each observation.
    if (!trouble.empty() && trouble != driverTrouble_)
        log_.warning("{}", trouble);
    else if (trouble.empty() && !driverTrouble_.empty())
        log_.info("the GPU driver answers again");
    driverTrouble_ = trouble;
    // Become ready after the devices were announced. A client that sees the name then does not
    // receive them as new.
    hasObserved_ = true;
    becomeReadyIfComplete();
}

void Service::becomeReadyIfComplete() {
    if (!ready_ && hasObserved_ && hasNames_)
        loop_.soon([this] { becomeReady(); });
}

void Service::becomeReady() {
    if (std::exchange(ready_, true))
        return;
    reporting_->eventLog.devicesAreKnown();
    startTimer_.reset();
    try {
        dbus::compat::requestName(*calls_->connection, dbus::contract::busName);
    } catch (const sdbus::Error& error) {
        fail(fmt::format("cannot own the name {} on the bus: {}", dbus::contract::busName,
                         core::escaped(error.what())));
        return;
    }
    const std::size_t devices = sharing_->ledger.devices().byIndex().size();
    log_.info("genvd {} serves {} and {}", GENV_VERSION, core::counted(devices, "device"),
              core::counted(sharing_->ledger.environments().size(), "environment"));
    systemManager_.ready("Serving " + core::counted(devices, "device"));
}

core::Settings Service::readAgain(const core::Actor& actor) {
    try {
        return readSettings(configuration_);
    } catch (const core::Error& error) {
        const std::string failure =
            fmt::format("the configuration was not reloaded: {}", error.what());
        lines_->error("{} ({})", failure, journal::describe(actor));
        systemManager_.status(failure);
        throw;
    }
}

// The settings take effect when their names are known. Limits of somebody else never apply
// meanwhile.
void Service::reload(const core::Actor& actor, std::function<void()> done) {
    core::Settings next = readAgain(actor);
    systemManager_.reloading();
    const core::LimitTable limits = next.limits;
    names_->resolve(limits, [this, next = std::move(next), actor,
                             done = std::move(done)](const core::ResolvedNames& names) mutable {
        next.limits.ids = names;
        take(std::move(next), actor);
        done();
    });
}

void Service::take(const core::ResolvedNames& names) {
    if (std::exchange(settings_.limits.ids, names) != names)
        sharing_->queue.settingsChanged();
}

void Service::take(core::Settings next, const core::Actor& actor) {
    const core::Settings before = std::exchange(settings_, std::move(next));
    if (settings_.interval != before.interval || settings_.rules != before.rules ||
        settings_.keepGrants != before.keepGrants || settings_.limits != before.limits)
        lookAtGpus(); // the owners are warned now, not at the end of the interval
    if (settings_.backend != before.backend)
        log_.warning("the new Backend takes effect when the service starts again");
    machine_->observer.setUnifiedMemory(settings_.unifiedMemory);
    sharing_->ledger.reserve(settings_.slurm.devices);
    sharing_->settingsChanged();
    sharing_->isolation.checkAll();
    slurmDevices_->configured(!settings_.slurm.devices.empty());
    identities_->forget();
    lookAtIdentities();
    objects_->publisher().policyChanged();
    warnOfGap();
    if (const auto changes = settingsChanged(before, settings_); !changes.empty())
        reporting_->eventLog.policyChanged(changes, actor);
    else
        log_.info("the configuration was reloaded; nothing changed");
    core::logOverLimits({sharing_->ledger, machine_->observer, machine_->users, sharing_->idleness,
                         machine_->clock, log_},
                        before, settings_);
    systemManager_.ready("Serving " +
                         core::counted(sharing_->ledger.devices().byIndex().size(), "device"));
}

void Service::warnOfGap() {
    if (const std::string gap = core::gapOfIsolation(settings_); !gap.empty())
        log_.warning("isolation: {}", gap);
}

void Service::fail(const std::string& why) {
    log_.error("{}", why);
    SystemManager::failed(why);
    loop_.quit(EXIT_FAILURE);
}

void Service::stop() {
    systemManager_.stopping();
    sharing_->refusedOpens.reportAll(); // the kernel's counters may be gone at the next start
    sharing_->useRecorder.stop();
    loop_.quit(EXIT_SUCCESS);
}

} // namespace genv::service
