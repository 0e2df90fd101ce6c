// SPDX-License-Identifier: Apache-2.0
// Every C++ header of mote includes this one before any feature that an older standard lacks. It
// has MOTE_API, and an error that says what to do if the standard is too old.
#pragma once

#include "mote/base/export_c.h"

#if defined(__cplusplus) && __cplusplus <= 201703L
#error "mote's C++ headers need C++20: compile with -std=c++20, which mote's CMake targets ask for"
#endif
