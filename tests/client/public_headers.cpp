// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled with only the folder of the public headers as include path: the headers include only
// each other and the standard library.
#include "genv/client.hpp"
#include "genv/error.hpp"
#include "genv/export.hpp"
#include "genv/isolation.hpp"
#include "genv/loans.hpp"
#include "genv/lock.hpp"
#include "genv/machine.hpp"
#include "genv/options.hpp"
#include "genv/types.hpp"
#include "genv/waiting.hpp"

#include <type_traits>

static_assert(std::is_nothrow_move_constructible_v<genv::ActivateOptions>);
