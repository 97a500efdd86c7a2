// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds symbols of a loaded library in its own tables. dlsym() would ask the auditing library about
// each symbol, and there is no libc to call it in.
#pragma once

#include <link.h>

namespace genv::shims {

/// Returns the address of a function or variable that the library defines, or null. If a symbol has
/// several versions, returns the first.
void* findSymbol(const link_map& library, const char* name);

/// Returns whether two texts are equal.
bool isSameText(const char* one, const char* other);

} // namespace genv::shims
