// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/reporting.hpp"

#include "core/sentences/sentences.hpp"

namespace genv::service {

Reporting::Reporting(MachineAdapters& machine, Sharing& sharing, GlibLoop& loop, Logger& log,
                     journal::NamedLines& lines, const std::filesystem::path& runtime)
    : records(machine.users, log), eventLog(sharing.ledger, machine.clock, records),
      refusals(sharing.ledger, loop, lines, records),
      shellFiles(runtime, sharing.ledger, machine.clock, machine.users, log),
      shellNews(sharing.ledger, machine.clock, loop, shellFiles,
                [&sharing, &clock = machine.clock](const core::EnvironmentId& id) {
                    return core::comebackOf(sharing.queue, sharing.ledger, clock, id);
                }),
      log_(log) {}

void Reporting::recovered(const core::RecoveryReport& report) {
    for (const std::string& conflict : report.conflicts)
        log_.error("{}", conflict);
    if (report.restored + report.ended + report.setAside > 0)
        log_.info("found {}, of which {} had ended; {} over; {} set aside",
                  core::counted(report.restored + report.ended, "environment"), report.ended,
                  core::counted(report.expired.size(), "lease was", "leases were"),
                  core::counted(report.setAside, "document was", "documents were"));
    eventLog.recovered(report);
    shellFiles.start(report.expired);
}

} // namespace genv::service
