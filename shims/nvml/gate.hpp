// SPDX-License-Identifier: LGPL-2.1-or-later
// The NVML filter: in a process of an environment, NVML tells of that environment's devices, memory
// and processes, whatever program or language asks.
//
// It is an auditing library of glibc's dynamic linker, rtld-audit(7), named in LD_AUDIT. The linker
// asks it about every symbol that is bound to libnvidia-ml.so, by dlsym() as by a program that is
// linked with it; for the functions in entry_points.hpp it gives its own, and every other one,
// those it has never heard of included, stays the driver's. So no version of NVML is too new for
// it.
//
// There are two libraries, since every process of a shell may carry the first:
//   libgenv-nvml-filter.so  what LD_AUDIT names: audit.cpp and gate.cpp. It needs nothing but the
//       dynamic linker, which has it in a namespace of its own; with a libc it would bring a second
//       one into every process. What it must have of a libc it takes from the program's.
//   genv-nvml-view.so  all that the filter does, with libgenv to ask the service. It is loaded when
//       NVML is called for the first time, from the folder of the first and into its namespace: the
//       program's own libraries, symbols, errno and variables are not touched by it.
//
// What cannot be filtered so:
// * A setuid program, a statically linked one, one linked with musl: the linker that asks is not
//   there, or ignores LD_AUDIT. They see the machine as it is.
// * A pointer to a function that a program linked with NVML has in its data, or calls through
//   -fno-plt: the linker asks about jumps and dlsym() only.
// * NVML's export table, nvmlInternalGetExportTable(), which nvidia-smi reaches inner functions by.
//   It is passed through; that it was asked for can be reported, see report.hpp.
// * The driver itself (ioctl) and CUDA, which has CUDA_VISIBLE_DEVICES.
// * A container: it has neither the library nor the bus. What the engine gives it is all there is.
// * A program that loads two different NVML libraries: the first is filtered.
// It is no protection against anybody: GENV_BYPASS=1 is a word away. It makes tools agree.
#pragma once

#include "shims/nvml/entry_points.hpp"

namespace genv::shims {

/// What the first library does for the second.
struct GateServices {
    /// The address of the driver's function, or null where this driver's library has none.
    void* (*findReal)(Symbol symbol);
};

/// What the second library exports, under the name genvNvmlFilter: enters its functions into a
/// table of filteredCount. `services` must live as long as the process.
using FillFunctions = void(const GateServices* services, void** functions);

/// The name of a function, for symbols that are looked for.
const char* nameOf(Symbol symbol);

/// The filter's own function of this name, or null: as most names of NVML.
void* findFiltered(const char* name);

/// A library of the program that the filter needs something of. They are told by the linker as they
/// come and go.
struct ProgramLibraries {
    static void setNvml(const void* linkMap);
    static void forgetNvml(const void* linkMap);
    static const void* nvml();
    static void setLibc(const void* linkMap);
};

} // namespace genv::shims
