# SPDX-License-Identifier: LGPL-2.1-or-later
# The toolchain of the preset fuzz: the Clang of Debian 12, of Debian 13, or another installed one.
find_program(GENV_CLANG NAMES clang-14 clang-19 clang REQUIRED)
find_program(GENV_CLANGXX NAMES clang++-14 clang++-19 clang++ REQUIRED)
set(CMAKE_C_COMPILER ${GENV_CLANG})
set(CMAKE_CXX_COMPILER ${GENV_CLANGXX})
