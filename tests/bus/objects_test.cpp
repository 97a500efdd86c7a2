// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects on the bus as a whole: lists agree with the properties of each object, and objects
// exist whether or not a client has called them before.
#include "tests/bus/support/fixture.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <regex>
#include <set>

namespace genv::tests {
namespace {

constexpr const char* objectManager = "org.freedesktop.DBus.ObjectManager";
constexpr const char* properties = "org.freedesktop.DBus.Properties";
constexpr const char* below = "/dev/genv/Manager/environment";
constexpr const char* unknownObject = "org.freedesktop.DBus.Error.UnknownObject";

// Returns the values up to the end of the message's current container, with their types.
// Dictionaries have no order, so their entries are sorted by their text.
std::string textOf(sd_bus_message* message) {
    std::vector<std::string> values;
    bool isDictionary = false;
    char type = 0;
    const char* contents = nullptr;
    while (sd_bus_message_peek_type(message, &type, &contents) > 0) {
        isDictionary = type == SD_BUS_TYPE_DICT_ENTRY;
        if (contents != nullptr) {
            const std::string inside = contents;
            sd_bus_message_enter_container(message, type, contents);
            values.push_back(type + inside + "{" + textOf(message) + "}");
            sd_bus_message_exit_container(message);
            continue;
        }
        union {
            const char* text;
            std::uint64_t number;
        } value{};
        sd_bus_message_read_basic(message, type, &value);
        const bool isText = std::string("sog").find(type) != std::string::npos;
        values.push_back(type + (isText ? value.text : std::to_string(value.number)) + " ");
    }
    if (isDictionary)
        std::sort(values.begin(), values.end());
    return std::accumulate(values.begin(), values.end(), std::string());
}

// The properties of an object as a client knows them that reads them once and then follows the
// signals.
class FollowedObject {
  public:
    using Values = std::map<std::string, std::string>;
    Values known;

    FollowedObject(Client& client, std::string path, std::string interface)
        : client_(client), path_(std::move(path)), interface_(std::move(interface)),
          slot_(client.listen("type='signal',member='PropertiesChanged',path='" + path_ + "'",
                              [this](sd_bus_message* message) { take(message); })) {
        known = read();
    }

    // Returns the properties as the service has them. Earlier changes have been received.
    Values read() {
        const Answer answer = client_.call(path_, properties, "GetAll", "s", interface_.c_str());
        EXPECT_TRUE(answer.ok()) << answer.text;
        Values values;
        readInto(answer.message.get(), values);
        client_.ping();
        for (const std::string& name : silent())
            values.erase(name);
        return values;
    }

  private:
    static void readInto(sd_bus_message* message, Values& values) {
        sd_bus_message_enter_container(message, 'a', "{sv}");
        while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
            const char* name = nullptr;
            sd_bus_message_read(message, "s", &name);
            values[name] = textOf(message);
            sd_bus_message_exit_container(message);
        }
        sd_bus_message_exit_container(message);
    }
    void take(sd_bus_message* message) {
        sd_bus_message_skip(message, "s");
        readInto(message, known);
    }
    // Returns the properties that change without a signal, as introspection says.
    const std::set<std::string>& silent() {
        if (!silent_.empty())
            return silent_;
        const std::string xml =
            client_.call(path_, "org.freedesktop.DBus.Introspectable", "Introspect").readString();
        const std::regex property("<property name=\"([^\"]+)\"[^>]*>\\s*<annotation "
                                  "name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" "
                                  "value=\"false\"");
        for (auto i = std::sregex_iterator(xml.begin(), xml.end(), property);
             i != std::sregex_iterator(); ++i)
            silent_.insert((*i)[1].str());
        return silent_;
    }

