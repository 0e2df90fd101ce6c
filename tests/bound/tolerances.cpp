// SPDX-License-Identifier: Apache-2.0
#include "tolerances.h"

#include <algorithm>
#include <cmath>

namespace mote::test {
namespace {

bool close(const Array& y, const Array& r, double relative, double absolute) {
  for (std::size_t k = 0; k < y.values.size(); ++k) {
    const double a = y.values[k].as_real(), b = r.values[k].as_real();
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= absolute + relative * std::fabs(b))) return false;
  }
  return true;
}

bool close_in_square(const Array& y, const Array& r) {
  double error = 0, size = 0;
  for (std::size_t k = 0; k < y.values.size(); ++k) {
    const double a = y.values[k].as_real(), b = r.values[k].as_real();
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    error += (a - b) * (a - b);
    size += b * b;
  }
  return error == 0 || error / std::max(size, 1e-300) <= 5e-4;
}

}  // namespace

const std::array<const char*, kJudges> kJudgeNames = {
    "bound", "PyTorch 1.3e-6/1e-5", "ONNX 1e-3/1e-7", "KernelBench v0 1e-2/1e-2", "mean square 5e-4"};

std::array<bool, kJudges> refusals(const Bounds& bounds, const std::vector<Array>& results,
                                   const std::vector<Array>& reference) {
  std::array<bool, kJudges> refused{};
  refused[0] = judge(bounds, results, reference).refused > 0;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Array &y = results[k], &r = reference[k];
    refused[1] = refused[1] || !close(y, r, 1.3e-6, 1e-5);
    refused[2] = refused[2] || !close(y, r, 1e-3, 1e-7);
    refused[3] = refused[3] || !close(y, r, 1e-2, 1e-2);
    refused[4] = refused[4] || !close_in_square(y, r);
  }
  return refused;
}

}  // namespace mote::test
