// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/service.hpp"

#include "core/error.hpp"
#include "core/recovery.hpp"
#include "dbus/contract/names.hpp"
#include "service/former_service.hpp"
#include "service/settings/settings_file.hpp"
#include "service/settings/settings_keys.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace genv::service {

namespace {

// How long the first look at the GPUs may hold up the start; a driver that hangs must not keep
// people from their shells.
constexpr std::chrono::seconds patienceAtStart{5};

// How long the bus may take to learn that a service has ended which another one follows.
constexpr std::chrono::seconds patienceForFormer{5};

constexpr std::chrono::seconds writeRetryInterval{1};

// Every disconnection on the bus, in one match: a match for each client would exhaust the bus's
// limit.
constexpr const char* disconnections =
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
    "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''";

} // namespace

Service::Service(GlibLoop& loop, Logger& log, Directories directories, core::Settings settings,
                 std::unique_ptr<core::Gpus> gpus, ProcProgram procProgram)
    : loop_(loop), log_(log), directories_(std::move(directories)), settings_(std::move(settings)),
      store_(directories_.runtime, log), procAccess_{std::move(procProgram),
                                                     std::make_shared<HungProcesses>(
                                                         [&log](const std::string& line) {
                                                             log.warning("{}", line);
                                                         })},
      processes_(procAccess_, &GlibLoop::post), ledger_(store_, clock_, events_),
      connection_(sdbus::createSystemBusConnection()),
      observer_(std::move(gpus), procAccess_, clock_, loop, &GlibLoop::post),
      lingering_(ledger_, observer_, processes_, loop, events_,
                 [this] { return settings_.linger; }),
      occupancy_(ledger_, observer_, loop), lockPipes_(log),
      queue_(
          ledger_, clock_, loop, events_, log,
          [this](const core::UserInfo& user) { return settings_.limits.of(users_.newest(user)); },
          [this] {
              return core::WaitingTimes{settings_.maxWait, settings_.keepFor};
          }),
      locks_(ledger_, lockPipes_, loop, log), leases_(ledger_, clock_, loop, events_),
      users_(clock_, loop, log, &GlibLoop::post), kernels_(procAccess_, &GlibLoop::post),
      kernelRestarts_(ledger_, processes_, kernels_, clock_, loop), history_(&GlibLoop::post),
      terminator_(processes_, observer_, loop, events_, static_cast<core::Pid>(::getpid()),
                  [this] { return settings_.killAfter; }),
      evictor_(ledger_, observer_, terminator_, loop, log), idleness_(events_),
      enforcer_({ledger_, observer_, users_, terminator_, idleness_, clock_, events_, log}),
      records_(users_, log), eventLog_(ledger_, clock_, records_),
      refusals_(ledger_, loop, log, records_),
      shellFiles_(directories_.runtime, ledger_, clock_, users_, log),
      shellNews_(ledger_, clock_, loop, shellFiles_), gate_(authorizer_), context_(makeContext()) {
    awaitFormerService(*connection_, log_, patienceForFormer);
    recover();
    manager_.emplace(*connection_, context_, GENV_VERSION);
    publisher_.emplace(*connection_, context_, *manager_);
    notices_.emplace(context_.sharing, context_.machine, context_.runtime, *manager_);
    subscribe();
    watchClients();
    intake_.emplace(*connection_, callers_, clock_, log_);
    busSource_.emplace(*connection_, *intake_, [this] {
        log_.error("the connection to the bus was lost");
        loop_.quit(EXIT_FAILURE);
    });
    impatience_ = loop_.after(patienceAtStart, [this] { becomeReady(); });
    lookAtGpus();
}

// Whose calls are on their way hears from the bus that there is no reply, and calls again: the
// place of one that waits is kept.
Service::~Service() {
    isEnding_ = true;
    waitingCalls_.giveUp();
}

dbus::Context Service::makeContext() {
    return {{ledger_, queue_, locks_, lingering_, occupancy_, idleness_},
            {observer_, processes_, kernels_, users_, history_},
            {enforcer_, terminator_},
            {callers_, gate_, refusals_, listCalls_, waitingCalls_, isEnding_},
            {clock_, loop_, log_},
            {[this]() -> const core::Settings& { return settings_; },
             [this](core::Uid actor) { reload(actor); }}};
}

void Service::recover() {
    // What is found in the state is told, so that leases run on.
    events_.subscribe([this](const core::Event& event) { leases_.onEvent(event); });
    const core::RecoveryReport report =
        core::recover(ledger_, store_, processes_, clock_.bootNow());
    for (const std::string& conflict : report.conflicts)
        log_.error("{}", conflict);
    if (report.restored + report.ended + report.setAside > 0)
        log_.info("found {} environments, of which {} had ended; {} leases were over; {} documents "
                  "were set aside",
                  report.restored + report.ended, report.ended, report.expired.size(),
                  report.setAside);
    eventLog_.recovered(report);
    shellFiles_.start(report.expired);
    locks_.recover();
    queue_.expectClients();
}

