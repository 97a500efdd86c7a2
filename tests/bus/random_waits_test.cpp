// SPDX-License-Identifier: LGPL-2.1-or-later
// Twenty clients wait for four GPUs. At random, their processes are killed, their connections are
// closed, holders release devices, and the service is killed. After each step the service must be
// in exactly the state that follows from the rule "first come, first served, and free devices are
// kept for the earliest request that can use them": no device has two holders, no request is
// overtaken, no request is lost.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <random>
#include <set>

namespace genv::tests {
namespace {

constexpr std::uint32_t deviceCount = 4;
constexpr std::size_t people = 20;
constexpr int steps = 200;

// A client that wants devices: a number of them, or a particular one.
struct Person {
    core::Uid uid = 0;
    std::unique_ptr<UserProcess> process;
    std::unique_ptr<Client> client;
    std::unique_ptr<PendingCall> call; ///< null while no request is pending
    std::string id;
    std::uint32_t count = 1;
    std::optional<std::uint32_t> index;
};

// The state that follows from the rule.
struct Model {
    std::list<Person*> line; ///< the waiting clients, first come first
    std::map<std::uint32_t, Person*> held;

    void serve() {
        std::set<std::uint32_t> unheld;
        for (std::uint32_t device = 0; device < deviceCount; ++device) {
            if (!held.contains(device))
                unheld.insert(device);
        }
        for (auto next = line.begin(); next != line.end();) {
            Person& person = **next;
            const bool gets =
                person.index ? unheld.contains(*person.index) : unheld.size() >= person.count;
            if (gets) {
                for (std::uint32_t i = 0; i < person.count; ++i) {
                    const std::uint32_t device = person.index ? *person.index : *unheld.begin();
                    unheld.erase(device);
                    held[device] = &person;
                }
                next = line.erase(next);
            } else {
                if (!person.index)
                    unheld.clear(); // kept for this request
                ++next;
            }
        }
    }
    void release(const Person& person) {
        std::erase_if(held, [&](const auto& entry) { return entry.second == &person; });
    }
    [[nodiscard]] bool holds(const Person& person) const {
        return std::any_of(held.begin(), held.end(),
                           [&](const auto& entry) { return entry.second == &person; });
    }
};

class RandomWaits : public BusTest {
  protected:
    RandomWaits() : persons(people) {
        const char* given = std::getenv("GENV_TEST_SEED");
        seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20'261'121;
        random.seed(seed);
        std::printf("seed %llu (GENV_TEST_SEED)\n", static_cast<unsigned long long>(seed));
        for (std::size_t i = 0; i < people; ++i) {
            persons[i].uid = std::array{alice, bob, carol}[i % 3];
            arrive(persons[i]);
            ask(persons[i]);
        }
    }

    std::size_t upTo(std::size_t limit) { return random() % limit; }

    // A separate program, so that it has no copies of the connections of others.
    void arrive(Person& person) {
        person.process = std::make_unique<UserProcess>(
            ProcessOptions{.uid = person.uid, .environment = {{"A", "B"}}});
        person.client = std::make_unique<Client>(person.uid);
        person.id = activate(*person.client, *person.process);
    }
    void choose(Person& person) {
        person.index.reset();
        person.count = 1 + static_cast<std::uint32_t>(upTo(3));
        if (upTo(4) == 0) {
            person.count = 1;
            person.index = static_cast<std::uint32_t>(upTo(deviceCount));
        }
    }
    static void call(Person& person) {
        person.call =
            person.index
                ? person.client->start(environmentPath(person.id), environmentInterface, "Attach",
                                       "a{sv}", 2, "index", "u", *person.index, "wait", "b", 1)
                : person.client->start(environmentPath(person.id), environmentInterface, "Attach",
                                       "a{sv}", 2, "count", "u", person.count, "wait", "b", 1);
    }
    void ask(Person& person) {
        choose(person);
        call(person);
        model.line.push_back(&person);
        settle();
    }

