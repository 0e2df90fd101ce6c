// SPDX-License-Identifier: Apache-2.0
// What every C++ header of mote includes before anything that an older standard lacks: MOTE_API,
// and what to do where the compiler is asked for too old a standard.
#pragma once

#include "mote/base/export_c.h"

#if defined(__cplusplus) && __cplusplus <= 201703L
#error "mote's C++ headers need C++20: compile with -std=c++20, which mote's CMake targets ask for"
#endif
