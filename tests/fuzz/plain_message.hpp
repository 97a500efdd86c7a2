// SPDX-License-Identifier: LGPL-2.1-or-later
// A message that goes nowhere, as sdbus-c++ makes one for what a variant holds: the library has the
// function and no header of its declares it.
#pragma once

#include <sdbus-c++/sdbus-c++.h>

namespace sdbus {

PlainMessage createPlainMessage();

} // namespace sdbus
