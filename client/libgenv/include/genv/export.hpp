// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks the exported symbols. The library is built with hidden visibility, and only symbols with
// this mark belong to its interface.
#pragma once

#define GENV_EXPORT [[gnu::visibility("default")]]
