// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Jobs on the bus of its user. Without an engine, because the database cannot be used,
// every call answers why.
#pragma once

#include "client/jobs/daemon/engine.hpp"
#include "client/jobs/daemon/job_reply.hpp"
#include "dbus/contract/jobs_adaptor.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace genv::jobs {

class JobsObject
    : public sdbus::AdaptorInterfaces<dev::genv::Jobs_adaptor, sdbus::Properties_adaptor> {
  public:
    /// `called` runs at each call.
    JobsObject(sdbus::IConnection& connection, std::function<void()> called);
    virtual ~JobsObject();
    JobsObject(const JobsObject&) = delete;
    JobsObject& operator=(const JobsObject&) = delete;

    /// From now on, calls are carried out. The engine must outlive this object.
    void use(Engine& engine) { engine_ = &engine; }
    /// From now on, each call answers this text.
    void refuseAll(std::string trouble) { trouble_ = std::move(trouble); }
    /// The number of calls without a reply.
    [[nodiscard]] std::size_t openCalls() const noexcept { return *open_; }

    /// Emits the signals of a turn of the loop.
    void emit(const std::set<JobNumber>& added, const std::set<JobNumber>& changed);

  private:
    using Options = std::map<std::string, sdbus::Variant>;
    using Numbers = std::vector<std::uint32_t>;
    using Change = std::size_t (Engine::*)(JobNumber, const Numbers&);

    void Submit(sdbus::Result<std::uint32_t, Options>&& result, Options options) override;
    void Cancel(sdbus::Result<std::uint32_t>&& result, std::uint32_t job, Numbers tasks) override;
    void Hold(sdbus::Result<std::uint32_t>&& result, std::uint32_t job, Numbers tasks) override;
    void Release(sdbus::Result<std::uint32_t>&& result, std::uint32_t job, Numbers tasks) override;
    void Requeue(sdbus::Result<std::uint32_t>&& result, std::uint32_t job, Numbers tasks) override;
    void List(sdbus::Result<std::vector<Options>>&& result, Options options) override;
    void Get(sdbus::Result<Options>&& result, std::uint32_t job) override;
    void ListTasks(sdbus::Result<std::vector<Options>>&& result, std::uint32_t job,
                   Numbers tasks) override;
    std::string Version() override;

    /// Runs a handler with the reply to the present call.
    template <typename Handler>
    void handle(Handler&& handler);
    void change(Change method, JobNumber job, const Numbers& tasks);

    const std::function<void()> called_;
    Engine* engine_ = nullptr;
    std::string trouble_;
    const std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>(0);
};

} // namespace genv::jobs
