// SPDX-License-Identifier: Apache-2.0
#include "library.h"

namespace {

struct Hidden {
  int value;
#ifdef HIDDEN_CHANGE
  int other = 0;
#endif
};

}  // namespace

namespace some {

int area(const Size& size) {
  const Hidden hidden = {size.rows * size.columns};
  return hidden.value;
}
#ifndef REMOVED
int rows(const Size& size) { return size.rows; }
#endif
#ifdef ADDED
int columns(const Size& size) { return size.columns; }
#endif

}  // namespace some