    // Waits until the service is in the state that follows from the rule, and every served client
    // has its answer.
    void settle() {
        model.serve();
        std::vector<std::string> line;
        for (const Person* person : model.line)
            line.push_back(person->id);
        std::map<std::uint32_t, std::string> held;
        for (const auto& [device, person] : model.held)
            held[device] = person->id;
        const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
        while (waitingIn(*asRoot) != line || holdersOf(*asRoot) != held) {
            if (std::chrono::steady_clock::now() > deadline)
                break;
            asRoot->ping();
        }
        ASSERT_EQ(waitingIn(*asRoot), line) << "step " << step;
        ASSERT_EQ(holdersOf(*asRoot), held) << "step " << step;
        for (Person& person : persons)
            checkAnswer(person);
    }
    void checkAnswer(Person& person) {
        if (!person.call)
            return;
        if (model.holds(person)) {
            const auto devices = person.client->finish(*person.call).readUnsignedList();
            for (const std::uint32_t device : devices)
                EXPECT_EQ(model.held[device], &person) << "step " << step;
            EXPECT_EQ(devices.size(), person.count);
            person.call.reset();
            ++served;
        } else {
            while (sd_bus_process(person.client->bus(), nullptr) > 0) {
            }
            EXPECT_FALSE(person.call->answered)
                << "step " << step << ": " << person.call->answer.error;
        }
    }

    // -- the events

    void killProcess(Person& person) {
        person.process->kill(SIGKILL);
        if (person.call) {
            EXPECT_EQ(person.client->finish(*person.call).error, error::noSuchEnvironment);
            person.call.reset();
        }
        model.line.remove(&person);
        model.release(person);
        settle();
        arrive(person);
        ask(person);
    }
    void leaveQueue(Person& person) {
        person.call.reset();
        person.client.reset();
        model.line.remove(&person);
        settle();
        person.client = std::make_unique<Client>(person.uid);
        ask(person);
    }
    void letGo(Person& person) {
        EXPECT_TRUE(person.client->environment(person.id, "Detach", "au", 0).ok());
        model.release(person);
        settle();
        ask(person);
    }
    void killService() {
        service.end(SIGKILL);
        std::vector<Person*> cutOff(model.line.begin(), model.line.end());
        for (Person* person : cutOff)
            EXPECT_EQ(person->client->finish(*person->call).error,
                      "org.freedesktop.DBus.Error.NoReply");
        service.start();
        std::shuffle(cutOff.begin(), cutOff.end(), random);
        for (Person* person : cutOff) {
            call(*person);
            // Polkit answers in the order of the questions, so the request is in the queue again
            // now.
            EXPECT_TRUE(person->client->environment(person->id, "Configure", "a{sv}as", 0, 0).ok());
        }
        settle();
    }
    Person& any(bool waiting) {
        std::vector<Person*> found;
        for (Person& person : persons) {
            if ((person.call != nullptr) == waiting)
                found.push_back(&person);
        }
        return *found.at(upTo(found.size()));
    }

    std::vector<Person> persons;
    Model model;
    std::mt19937 random;
    std::uint64_t seed = 0;
    int step = 0;
    int served = 0;
};

TEST_F(RandomWaits, AreServedInOrderAndNobodyIsLost) {
    int done[4] = {0, 0, 0, 0};
    for (step = 1; step <= steps && !HasFailure(); ++step) {
        const std::size_t what = upTo(20);
        if (what < 6) {
            ++done[0];
            killProcess(persons[upTo(people)]);
        } else if (what < 11) {
            ++done[1];
            leaveQueue(any(true));
        } else if (what < 19) {
            ++done[2];
            letGo(any(false));
        } else {
            ++done[3];
            killService();
        }
    }
    // No new requests are made, so every request is served in the end.
    while (!model.line.empty() && !HasFailure()) {
        Person& holder = *model.held.begin()->second;
        EXPECT_TRUE(holder.client->environment(holder.id, "Detach", "au", 0).ok());
        model.release(holder);
        settle();
    }
    EXPECT_TRUE(waitingIn(*asRoot).empty());
    std::printf("%d killed, %d closed, %d let go, %d restarts; %d waits were served\n", done[0],
                done[1], done[2], done[3], served);
}

} // namespace
} // namespace genv::tests
