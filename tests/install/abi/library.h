// SPDX-License-Identifier: Apache-2.0
// A library in small: what abi_test.sh takes away from it and changes in it.
#pragma once

namespace some {

struct Size {
  int rows;
#ifdef WIDER
  int depth;
#endif
  int columns;
};

int area(const Size& size);
#ifndef REMOVED
int rows(const Size& size);
#endif
#ifdef ADDED
int columns(const Size& size);
#endif

}  // namespace some
