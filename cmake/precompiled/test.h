// SPDX-License-Identifier: Apache-2.0
// What most tests include from outside, parsed once for each program.
#pragma once

#include <gtest/gtest.h>

#include "library.h"
