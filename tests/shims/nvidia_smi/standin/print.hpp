// SPDX-License-Identifier: LGPL-2.1-or-later
// The output of the stand-in: each function prints one sample to standard output.
#pragma once

#include "tests/shims/nvidia_smi/standin/walk.hpp"

namespace genv::standin {

/// Returns mebibytes, the unit of nvidia-smi.
inline std::uint64_t mib(std::uint64_t bytes) {
    return bytes >> 20U;
}

/// Prints the table of a driver: 390, 470, 535 or 550.
void printTable(const Machine& machine, int layout);
void printList(const Machine& machine);
/// Prints the output of -q; `display`: the sections of -d, empty for all.
void printText(const Machine& machine, const std::string& display);
void printXml(const Machine& machine);

struct CsvOptions {
    std::vector<std::string> fields;
    bool noUnits = false;
    bool noHeader = false;
};
/// Returns false if there is no such field.
bool printGpuCsv(const Machine& machine, const CsvOptions& options);
bool printProcessCsv(const Machine& machine, const CsvOptions& options);

void printProcessMonitor(const Machine& machine, bool isFirst);
void printDeviceMonitor(const Machine& machine, bool isFirst);

} // namespace genv::standin
