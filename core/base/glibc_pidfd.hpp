// SPDX-License-Identifier: LGPL-2.1-or-later
// <sys/pidfd.h> of each glibc. glibc 2.36 (Debian 12) declares its functions without C linkage, and
// glibc 2.43 lets a file include it only once.
#pragma once

extern "C" {
#include <sys/pidfd.h>
}
