// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects in JSON have the keys of their tables with values of their types, and each key has a
// value in some listing.
#include "client/genvctl/cluster/cluster_objects.hpp"
#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/objects/event_objects.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/objects/things.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace genv::ctl {
namespace {

using namespace std::chrono_literals;

const Time moment{1h};

// Checks values, and collects the keys that have one.
class JsonObjects : public testing::Test {
  protected:
    void check(const Json& value, std::string_view type) {
        constexpr std::string_view list = "list of ";
        const auto thing = std::ranges::find(schema::things, type, &schema::Thing::name);
        if (type.starts_with(list)) {
            ASSERT_TRUE(value.is_array()) << type << ": " << value;
            for (const Json& each : value)
                check(each, type.substr(list.size()));
        } else if (thing == schema::things.end()) {
            EXPECT_TRUE(type == "text"
                            ? value.is_string() && !value.get_ref<const std::string&>().empty()
                        : type == "number"                    ? value.is_number()
                        : type == "boolean"                   ? value.is_boolean()
                        : type == "integer" || type == "time" ? value.is_number_integer()
                        : type == "texts"                     ? value.is_object()
                                                              : false)
                << type << ": " << value;
        } else {
            checkObject(value, *thing);
        }
    }

    void checkObject(const Json& object, const schema::Thing& thing) {
        ASSERT_EQ(object.size(), thing.keys.size()) << object;
        auto member = object.items().begin();
        for (const schema::Key& key : thing.keys) {
            ASSERT_EQ(member.key(), key.name) << thing.name;
            if (!member.value().is_null()) {
                valued_.emplace(thing.name, key.name);
                check(member.value(), key.type);
            }
            ++member;
        }
    }

    // Expects that these things have a value for each key.
    void expectAll(const std::set<std::string_view>& names) const {
        for (const auto& [name, keys] : schema::things) {
            for (const schema::Key& key : keys)
                EXPECT_TRUE(!names.contains(name) || valued_.contains({name, key.name}))
                    << name << " never has the key " << key.name;
        }
    }

