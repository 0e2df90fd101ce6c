// SPDX-License-Identifier: Apache-2.0
// Programs as text, and their gradients, for tests of both.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"
#include "mote/uops/gradient.h"

namespace mote::test {

using Arrays = std::vector<Array>;

inline const char* const kX = "input x f64[N]\noutput y = ";
inline const char* const kXW = "input x f64[N]\ninput w f64[N]\noutput y = ";

inline Program with_body(const std::string& text) { return parse_program("op p\n" + text); }

/// Computes the gradients of a program of one output, from gy and the inputs that they need.
inline std::vector<Array> gradients(const std::string& text,
                                    const std::vector<Array>& gy_and_inputs,
                                    const std::map<std::string, Number>& params = {}) {
  return evaluate(gradient(with_body(text)).program, gy_and_inputs, params);
}

/// A convolution with groups of channels in which rows and columns differ in every parameter.
inline const char* const kConvBody = R"(
  param groups int = 1 in 1..
  param sh int = 1 in 1..
  param sw int = 1 in 1..
  param dh int = 1 in 1..
  param dw int = 1 in 1..
  param ph int = 0
  param pw int = 0
  input x f64[N, ci: $groups*CG, H, W]
  input w f64[co: $groups*CO, CG, KH, KW]
  size OH = (H + 2*$ph - $dh*(KH - 1) - 1)/$sh + 1
  size OW = (W + 2*$pw - $dw*(KW - 1) - 1)/$sw + 1
  h = iota(i2*$sh + i5*$dh - $ph over N, co: $groups*CO, OH, OW, CG, KH, KW)
  v = iota(i3*$sw + i6*$dw - $pw over N, co: $groups*CO, OH, OW, CG, KH, KW)
  hs = iota(H over N, co: $groups*CO, OH, OW, CG, KH, KW)
  ws = iota(W over N, co: $groups*CO, OH, OW, CG, KH, KW)
  taps = x[i0, i1/CO*CG + i4, i2*$sh + i5*$dh - $ph, i3*$sw + i6*$dw - $pw over N, co: $groups*CO, OH, OW, CG, KH, KW]
  kernel = w[i1, i4, i5, i6 over N, co: $groups*CO, OH, OW, CG, KH, KW]
  output y = sum[4, 5, 6](where(h >= 0 && h < hs && v >= 0 && v < ws, taps*kernel, 0)))";

}  // namespace mote::test
