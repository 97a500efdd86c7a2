// SPDX-License-Identifier: LGPL-2.1-or-later
// Sends batches by units of the user's manager: webhooks by genv-notify-send@.service, mail and
// commands by transient units. A unit removes the file of its batch once the message is sent.
#pragma once

#include "client/loop_bus.hpp"
#include "client/messages/model/configuration.hpp"
#include "client/messages/model/letter.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace genv::messages {

/// A message on its way out.
struct Parcel {
    Channel channel = Channel::Mail;
    std::string instance;         ///< names the batch
    std::filesystem::path folder; ///< of the batch
    Contents contents;
};

class Sender {
  public:
    /// Called once, when the unit has ended. `trouble` is empty if it succeeded.
    using Ended = std::function<void(const std::string& trouble)>;

    virtual ~Sender() = default;
    virtual void send(const Parcel& parcel, const DeliveryTarget& target, Ended ended) = 0;
};

class UnitSender : public Sender {
  public:
    /// `bus` is the user's bus; it must outlive this object.
    explicit UnitSender(const event::LoopBus& bus);
    UnitSender(const UnitSender&) = delete;
    UnitSender& operator=(const UnitSender&) = delete;

    void send(const Parcel& parcel, const DeliveryTarget& target, Ended ended) override;

  private:
    void startUnit(const std::string& unit);
    void startTransient(const std::string& unit, const Parcel& parcel,
                        const DeliveryTarget& target);
    void onJobRemoved(sdbus::Message& signal);
    void finish(const std::string& unit, const std::string& trouble);

    const event::LoopBus& bus_;
    std::map<std::string, Ended> running_; ///< by unit
};

} // namespace genv::messages
