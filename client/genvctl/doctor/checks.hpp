// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks of `genvctl doctor`, one for each row of the table. Each check runs in its own
// process, which is killed at its deadline, so a check may block. A check changes nothing and
// starts no service of genv.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/system_places.hpp"

#include <array>
#include <string_view>

namespace genv::ctl::doctor {

DoctorFinding checkDriver(const SystemPlaces& places);
DoctorFinding checkBus(const SystemPlaces& places);
DoctorFinding checkService(const SystemPlaces& places);
DoctorFinding checkPolkit(const SystemPlaces& places);
DoctorFinding checkConfiguration(const SystemPlaces& places);
DoctorFinding checkIsolation(const SystemPlaces& places);
DoctorFinding checkParking(const SystemPlaces& places);
DoctorFinding checkSlurm(const SystemPlaces& places);
DoctorFinding checkGenv1(const SystemPlaces& places);
DoctorFinding checkShell(const SystemPlaces& places);
DoctorFinding checkExporter(const SystemPlaces& places);
DoctorFinding checkVersions(const SystemPlaces& places);

struct DoctorCheck {
    std::string_view name;
    DoctorFinding (*look)(const SystemPlaces& places);
};

/// In the order of the output.
inline constexpr std::array allChecks{
    DoctorCheck{"driver", checkDriver},
    DoctorCheck{"bus", checkBus},
    DoctorCheck{"service", checkService},
    DoctorCheck{"polkit", checkPolkit},
    DoctorCheck{"configuration", checkConfiguration},
    DoctorCheck{"isolation", checkIsolation},
    DoctorCheck{"parking", checkParking},
    DoctorCheck{"slurm", checkSlurm},
    DoctorCheck{"genv-1", checkGenv1},
    DoctorCheck{"shell", checkShell},
    DoctorCheck{"exporter", checkExporter},
    DoctorCheck{"versions", checkVersions},
};

} // namespace genv::ctl::doctor
