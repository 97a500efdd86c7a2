// SPDX-License-Identifier: LGPL-2.1-or-later
// Symbols of a library that is loaded, found in its own tables: dlsym() would ask the auditing
// library about each, and there is no libc to call it in.
#pragma once

#include <link.h>

namespace genv::shims {

/// The address of a function or variable that the library defines, or null. Of several versions of
/// a symbol the first is taken.
void* findSymbol(const link_map& library, const char* name);

/// Whether two texts are the same.
bool isSameText(const char* one, const char* other);

} // namespace genv::shims
