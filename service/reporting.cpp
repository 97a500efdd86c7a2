// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/reporting.hpp"

namespace genv::service {

Reporting::Reporting(Machine& machine, Sharing& sharing, GlibLoop& loop, Logger& log,
                     const std::filesystem::path& runtime)
    : records(machine.users, log), eventLog(sharing.ledger, machine.clock, records),
      refusals(sharing.ledger, loop, log, records),
      shellFiles(runtime, sharing.ledger, machine.clock, machine.users, log),
      shellNews(sharing.ledger, machine.clock, loop, shellFiles), log_(log) {}

void Reporting::recovered(const core::RecoveryReport& report) {
    for (const std::string& conflict : report.conflicts)
        log_.error("{}", conflict);
    if (report.restored + report.ended + report.setAside > 0)
        log_.info("found {} environments, of which {} had ended; {} leases were over; {} documents "
                  "were set aside",
                  report.restored + report.ended, report.ended, report.expired.size(),
                  report.setAside);
    eventLog.recovered(report);
    shellFiles.start(report.expired);
}

} // namespace genv::service