    Client& client_;
    const std::string path_;
    const std::string interface_;
    std::set<std::string> silent_;
    Slot slot_;
};

class Objects : public BusTest {
  protected:
    Objects() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "3"}}) {}

    void restart() {
        service.end(SIGKILL);
        service.start();
    }

    /// Maps a path and an interface to the properties as text.
    std::map<std::pair<std::string, std::string>, std::string> listed() {
        std::map<std::pair<std::string, std::string>, std::string> objects;
        const Answer answer = asBob->call(managerPath, objectManager, "GetManagedObjects");
        EXPECT_TRUE(answer.ok()) << answer.text;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "{oa{sa{sv}}}");
        while (sd_bus_message_enter_container(message, 'e', "oa{sa{sv}}") > 0) {
            const char* path = nullptr;
            sd_bus_message_read(message, "o", &path);
            sd_bus_message_enter_container(message, 'a', "{sa{sv}}");
            while (sd_bus_message_enter_container(message, 'e', "sa{sv}") > 0) {
                const char* interface = nullptr;
                sd_bus_message_read(message, "s", &interface);
                objects[{path, interface}] = textOf(message);
                sd_bus_message_exit_container(message);
            }
            sd_bus_message_exit_container(message);
            sd_bus_message_exit_container(message);
        }
        return objects;
    }
    std::string propertiesOf(const std::string& path, const std::string& interface) {
        const Answer answer = asBob->call(path, properties, "GetAll", "s", interface.c_str());
        return answer.ok() ? textOf(answer.message.get()) : answer.error;
    }
    /// Returns the paths of the environments as introspection lists them.
    std::set<std::string> introspected() {
        const std::string xml =
            asBob->call(below, "org.freedesktop.DBus.Introspectable", "Introspect").readString();
        const std::regex node("<node name=\"([^\"]+)\"");
        std::set<std::string> paths;
        for (auto i = std::sregex_iterator(xml.begin(), xml.end(), node);
             i != std::sregex_iterator(); ++i)
            paths.insert(fmt::format("{}/{}", below, (*i)[1].str()));
        return paths;
    }
};

TEST_F(Objects, AreListedWithWhatEachSaysOfItself) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = asAlice
                                 ->manager("Activate", "a{sv}", 5, "pid", "u", alices.pid(), "gpus",
                                           "u", 2U, "gpu-memory", "s", "4g", "name", "s",
                                           "Norwegian Wood", "lifetime", "t", std::uint64_t{3600})
                                 .readString();
    const std::string his = activate(*asBob, bobs);
    const Answer lock = asAlice->environment(hers, "Lock");
    ASSERT_TRUE(lock.ok()) << lock.text;

    using Names = std::set<std::pair<std::string, std::string>>;
    const Names expected = {{environmentPath(hers), environmentInterface},
                            {environmentPath(his), environmentInterface},
                            {devicePath(0), deviceInterface},
                            {devicePath(1), deviceInterface},
                            {devicePath(2), deviceInterface}};
    for (const bool isRestarted : {false, true}) {
        if (isRestarted)
            restart();
        Names names;
        for (const auto& [object, text] : listed()) {
            names.insert(object);
            // The service may sample the devices during the comparison, so it is repeated.
            waitUntil(
                [&, which = object] {
                    return listed()[which] == propertiesOf(which.first, which.second);
                },
                "the same from both");
            EXPECT_NE(text, "a{sv}{}") << object.first;
        }
        EXPECT_EQ(names, expected);
    }
}

TEST_F(Objects, AreListedForNobodyWhoPassesArguments) {
    EXPECT_EQ(asBob->call(managerPath, objectManager, "GetManagedObjects", "s", "all").error,
              error::invalidArgs);
}

TEST_F(Objects, AreFoundAndChangeThoughNobodyCalledThemSinceARestart) {
    const UserProcess alices(alice);
    UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs, 1);
    restart();
    EXPECT_EQ(introspected(), (std::set<std::string>{environmentPath(hers), environmentPath(his)}));

    bool changed = false;
    const Slot changes = asBob->listen("type='signal',interface='org.freedesktop.DBus.Properties',"
                                       "path='" +
                                           environmentPath(hers) + "'",
                                       [&](sd_bus_message*) { changed = true; });
    bool removed = false;
    const Slot removals =
        asBob->listen("type='signal',interface='org.freedesktop.DBus.ObjectManager',member="
                      "'InterfacesRemoved',arg0path='" +
                          environmentPath(his) + "'",
                      [&](sd_bus_message*) { removed = true; });
    ASSERT_TRUE(asRoot->call(devicePath(0), deviceInterface, "Detach", "s", hers.c_str()).ok());
    asBob->processUntil([&] { return changed; }, "the change of what nobody called");
    bobs.kill(SIGKILL);
    bobs.wait();
    asBob->processUntil([&] { return removed; }, "the end of what nobody called");
    EXPECT_EQ(introspected(), std::set<std::string>{environmentPath(hers)});

    restart();
    EXPECT_TRUE(asAlice->environment(hers, "Deactivate").ok()) << "the first call of all";
    EXPECT_EQ(environmentCount(), "0");
}

