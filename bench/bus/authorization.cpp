// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures calls of ordinary users, for which the service queries polkit. Compares them with a Ping
// of the same user, and with a direct query of polkit by root for the same action and user.
#include "bench/bus/figures.hpp"
#include "bench/bus/parts.hpp"
#include "bench/bus/references.hpp"
#include "core/settings/caps.hpp"
#include "policy/actions.hpp"
#include "tests/bus/support/processes.hpp"

#include <array>
#include <map>
#include <memory>
#include <stdexcept>

namespace genv::bench {

namespace {

constexpr const char* authority = "org.freedesktop.PolicyKit1";

// The details of a call that polkit's rules and its prompt receive. With details, polkit looks up
// more.
using Details = std::map<std::string, std::string>;

// A query of polkit by root whether a client may perform an action.
Operation question(tests::Client& root, const tests::Client& client, policy::Action action,
                   const Details& details = {}) {
    const auto message = [&root, name = client.uniqueName(), id = std::string(policy::idOf(action)),
                          details](const Turn&) {
        tests::Message call =
            root.newCall(authority, "/org/freedesktop/PolicyKit1/Authority",
                         "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
        int result = sd_bus_message_append(call.get(), "(sa{sv})s", "system-bus-name", 1, "name",
                                           "s", name.c_str(), id.c_str());
        if (result >= 0)
            result = sd_bus_message_open_container(call.get(), 'a', "{ss}");
        for (const auto& [key, value] : details) {
            if (result >= 0)
                result = sd_bus_message_append(call.get(), "{ss}", key.c_str(), value.c_str());
        }
        if (result >= 0)
            result = sd_bus_message_close_container(call.get());
        if (result < 0 || sd_bus_message_append(call.get(), "us", 0U, "") < 0)
            throw std::runtime_error("cannot create a question to polkit");
        return call;
    };
    return {"CheckAuthorization", {{&root, message}}};
}

// The maximum number of questions at polkit at a time; the service lets more of them wait.
constexpr unsigned maxConcurrent = core::caps::questionsAtPolkit;

class Authorization {
  public:
    explicit Authorization(const Plan& plan) : plan_(plan), scene_(plan, plan.devices().front()) {
        for (unsigned lane = 0; lane < maxConcurrent; ++lane) {
            shells_.push_back(std::make_unique<tests::UserProcess>(tests::alice));
            ids_.push_back(alice_.manager("Activate", "a{sv}", 1, "pid", "u", shells_.back()->pid())
                               .readString());
        }
    }

    void measure() {
        tests::Client& root = scene_.root();
        measure({"Configure as its owner", {configuring()}},
                {ping(alice_), question(root, alice_, policy::Action::ManageOwn)});
        measure({"Attach + Detach as its owner", {attaching(), detaching()}},
                {ping(alice_), question(root, alice_, policy::Action::Attach), ping(alice_),
                 question(root, alice_, policy::Action::ManageOwn)});
        measure({"a call that is refused",
                 {endingAnothers()},
                 "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"},
                {ping(bob_), question(root, bob_, policy::Action::ManageOthers)});
        Operation detailed = question(root, alice_, policy::Action::ManageOwn,
                                      {{"environment", ids_.front()},
                                       {"owner", "alice"},
                                       {"uid", std::to_string(tests::alice)},
                                       {"polkit.message", "Authentication is required"}});
        detailed.name = "CheckAuthorization with details";
        measure(detailed, {question(root, alice_, policy::Action::ManageOwn)});
    }

  private:
    [[nodiscard]] std::string pathOf(const Turn& turn) const {
        return tests::environmentPath(ids_.at(turn.lane));
    }
    Step configuring() {
        return {&alice_, [this](const Turn& turn) {
                    return alice_.prepare(pathOf(turn), tests::environmentInterface, "Configure",
                                          "a{sv}as", 0, 0);
                }};
    }
    Step attaching() {
        return {&alice_, [this](const Turn& turn) {
                    return alice_.prepare(pathOf(turn), tests::environmentInterface, "Attach",
                                          "a{sv}", 1, "index", "u", turn.lane);
                }};
    }
    Step detaching() {
        return {&alice_, [this](const Turn& turn) {
                    return alice_.prepare(pathOf(turn), tests::environmentInterface, "Detach", "au",
                                          0);
                }};
    }
    Step endingAnothers() {
        return {&bob_, [this](const Turn& turn) {
                    return bob_.prepare(pathOf(turn), tests::environmentInterface, "Deactivate");
                }};
    }

    void measure(const Operation& call, const std::vector<Operation>& parts) {
        constexpr std::array names{"", "CheckAuthorization", "Ping and CheckAuthorization", "",
                                   "two Pings and two CheckAuthorization"};
        const Operation reference = joined(names.at(parts.size()), parts);
        for (const unsigned inFlight : {1U, maxConcurrent}) {
            const auto series = scene_.measure({reference, call},
                                               {plan_.calls, inFlight, 4 * plan_.maxTimePerCall()});
            printTimes(call.name,
                       {{"environments", maxConcurrent},
                        {"devices", scene_.devices()},
                        {"in_flight", inFlight}},
                       series.at(1), reference.name, series.at(0));
        }
    }

    const Plan& plan_;
    Scene scene_;
    std::vector<std::unique_ptr<tests::UserProcess>> shells_;
    tests::Client alice_{tests::alice};
    tests::Client bob_{tests::bob};
    std::vector<std::string> ids_;
};

} // namespace

void measureAuthorization(const Plan& plan) {
    Authorization(plan).measure();
}

} // namespace genv::bench