void Service::subscribe() {
    events_.subscribe([this](const core::Event& event) { shellFiles_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { shellNews_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { eventLog_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { publisher_->onEvent(event); });
    events_.subscribe([this](const core::Event& event) { notices_->onEvent(event); });
    events_.subscribe([this](const core::Event& event) { evictor_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { lingering_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { occupancy_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { queue_.onEvent(event); });
    events_.subscribe([this](const core::Event& event) { locks_.onEvent(event); });
    ledger_.onUnwritten([this](const std::string& why) {
        if (!std::exchange(saidUnwritten_, true)) // once per trouble
            log_.error("{}; it is tried again every second", why);
        retryWritesLater();
    });
    store_.onFolderRestored([this] {
        ledger_.storeWasLost();
        retryWritesLater();
    });
    shellFiles_.onUnwritten([this] { retryWritesLater(); });
    if (!ledger_.retryWrites()) {
        log_.error("documents of environments that ended could not be removed");
        retryWritesLater();
    }
    if (!shellFiles_.retryWrites())
        retryWritesLater();
    processes_.onExit(
        [this](const core::ProcessIdentity& process) { kernelRestarts_.processExited(process); });
    processExits_ =
        GlibLoop::onReadable(processes_.descriptor(), [this] { processes_.dispatch(); });
    verifyProcesses();
    observer_.onObservation(
        [this](const core::Observation* observation, const std::string& failure) {
            onObservation(observation, failure);
        });
    lingering_.start();
}

void Service::watchClients() {
    clientsLeaving_ = connection_->addMatch(disconnections, [this](sdbus::Message& message) {
        // A rule filters what the bus broadcasts; what somebody sends to this connection alone
        // comes past the bus, and nobody but the bus says who has left.
        if (message.getSender() != dbus::contract::busDriver)
            return;
        std::string name;
        message >> name;
        intake_->left(name);
        gate_.left(name);
        refusals_.left(name);
        callers_.left(name);
        manager_->left(name);
        waitingCalls_.left(name);
    });
}

void Service::lookAtGpus() {
    const auto look = [this] {
        store_.restoreFolder();
        shellFiles_.retryWrites();
        observer_.observe(settings_.interval / 2,
                          [this](const auto& observation, const std::string& /*failure*/) {
                              if (observation)
                                  enforcer_.watch(observation, settings_);
                          });
    };
    look();
    looking_ = GlibLoop::every(settings_.interval, look);
}

void Service::onObservation(const core::Observation* observation, const std::string& failure) {
    std::string trouble;
    if (observation != nullptr) {
        ledger_.observed(*observation);
        lingering_.observed(*observation);
        idleness_.observed(ledger_, *observation);
        memoryWatch_.observed(ledger_, *observation);
        leases_.check();
        if (!observation->noDriver.empty())
            trouble = fmt::format("no GPUs: {}", core::escaped(observation->noDriver, 256));
    } else {
        ledger_.driverFailed();
        trouble = fmt::format("the GPU driver does not answer: {}", core::escaped(failure, 256));
    }
    // Once per trouble, not once per look.
    if (!trouble.empty() && trouble != driverTrouble_)
        log_.warning("{}", trouble);
    else if (trouble.empty() && !driverTrouble_.empty())
        log_.info("the GPU driver answers again");
    driverTrouble_ = trouble;
    // After the devices were told, so that nobody who sees the name hears of them as new.
    if (!ready_)
        loop_.soon([this] { becomeReady(); });
}

void Service::becomeReady() {
    if (std::exchange(ready_, true))
        return;
    eventLog_.devicesAreKnown();
    impatience_.reset();
    try {
        connection_->requestName(dbus::contract::busName);
    } catch (const sdbus::Error& error) {
        log_.error("the name {} cannot be had on the bus: {}", dbus::contract::busName,
                   core::escaped(error.what()));
        loop_.quit(EXIT_FAILURE);
        return;
    }
    const std::size_t devices = ledger_.devices().byIndex().size();
    log_.info("genvd {} serves {} devices and {} environments", GENV_VERSION, devices,
              ledger_.environments().size());
    systemManager_.ready(fmt::format("Serving {} devices", devices));
}

// What happened is so, and is written as soon as that works.
void Service::retryWritesLater() {
    if (retrying_)
        return;
    retrying_ = GlibLoop::every(writeRetryInterval, [this] {
        const bool documents = ledger_.retryWrites();
        const bool files = shellFiles_.retryWrites();
        if (!documents || !files)
            return;
        saidUnwritten_ = false;
        log_.info("the state is written again");
        loop_.soon([this] { retrying_.reset(); }); // not from within itself
    });
}

// Root processes that could not be read at the start, until they can.
void Service::verifyProcesses() {
    if (!processes_.hasUnverified())
        return;
    processes_.verify();
    verifying_ = loop_.after(HungProcesses::retryAfter, [this] {
        loop_.soon([this] { verifyProcesses(); }); // which sets this timer anew
    });
}

core::Settings Service::readAgain() {
    try {
        return readSettings(directories_.configuration);
    } catch (const core::Error& error) {
        const std::string failure =
            fmt::format("the configuration was not reloaded: {}", error.what());
        log_.error("{}", failure);
        systemManager_.status(failure);
        throw;
    }
}

void Service::reload(core::Uid actor) {
    const core::Settings next = readAgain();
    systemManager_.reloading();
    const core::Settings before = std::exchange(settings_, next);
    if (next.interval != before.interval)
        lookAtGpus();
    if (next.backend != before.backend)
        log_.warning("the new Backend takes effect when the service starts again");
    queue_.settingsChanged();
    publisher_->policyChanged();
    if (const auto changes = settingsChanged(before, settings_); !changes.empty())
        eventLog_.policyChanged(changes, actor);
    else
        log_.info("the configuration was reloaded; nothing changed");
    systemManager_.ready(fmt::format("Serving {} devices", ledger_.devices().byIndex().size()));
}

void Service::stop() {
    systemManager_.stopping();
    loop_.quit(EXIT_SUCCESS);
}

} // namespace genv::service
