// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/// Precedes a function that programs find in the library.
#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))
