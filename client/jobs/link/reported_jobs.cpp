// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/reported_jobs.hpp"

#include "client/jobs/link/reading.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

namespace genv::jobs {

namespace {

using dbus::raw::Reader;

template <typename Row>
using Member =
    std::variant<bool Row::*, std::int32_t Row::*, std::uint32_t Row::*, std::uint64_t Row::*,
                 std::string Row::*, std::vector<std::string> Row::*>;

template <typename Row>
struct Field {
    std::string_view key;
    Member<Row> member;
};

constexpr std::array jobFields{
    Field<JobRow>{"number", &JobRow::number},       Field<JobRow>{"name", &JobRow::name},
    Field<JobRow>{"state", &JobRow::state},         Field<JobRow>{"reason", &JobRow::reason},
    Field<JobRow>{"expected", &JobRow::expected},   Field<JobRow>{"command", &JobRow::command},
    Field<JobRow>{"gpus", &JobRow::gpus},           Field<JobRow>{"tasks", &JobRow::tasks},
    Field<JobRow>{"waiting", &JobRow::waiting},     Field<JobRow>{"running", &JobRow::running},
    Field<JobRow>{"done", &JobRow::done},           Field<JobRow>{"failed", &JobRow::failed},
    Field<JobRow>{"canceled", &JobRow::canceled},   Field<JobRow>{"array", &JobRow::isArray},
    Field<JobRow>{"submitted", &JobRow::submitted}, Field<JobRow>{"started", &JobRow::started},
    Field<JobRow>{"ended", &JobRow::ended},         Field<JobRow>{"status", &JobRow::status},
};

constexpr std::array descriptionFields{
    Field<JobDescription>{"command-words", &JobDescription::words},
    Field<JobDescription>{"folder", &JobDescription::folder},
    Field<JobDescription>{"output", &JobDescription::output},
    Field<JobDescription>{"retries", &JobDescription::retries},
    Field<JobDescription>{"priority", &JobDescription::priority},
    Field<JobDescription>{"begin", &JobDescription::begin},
    Field<JobDescription>{"parallel", &JobDescription::parallel},
    Field<JobDescription>{"cpus", &JobDescription::cpus},
    Field<JobDescription>{"memory", &JobDescription::memory},
};

constexpr std::array taskFields{
    Field<TaskRow>{"number", &TaskRow::number},
    Field<TaskRow>{"value", &TaskRow::value},
    Field<TaskRow>{"state", &TaskRow::state},
    Field<TaskRow>{"reason", &TaskRow::reason},
    Field<TaskRow>{"attempts", &TaskRow::attempts},
    Field<TaskRow>{"environment", &TaskRow::environment},
    Field<TaskRow>{"devices", &TaskRow::devices},
    Field<TaskRow>{"started", &TaskRow::started},
    Field<TaskRow>{"ended", &TaskRow::ended},
    Field<TaskRow>{"status", &TaskRow::status},
    Field<TaskRow>{"signal", &TaskRow::signal},
    Field<TaskRow>{"gpu-seconds", &TaskRow::gpuSeconds},
    Field<TaskRow>{"peak-memory", &TaskRow::peakMemory},
    Field<TaskRow>{"log", &TaskRow::log},
};

// Text is either a string or, if it may not be UTF-8, bytes.
void readValue(Reader& reader, std::string& value) {
    if (reader.variantSignature() == "ay")
        reader.variant("ay", [&] { reader.readBytes(value); });
    else
        reader.readVariant("s", value);
}

void readValue(Reader& reader, std::vector<std::string>& values) {
    if (reader.variantSignature() != "aay") {
        reader.readVariant("as", values);
        return;
    }
    reader.variant("aay",
                   [&] { reader.array("ay", [&] { reader.readBytes(values.emplace_back()); }); });
}

template <typename Value>
void readValue(Reader& reader, Value& value) {
    reader.readVariant(dbus::compat::signatureOf<Value>().c_str(), value);
}

template <typename Value>
void readValue(Reader& reader, std::optional<Value>& value) {
    readValue(reader, value.emplace());
}

// Reads a dictionary a{sv}. `readKey` reads the value of a key that it knows, else returns false.
template <typename ReadKey>
void readDictionary(Reader& reader, ReadKey readKey) {
    reader.array("{sv}", [&] {
        reader.entry("sv", [&] {
            const std::string_view key = reader.readText('s');
            if (!readKey(key))
                reader.skipVariant();
        });
    });
}

template <typename Row, typename Fields>
bool readField(Reader& reader, std::string_view key, Row& row, const Fields& fields) {
    const auto found =
        std::ranges::find_if(fields, [&](const auto& field) { return field.key == key; });
    if (found == fields.end())
        return false;
    std::visit([&](auto member) { readValue(reader, row.*member); }, found->member);
    return true;
}

void readRequest(Reader& reader, GpuRequest& request) {
    readDictionary(reader, [&](std::string_view key) {
        if (key == "gpus")
            readValue(reader, request.gpus);
        else if (key == "gpu-memory")
            readValue(reader, request.gpuMemoryBytes);
        else if (key == "indices")
            readValue(reader, request.indices);
        else if (key == "uuids")
            readValue(reader, request.uuids);
        else if (key == "model")
            readValue(reader, request.model);
        else if (key == "over-subscribe")
            readValue(reader, request.overSubscribe);
        else if (key == "over-subscribable")
            readValue(reader, request.overSubscribable);
        else if (key == "preemptible")
            readValue(reader, request.preemptible);
        else if (key == "lifetime")
            readValue(reader, request.lifetimeSeconds);
        else
            return false;
        return true;
    });
}

Condition conditionOf(std::string_view word) {
    return word == "any" ? Condition::Any : word == "fail" ? Condition::Fail : Condition::Ok;
}

void readDependencies(Reader& reader, std::vector<Dependency>& after) {
    reader.array("(us)", [&] {
        reader.structure("us", [&] {
            Dependency& dependency = after.emplace_back();
            reader.read(dependency.job);
            dependency.condition = conditionOf(reader.readText('s'));
        });
    });
}

} // namespace

void read(Reader& reader, JobRow& row) {
    readDictionary(reader,
                   [&](std::string_view key) { return readField(reader, key, row, jobFields); });
}

void read(Reader& reader, JobDescription& description) {
    readDictionary(reader, [&](std::string_view key) {
        if (key == "request")
            reader.variant("a{sv}", [&] { readRequest(reader, description.request); });
        else if (key == "after")
            reader.variant("a(us)", [&] { readDependencies(reader, description.after); });
        else
            return readField(reader, key, description, descriptionFields) ||
                   readField(reader, key, static_cast<JobRow&>(description), jobFields);
        return true;
    });
}

void read(Reader& reader, TaskRow& row) {
    readDictionary(reader,
                   [&](std::string_view key) { return readField(reader, key, row, taskFields); });
}

} // namespace genv::jobs
