// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/messages/trial.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/jobs/daemon/wall_clock.hpp"
#include "client/jobs/link/jobs_unavailable.hpp"
#include "client/jobs/link/user_bus.hpp"
#include "client/loop.hpp"
#include "client/messages/delivery/unit_sender.hpp"
#include "client/messages/files/batch.hpp"
#include "client/messages/files/durable_file.hpp"
#include "client/messages/files/message_places.hpp"
#include "dbus/contract/messages_names.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

namespace genv::ctl {

namespace {

using messages::Channel;

std::unique_ptr<sdbus::IConnection> requireUserBus() {
    try {
        return jobs::connectToUserBus();
    } catch (const jobs::Unavailable&) {
        throw Failure(ExitStatus::NoService,
                      "messages need systemd's user manager, and your bus cannot be reached",
                      "Log in with ssh, or install the package dbus-user-session.");
    }
}

/// The tests of all targets, until the last one has ended.
class Trial {
  public:
    explicit Trial(const messages::Configuration& targets)
        : connection_(requireUserBus()), loop_(event::makeLoop()), bus_(*connection_, loop_.get()),
          sender_(bus_) {
        for (const auto& [channel, target] : targets)
            open_.insert(channel);
        for (const auto& [channel, target] : targets)
            start(channel, target);
    }

    std::map<Channel, std::string> finish() {
        if (!open_.empty())
            event::check(sd_event_loop(loop_.get()), "the loop");
        for (const Channel channel : std::exchange(open_, {}))
            results_[channel] = "your bus has ended";
        return std::move(results_);
    }

  private:
    void start(Channel channel, const messages::DeliveryTarget& target) {
        const std::filesystem::path folder = messages::spoolFolder(channel);
        const messages::MessageEvent test{.kind = messages::Kind::Test,
                                          .when = jobs::wallClock(),
                                          .gpus = {},
                                          .status = "messages from genv arrive here"};
        messages::createFolder(folder);
        messages::writeBatch(messages::batchFile(folder, instance_),
                             {.last = 0, .attempts = 1, .next = test.when, .events = {test}});
        sender_.send({channel, instance_, folder, {messages::machineName(), {test}, 0, true}},
                     target, [this, channel, folder](const std::string& trouble) {
                         onEnded(channel, folder, trouble);
                     });
    }

    void onEnded(Channel channel, const std::filesystem::path& folder, std::string trouble) {
        constexpr std::size_t maxReason = 512;
        const auto reason = messages::reasonFile(folder, instance_);
        if (!trouble.empty())
            trouble = messages::readSmall(reason, maxReason).value_or(trouble);
        messages::removeDurably(reason);
        messages::removeDurably(messages::batchFile(folder, instance_));
        results_[channel] = std::move(trouble);
        open_.erase(channel);
        if (open_.empty())
            sd_event_exit(loop_.get(), EXIT_SUCCESS);
    }

    const std::string instance_ = fmt::format("test-{}", ::getpid());
    std::unique_ptr<sdbus::IConnection> connection_;
    event::EventLoop loop_;
    event::LoopBus bus_;
    messages::UnitSender sender_;
    std::set<Channel> open_;
    std::map<Channel, std::string> results_;
};

} // namespace

std::map<Channel, std::string> tryTargets(const messages::Configuration& targets) {
    return Trial(targets).finish();
}

bool isCoreRunning() {
    namespace contract = dbus::contract;
    try {
        const auto bus = jobs::connectToUserBus();
        const auto driver =
            dbus::compat::makeProxy(*bus, contract::busDriver, contract::busDriverPath);
        bool has = false;
        driver->callMethod("NameHasOwner")
            .onInterface(contract::busDriver)
            .withArguments(contract::messagesBusName)
            .storeResultsTo(has);
        return has;
    } catch (const jobs::Unavailable&) {
        return false;
    } catch (const sdbus::Error&) {
        return false;
    }
}

} // namespace genv::ctl
