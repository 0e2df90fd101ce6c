// SPDX-License-Identifier: Apache-2.0
// The external headers that most tests include, parsed once for each program.
#pragma once

#include <gtest/gtest.h>

#include "library.h"