  private:
    std::set<std::pair<std::string_view, std::string_view>> valued_;
};

Environment environmentOf(const std::string& id) {
    Environment environment;
    environment.id = id;
    environment.user = "alice";
    environment.created = moment;
    environment.configuration = {"training", 2, 1024};
    environment.processes = {17};
    environment.kernels = {"k"};
    environment.devices = {0};
    environment.expires = moment;
    environment.attached = {{0, moment}};
    environment.parking = {"parked", {{0, 1024}}, 1024, moment, "taken", "bob", 1, 2, "a problem"};
    return environment;
}

MachineAnswers answersOfMachine() {
    MachineAnswers answers;
    answers.machine.environments = {environmentOf("slurm-17"), environmentOf("7"),
                                    environmentOf("8")};
    answers.machine.environments[2].parent = "7";
    DeviceState device;
    device.device = {0, "GPU-0", "NVIDIA A100", 1024};
    device.attachments = {{0, "7", std::nullopt, 512, moment},
                          {0, "ended", std::nullopt, {}, moment}};
    device.lockHolder = "7";
    device.health = "ok";
    device.usedMemoryBytes = 512;
    device.sensors.utilizationPercent = 50;
    device.sensors.temperatureCelsius = 40;
    device.sensors.powerMilliwatts = 100'000;
    device.sampledAt = moment;
    device.pciAddress = "0000:65:00.0";
    device.sensors.powerLimitMilliwatts = 400'000;
    device.reservedFor = "slurm";
    answers.machine.devices = {device, {}};
    answers.machine.devices[1].device.index = 1;
    answers.processes = {{17, 1001, "alice", "7", "python3", {{0, 512, 50}, {1, 256, 30}}, moment},
                         {18, 1002, "bob", std::nullopt, "", {{0, std::nullopt, {}}}, {}}};
    WaitingRequest waiting;
    waiting.resumes = true;
    waiting.description.entry = {3, "7", 1001, 1, moment};
    waiting.description.user = "alice";
    waiting.description.parent = "slurm-17";
    waiting.description.waitsFor = "quota";
    waiting.description.order = "fair";
    waiting.description.hold = {"MaxDevicesPerUser", 1, 2};
    waiting.description.expectedStart = moment;
    waiting.description.firstSince = moment;
    waiting.taking = {{{"8", "eval", "bob", 1024}}, {0}, 1500ms, moment};
    waiting.problem = "a problem";
    answers.queue = {waiting};
    return answers;
}

cluster::Jobs clusterJobs() {
    cluster::ClusterJob holding;
    holding.id = 4;
    holding.name = "training";
    holding.user = "alice";
    holding.state = cluster::ClusterJobState::Holding;
    holding.nodes = "n1";
    holding.gpus = {{"n1", {0, true, 3}}, {"n1", {std::nullopt, true, {}}}};
    cluster::ClusterJob waiting = holding;
    waiting.state = cluster::ClusterJobState::Waiting;
    waiting.gpus.clear();
    waiting.wanted = {1, 2};
    waiting.begins = moment;
    waiting.reason = "Resources";
    return {holding, waiting};
}

TEST_F(JsonObjects, OfMachinesAndClustersHaveTheSameKeys) {
    const MachineAnswers answers = answersOfMachine();
    const MachineObjects machine(answers);
    ASSERT_EQ(machine.devices().size(), 2U);
    ASSERT_EQ(machine.devices()[0]["attachments"].size(), 3U);
    EXPECT_EQ(machine.devices()[0]["attachments"][2]["parent"], "7");
    EXPECT_EQ(machine.devices()[0]["parked"].size(), 3U);
    EXPECT_EQ(machine.devices()[0]["outside"][0]["pid"], 18);
    EXPECT_EQ(machine.environments()[1]["expected_resume"], toJson(moment));
    EXPECT_EQ(machine.processes()[0]["used_memory_bytes"], 768);
    EXPECT_EQ(machine.processes()[1]["used_memory_bytes"], nullptr);
    EXPECT_EQ(machine.queue()[0]["taking"]["estimate_seconds"], 1.5);
    check(machine.devices(), "list of device");
    check(machine.environments(), "list of environment");
    check(machine.processes(), "list of process");
    check(machine.queue(), "list of wait");

    const cluster::Nodes nodes{{"n1", {{"rtx"}, 4}, "drained"}};
    const cluster::Jobs jobs = clusterJobs();
    ASSERT_EQ(cluster::devicesJson(nodes, jobs).size(), 2U) << "one whose index is not known";
    check(cluster::devicesJson(nodes, jobs), "list of device");
    check(cluster::jobsJson(jobs), "list of environment");
    check(cluster::queueJson(jobs), "list of wait");
    expectAll({"device", "attachment", "environment", "process", "wait", "quota", "taking"});
}

TEST_F(JsonObjects, AreLimitedToTheChosenDevices) {
    MachineAnswers answers = answersOfMachine();
    const MachineObjects machine(answers, {1});
    ASSERT_EQ(machine.devices().size(), 1U);
    EXPECT_EQ(machine.devices()[0]["index"], 1);
    EXPECT_TRUE(machine.environments().empty()) << "all are on GPU 0";
    ASSERT_EQ(machine.processes().size(), 1U);
    EXPECT_EQ(machine.processes()[0]["pid"], 17);
}

TEST_F(JsonObjects, HaveNoProcessesIfTheDriverDoesNotRespond) {
    MachineAnswers answers = answersOfMachine();
    answers.processes.reset();
    const MachineObjects machine(answers);
    EXPECT_EQ(machine.processes(), nullptr);
    EXPECT_EQ(machine.devices()[0]["outside"], nullptr);
    EXPECT_EQ(machine.environments()[0]["used_memory_bytes"], nullptr);
}

TEST_F(JsonObjects, OfTheHistoryAndOfSignalsAreEvents) {
    HistoryEvent past;
    past.cursor = past.kind = past.message = "text";
    past.environment = "slurm-17";
    past.name = past.user = past.model = past.reason = past.callerUser = past.method = past.action =
        past.error = past.rule = past.health = past.settings = past.parent = past.callerLoginUser =
            past.command = "text";
    past.uid = past.caller = past.pid = past.count = past.callerLogin = 1;
    past.devices = {0};
    past.uuids = {"GPU-0"};
    past.shareBytes = 512;
    past.waited = past.held = past.left = 1500ms;
    past.since = moment;
    const Json read = eventObject(past);
    check(read, "event");
    EXPECT_EQ(read["waited_seconds"], 1.5);
    EXPECT_EQ(read["job"], 17);

    Event signal;
    signal.kind = Event::Kind::Notice;
    signal.device = 3;
    signal.notice = Notice{"lease-ending", "7", {{"left", "60"}}};
    const Json seen = eventObject(signal);
    check(seen, "event");
    EXPECT_EQ(seen["devices"], Json::array({3}));
    EXPECT_EQ(seen["details"]["left"], "60");
    expectAll({"event"});
}

TEST_F(JsonObjects, OfJobsHaveTheirTasksAndDependencies) {
    MachineJob far;
    far.machine = "0123";
    jobs::JobDescription job;
    job.number = 17;
    job.name = job.state = job.reason = job.command = job.folder = job.output = "text";
    job.expected = job.submitted = job.started = job.ended = job.begin = 1;
    job.status = 0;
    job.words = {"true"};
    job.after = {{16, jobs::Condition::Fail}};
    job.parallel = job.cpus = 1;
    job.memory = 1024;
    job.request.model = "A100";
    job.request.gpuMemoryBytes = job.request.lifetimeSeconds = 1024;
    jobs::TaskRow task;
    task.value = task.state = task.reason = task.environment = task.log = "text";
    task.devices = {"GPU-0"};
    task.started = task.ended = task.peakMemory = 1;
    task.status = task.signal = 1;
    far.state = far.command = "text";
    check(toJson(job, {task}), "job");
    check(toJson(far), "job");
    EXPECT_EQ(toJson(far)["started"], nullptr);
    EXPECT_EQ(toJson(job, {})["after"][0]["condition"], "fail");
    expectAll({"job", "task", "dependency"});
}

} // namespace
} // namespace genv::ctl
