// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions that the dynamic linker calls, see rtld-audit(7) and filter_gate.hpp. They run in
// the middle of the linker's work, before the program's libraries are ready, so they only inspect
// and record.
#include "shims/nvml/filter_gate.hpp"
#include "shims/nvml/job_group.hpp"
#include "shims/nvml/linked_library.hpp"

#include <link.h>

#include <cstdint>

// The address of the program's arguments and variables. This symbol is the linker's own, and the
// only way to find them without a libc.
extern "C" void* __libc_stack_end; // NOLINT(bugprone-reserved-identifier)

namespace {

using namespace genv::shims;

// Returns the initial value of a variable of the program, or null.
const char* initialVariable(const char* name) {
    const auto* words = static_cast<char**>(__libc_stack_end);
    const auto arguments = *reinterpret_cast<const std::intptr_t*>(words);
    for (char* const* variable = words + 1 + arguments + 1; *variable != nullptr; ++variable) {
        const char* text = *variable;
        const char* wanted = name;
        while (*wanted != '\0' && *text == *wanted) {
            ++text;
            ++wanted;
        }
        if (*wanted == '\0' && *text == '=')
            return text + 1;
    }
    return nullptr;
}

bool isWanted() {
    const char* bypass = initialVariable("GENV_BYPASS");
    if (bypass != nullptr && isSameText(bypass, "1"))
        return false;
    const char* environment = initialVariable("GENV_ENVIRONMENT_ID");
    return (environment != nullptr && *environment != '\0') || mayBeInJob();
}

bool beginsWith(const char* text, const char* start) {
    while (*start != '\0' && *text == *start) {
        ++text;
        ++start;
    }
    return *start == '\0';
}

const char* fileName(const char* path) {
    const char* name = path;
    for (const char* c = path; *c != '\0'; ++c) {
        if (*c == '/')
            name = c + 1;
    }
    return name;
}

} // namespace

#define GENV_AUDIT extern "C" __attribute__((visibility("default")))

/// Returns 0 to make the linker unload this library, as if it had not been named.
GENV_AUDIT unsigned la_version(unsigned version) {
    if (!isWanted())
        return 0;
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/// Uses the link map as the cookie of NVML's library, and null as that of all others. The other
/// libraries are flagged as well, because the linker only reports a call if both the calling and
/// the called library are flagged.
GENV_AUDIT unsigned la_objopen(link_map* library, Lmid_t space, std::uintptr_t* cookie) {
    *cookie = 0;
    const char* name = fileName(library->l_name);
    if (space == LM_ID_BASE && isSameText(name, "libc.so.6"))
        ProgramLibraries::setLibc(library);
    if (beginsWith(name, "libnvidia-ml.so") && ProgramLibraries::nvml() == nullptr) {
        ProgramLibraries::setNvml(library);
        *cookie = reinterpret_cast<std::uintptr_t>(library);
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    }
    return LA_FLG_BINDFROM;
}

GENV_AUDIT unsigned la_objclose(std::uintptr_t* cookie) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the interface has no other cookies
    const auto* library = reinterpret_cast<const void*>(*cookie);
    if (library != nullptr)
        ProgramLibraries::forgetNvml(library);
    return 0;
}

GENV_AUDIT std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned /*index*/,
                                       std::uintptr_t* /*from*/, std::uintptr_t* to,
                                       unsigned* /*flags*/, const char* name) {
    if (*to != 0) {
        if (void* ours = findFiltered(name))
            return reinterpret_cast<std::uintptr_t>(ours);
    }
    return symbol->st_value;
}
