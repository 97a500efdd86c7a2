// SPDX-License-Identifier: LGPL-2.1-or-later
// The NVML filter: in a process of an environment, NVML reports only that environment's devices,
// memory and processes, whatever the program or language.
//
// The filter is an auditing library of glibc's dynamic linker, see rtld-audit(7), named in
// LD_AUDIT. The linker asks it about every symbol that is bound to libnvidia-ml.so, either by
// dlsym() or because the program is linked with the library. For the functions in entry_points.hpp
// the filter returns its own. All other functions, including unknown ones, stay the driver's. The
// filter therefore works with every future version of NVML.
//
// There are two libraries, because every process of a shell may load the first one:
//   libgenv-nvml-filter.so  The library in LD_AUDIT, built from audit.cpp and filter_gate.cpp. It
//   needs
//       only the dynamic linker, which loads it into a separate namespace. If it needed a libc,
//       every process would load a second one. It takes the few libc functions that it needs from
//       the program's libc.
//   genv-nvml-view.so  The rest of the filter, with libgenv to query the service. It is loaded on
//       the first call of NVML, from the folder of the first library and into its namespace. The
//       program's own libraries, symbols, errno and variables are not affected.
//
// The filter does not cover:
// * Programs that are setuid, statically linked or linked with musl: their linker does not exist or
//   ignores LD_AUDIT. They see the whole machine.
// * Function pointers in the data of a program that is linked with NVML, and calls compiled with
//   -fno-plt: the linker reports only jumps and dlsym().
// * NVML's export table, nvmlInternalGetExportTable(), through which nvidia-smi calls internal
//   functions. It is passed through. The request for it can be reported, see filter_report.hpp.
// * The driver itself (ioctl) and CUDA, which has CUDA_VISIBLE_DEVICES.
// * Containers, which have neither the library nor the bus. They see only what the engine
//   gives them.
// * A second NVML library in the same program: only the first is filtered.
//
// The filter is no protection, because GENV_BYPASS=1 disables it. It makes tools consistent.
#pragma once

#include "shims/nvml/entry_points.hpp"

namespace genv::shims {

/// The functions that the first library provides to the second.
struct GateServices {
    /// Returns the address of the driver's function, or null if this driver's library lacks it.
    void* (*findReal)(Symbol symbol);
};

/// The type of the function genvNvmlFilter, which the second library exports. It writes its
/// functions into a table of size filteredCount. `services` must live as long as the process.
using FillFunctions = void(const GateServices* services, void** functions);

/// Returns the name of a function, for looking up its symbol.
const char* nameOf(Symbol symbol);

/// Returns the filter's own function with this name, or null, as for most names in NVML.
void* findFiltered(const char* name);

/// Libraries of the program that the filter needs. The linker reports when they are loaded and
/// unloaded.
struct ProgramLibraries {
    static void setNvml(const void* linkMap);
    static void forgetNvml(const void* linkMap);
    static const void* nvml();
    static void setLibc(const void* linkMap);
};

} // namespace genv::shims