// The service keeps objects for the 256 that were needed last.
TEST_F(Objects, AnswerAndChangeHoweverManyThereAre) {
    constexpr std::size_t many = 300;
    std::vector<std::unique_ptr<UserProcess>> processes;
    std::vector<std::string> ids;
    while (ids.size() < many) {
        processes.push_back(std::make_unique<UserProcess>(root));
        ids.push_back(activate(*asRoot, *processes.back()));
    }
    EXPECT_EQ(introspected().size(), many);
    const auto objects = listed();
    for (const std::string& id : ids) {
        const std::string path = environmentPath(id);
        EXPECT_EQ(asRoot->property(path, environmentInterface, "Id"), id);
        EXPECT_EQ(objects.at({path, environmentInterface}),
                  propertiesOf(path, environmentInterface));
    }
    FollowedObject first(*asBob, environmentPath(ids.front()), environmentInterface);
    for (const std::string& id : ids) {
        const Answer answer =
            asRoot->environment(id, "Configure", "a{sv}as", 1, "name", "s", "changed", 0);
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
    EXPECT_EQ(first.read().at("Name"), "vs{schanged }");
    EXPECT_EQ(first.known, first.read());
    for (const std::string& id : ids)
        EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok()) << id;
    EXPECT_TRUE(introspected().empty());
}

// Half of the memory of GPU 0 is used by no process, which the service believes at the second
// sample.
TEST_F(Objects, TellEveryChangeOfADevice) {
    service.end(SIGTERM);
    service.set("GENV_MOCK_DEVICE_TOTAL_MEMORY", "80g");
    service.set("GENV_MOCK_DEVICE_USED_MEMORY", "1m");
    service.set("GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY", "40g");
    service.start();
    FollowedObject device(*asBob, devicePath(0), deviceInterface);
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices);
    const std::string his = activate(*asBob, bobs);
    Answer lock;
    const auto attach = [](Client& client, const std::string& id, bool overSubscribe) {
        return client.environment(id, "Attach", "a{sv}", 2, "index", "u", 0U, "over-subscribe", "b",
                                  overSubscribe ? 1 : 0);
    };
    const std::pair<const char*, std::function<Answer()>> changes[] = {
        {"AvailableMemory", // with the memory that no process uses
         [&] {
             asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1);
             return asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1);
         }},
        {"AvailableMemory",
         [&] {
             asAlice->environment(hers, "Configure", "a{sv}as", 2, "gpu-memory", "s", "10g",
                                  "over-subscribable", "b", 1, 0);
             return attach(*asAlice, hers, false);
         }},
        {"Attachments", [&] { return attach(*asBob, his, true); }},
        {"LockedBy", [&] { return lock = asAlice->environment(hers, "Lock"); }},
        {"LockedBy", [&] { return asAlice->environment(hers, "Deactivate"); }},
        {"AvailableMemory", [&] { return asBob->environment(his, "Detach", "au", 0); }},
    };
    for (const auto& [name, change] : changes) {
        const auto before = device.known;
        const Answer answer = change();
        EXPECT_TRUE(answer.ok()) << answer.text;
        const auto now = device.read();
        for (const auto& [property, value] : now)
            EXPECT_EQ(device.known[property], value) << property;
        EXPECT_NE(now.at(name), before.at(name)) << name;
    }
}

TEST_F(Objects, TellHowManyEnvironmentsThereAre) {
    FollowedObject manager(*asBob, managerPath, managerInterface);
    const UserProcess shell(alice);
    const auto expectCount = [&](const std::string& count) {
        manager.read(); // and every earlier change
        EXPECT_EQ(manager.known.at("EnvironmentCount"), count);
    };
    const std::string id = activate(*asAlice, shell);
    expectCount("vu{u1 }");
    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
    expectCount("vu{u0 }");
}

// The configuration says how much memory a GPU has that shares the machine's.
TEST_F(Objects, TellAnotherAmountOfMemory) {
    service.end(SIGTERM);
    service.set("GENV_MOCK_DEVICE_TOTAL_MEMORY", "unified");
    service.start();
    FollowedObject device(*asBob, devicePath(0), deviceInterface);
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nUnifiedMemory=64g\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    ASSERT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok());
    const auto now = device.read();
    EXPECT_EQ(now.at("TotalMemory"), "vt{t64000000000 }");
    EXPECT_EQ(device.known.at("TotalMemory"), now.at("TotalMemory"));
    EXPECT_EQ(device.known.at("AvailableMemory"), now.at("AvailableMemory"));
}

TEST_F(Objects, AreUnknownUnderAnyOtherPath) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    restart();
    for (const std::string& path :
         {environmentPath("nobody"), below + ("/" + id), // its first digit is not escaped
          environmentPath(id) + "/more", std::string("/dev/genv/nothing")}) {
        EXPECT_EQ(propertiesOf(path, environmentInterface), unknownObject) << path;
        EXPECT_EQ(asAlice->call(path, environmentInterface, "Deactivate").error, unknownObject)
            << path;
    }
    EXPECT_EQ(asAlice->environment(id, "Nothing").error,
              "org.freedesktop.DBus.Error.UnknownMethod");
    EXPECT_EQ(environmentCount(), "1");
}

} // namespace
} // namespace genv::tests
