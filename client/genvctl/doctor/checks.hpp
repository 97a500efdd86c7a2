// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks of `genvctl doctor`, one for each row of the table. Each check runs in its own
// process, which is killed at its deadline, so a check may block. A check changes nothing and
// starts no service of genv.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/places.hpp"

#include <array>
#include <string_view>

namespace genv::ctl::doctor {

Finding checkDriver(const Places& places);
Finding checkBus(const Places& places);
Finding checkService(const Places& places);
Finding checkPolkit(const Places& places);
Finding checkConfiguration(const Places& places);
Finding checkIsolation(const Places& places);
Finding checkSlurm(const Places& places);
Finding checkGenv1(const Places& places);
Finding checkShell(const Places& places);
Finding checkExporter(const Places& places);
Finding checkVersions(const Places& places);

struct Check {
    std::string_view name;
    Finding (*look)(const Places& places);
};

/// In the order of the output.
inline constexpr std::array allChecks{
    Check{"driver", checkDriver},
    Check{"bus", checkBus},
    Check{"service", checkService},
    Check{"polkit", checkPolkit},
    Check{"configuration", checkConfiguration},
    Check{"isolation", checkIsolation},
    Check{"slurm", checkSlurm},
    Check{"genv-1", checkGenv1},
    Check{"shell", checkShell},
    Check{"exporter", checkExporter},
    Check{"versions", checkVersions},
};

} // namespace genv::ctl::doctor
