// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/link/submitted_job.hpp"

namespace genv::jobs {

namespace {

using dbus::raw::Writer;

void writeTexts(Writer& writer, const char* key, const std::vector<std::string>& texts) {
    writer.property(key, "aay", [&] {
        writer.array("ay", [&] {
            for (const std::string& text : texts)
                writer.writeBytes(text);
        });
    });
}

void writeText(Writer& writer, const char* key, const std::string& text) {
    writer.property(key, "ay", [&] { writer.writeBytes(text); });
}

template <typename Value>
void writeIfSet(Writer& writer, const char* key, const std::optional<Value>& value) {
    if (value)
        writer.property(key, *value);
}

template <typename Element>
void writeUnlessEmpty(Writer& writer, const char* key, const std::vector<Element>& values) {
    if (!values.empty())
        writer.property(key, values);
}

// Writes a value unless it is the default.
template <typename Value>
void writeUnless(Writer& writer, const char* key, const Value& value, const Value& usual = {}) {
    if (value != usual)
        writer.property(key, value);
}

void writeRequest(Writer& writer, const GpuRequest& request) {
    writer.property("request", "a{sv}", [&] {
        writer.array("{sv}", [&] {
            writeIfSet(writer, "gpus", request.gpus);
            writeIfSet(writer, "gpu-memory", request.gpuMemoryBytes);
            writeUnlessEmpty(writer, "indices", request.indices);
            writeUnlessEmpty(writer, "uuids", request.uuids);
            writeIfSet(writer, "model", request.model);
            writeUnless(writer, "over-subscribe", request.overSubscribe);
            writeUnless(writer, "over-subscribable", request.overSubscribable);
            writeIfSet(writer, "preemptible", request.preemptible);
            writeIfSet(writer, "lifetime", request.lifetimeSeconds);
        });
    });
}

void writeArray(Writer& writer, const std::vector<TaskValue>& tasks) {
    writer.property("array", "a(uay)", [&] {
        writer.array("(uay)", [&] {
            for (const TaskValue& task : tasks) {
                writer.structure("uay", [&] {
                    writer.write(task.number);
                    writer.writeBytes(task.value);
                });
            }
        });
    });
}

const char* wordOf(Condition condition) {
    switch (condition) {
    case Condition::Ok:
        break;
    case Condition::Fail:
        return "fail";
    case Condition::Any:
        return "any";
    }
    return "ok";
}

void writePlan(Writer& writer, const Plan& plan) {
    writeUnless(writer, "parallel", plan.parallel);
    writeUnless(writer, "retries", plan.retries);
    writeUnless(writer, "priority", plan.priority);
    if (plan.begin)
        writer.property("begin",
                        static_cast<std::uint64_t>(plan.begin->time_since_epoch().count()));
    if (plan.after.empty())
        return;
    writer.property("after", "a(us)", [&] {
        writer.array("(us)", [&] {
            for (const Dependency& dependency : plan.after) {
                writer.structure("us", [&] {
                    writer.write(dependency.job);
                    writer.write(wordOf(dependency.condition));
                });
            }
        });
    });
}

} // namespace

void write(Writer& writer, const NewJob& job) {
    writer.array("{sv}", [&] {
        writeTexts(writer, "command", job.command);
        writeText(writer, "folder", job.folder);
        writeTexts(writer, "environment", job.environment);
        writer.property("umask", job.umask);
        writeIfSet(writer, "name", job.name);
        writeRequest(writer, job.request);
        if (job.isArray)
            writeArray(writer, job.tasks);
        writePlan(writer, job.plan);
        writeUnless(writer, "hold", job.hold);
        if (job.output)
            writeText(writer, "output", *job.output);
        writeIfSet(writer, "cpus", job.cpus);
        writeIfSet(writer, "memory", job.memoryBytes);
    });
}

} // namespace genv::jobs
