// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library exports: the library is built with hidden visibility, and only what carries this
// mark is its interface.
#pragma once

#define GENV_EXPORT [[gnu::visibility("default")]]
