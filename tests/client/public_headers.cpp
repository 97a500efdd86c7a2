// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled with nothing but the folder of the public headers to look in: they include only each
// other and the standard library.
#include "genv/client.hpp"
#include "genv/error.hpp"
#include "genv/export.hpp"
#include "genv/lock.hpp"
#include "genv/types.hpp"
#include "genv/waiting.hpp"

static_assert(genv::ActivateOptions{}.overSubscribe == false);
