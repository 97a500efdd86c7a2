// SPDX-License-Identifier: LGPL-2.1-or-later
// What List, Get and ListTasks tell. dev.genv.Jobs.xml describes the keys. The dictionaries are
// written straight into the reply, since a list can have ten thousand of them.
#pragma once

#include "client/jobs/daemon/reasons.hpp"
#include "client/jobs/daemon/submissions.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/book.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <cstdint>
#include <span>

namespace genv::jobs {

/// What the descriptions are made from; valid for one reply.
class Descriptions {
  public:
    Descriptions(const Book& book, Submissions& submissions, const Places& places,
                 const WaitingFacts& facts)
        : book_(book), submissions_(submissions), places_(places), facts_(facts) {}

    /// Writes all jobs, or those that wait or run or ended within a day (aa{sv}).
    void list(dbus::raw::Writer& writer, bool all) const;
    /// Writes a job (a{sv}). Throws JobError.
    void describe(dbus::raw::Writer& writer, JobNumber job) const;
    /// Writes tasks of a job, or all (aa{sv}). Throws JobError.
    void listTasks(dbus::raw::Writer& writer, JobNumber job,
                   std::span<const std::uint32_t> numbers) const;

  private:
    void writeJob(dbus::raw::Writer& writer, const Job& job) const;
    void writeTask(dbus::raw::Writer& writer, const Job& job, const Task& task) const;

    const Book& book_;
    Submissions& submissions_;
    const Places& places_;
    const WaitingFacts& facts_;
};

} // namespace genv::jobs
