// SPDX-License-Identifier: Apache-2.0
// Runs ops on small handwritten arrays by the evaluator.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"

namespace mote {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

using Dims = std::vector<std::int64_t>;
using Params = std::map<std::string, Number>;

/// Makes a tensor of the dtype; the values are rounded to it.
Array tensor(DType dtype, Dims shape, const std::vector<double>& values);
Array f64(Dims shape, const std::vector<double>& values);
/// Puts the values along the last of four axes.
inline Array row(const std::vector<double>& x) { return f64({1, 1, 1, std::ssize(x)}, x); }
Array f32(Dims shape, const std::vector<double>& values);
Array i32(Dims shape, const std::vector<std::int64_t>& values);
Array i64(Dims shape, const std::vector<std::int64_t>& values);
Array boolean(Dims shape, const std::vector<std::int64_t>& values);
/// Makes small integers, different for each seed, so that sums and products are exact.
Array integers(DType dtype, Dims shape, int seed);

/// Stands for an optional input that is absent.
Array absent();
/// Returns all outputs of the op's instance of that dtype; the absent inputs select the instance.
std::vector<Array> run_all(const std::string& op, DType dtype, const std::vector<Array>& inputs,
                           const Params& params = {});
/// Returns the first output of the op over the dtype of its first input.
Array run(const std::string& op, const std::vector<Array>& inputs, const Params& params = {});

/// Returns the element at that index.
double at(const Array& a, const Dims& index);

std::ostream& operator<<(std::ostream& out, const Array& a);

}  // namespace mote
