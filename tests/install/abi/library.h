// SPDX-License-Identifier: Apache-2.0
// A small library that abi_test.sh removes functions from and changes.
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
