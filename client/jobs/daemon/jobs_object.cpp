// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/jobs_object.hpp"

#include "client/jobs/daemon/reasons.hpp"
#include "client/jobs/daemon/submission_options.hpp"
#include "dbus/contract/jobs_names.hpp"

#include <utility>

namespace genv::jobs {

namespace contract = dbus::contract;

JobsObject::JobsObject(sdbus::IConnection& connection, std::function<void()> called)
    : AdaptorInterfaces(connection, sdbus::ObjectPath{contract::jobsPath}),
      called_(std::move(called)) {
    registerAdaptor();
}

JobsObject::~JobsObject() {
    unregisterAdaptor();
}

void JobsObject::emit(const std::set<JobNumber>& added, const std::set<JobNumber>& changed) {
    for (const JobNumber job : added)
        emitJobAdded(job);
    for (const JobNumber number : changed) {
        if (const auto state = engine_->stateOf(number))
            emitJobChanged(number, wordOf(*state));
    }
}

// sdbus-c++ would copy each value of a long list into a message of its own, so the reply is written
// without it, and its own results are not used.
template <typename Handler>
void JobsObject::handle(Handler&& handler) {
    const JobReply reply(dbus::raw::Message::beingProcessed(getObject()), open_);
    reply.guarded([&] {
        called_();
        if (engine_ == nullptr)
            fail(JobErrorCode::StorageFailed, "{}", trouble_);
        std::forward<Handler>(handler)(reply);
    });
}

void JobsObject::change(Change method, JobNumber job, const Numbers& tasks) {
    handle([&](const JobReply& reply) {
        const auto count = static_cast<std::uint32_t>((engine_->*method)(job, tasks));
        reply.send([count](dbus::raw::Writer& writer) { writer.write(count); });
    });
}

void JobsObject::Submit(sdbus::Result<std::uint32_t, Options>&& /*result*/, Options options) {
    handle([&](const JobReply& reply) { engine_->submit(std::move(options), reply); });
}

void JobsObject::Cancel(sdbus::Result<std::uint32_t>&& /*result*/, std::uint32_t job,
                        Numbers tasks) {
    change(&Engine::cancel, job, tasks);
}

void JobsObject::Hold(sdbus::Result<std::uint32_t>&& /*result*/, std::uint32_t job, Numbers tasks) {
    change(&Engine::hold, job, tasks);
}

void JobsObject::Release(sdbus::Result<std::uint32_t>&& /*result*/, std::uint32_t job,
                         Numbers tasks) {
    change(&Engine::release, job, tasks);
}

void JobsObject::Requeue(sdbus::Result<std::uint32_t>&& /*result*/, std::uint32_t job,
                         Numbers tasks) {
    change(&Engine::requeue, job, tasks);
}

void JobsObject::List(sdbus::Result<std::vector<Options>>&& /*result*/, Options options) {
    handle([&](const JobReply& reply) {
        const bool all = readListsAll(std::move(options));
        engine_->describe(reply, [all](const Descriptions& descriptions, auto& writer) {
            descriptions.list(writer, all);
        });
    });
}

void JobsObject::Get(sdbus::Result<Options>&& /*result*/, std::uint32_t job) {
    handle([&](const JobReply& reply) {
        engine_->describe(reply, [job](const Descriptions& descriptions, auto& writer) {
            descriptions.describe(writer, job);
        });
    });
}

void JobsObject::ListTasks(sdbus::Result<std::vector<Options>>&& /*result*/, std::uint32_t job,
                           Numbers tasks) {
    handle([&](const JobReply& reply) {
        engine_->describe(reply, [job, tasks](const Descriptions& descriptions, auto& writer) {
            descriptions.listTasks(writer, job, tasks);
        });
    });
}

std::string JobsObject::Version() {
    return GENV_VERSION;
}

} // namespace genv::jobs
