// SPDX-License-Identifier: Apache-2.0
// Runs mote's ops: each call goes through the generated C's entry in the registry and, up to a
// million multiply-adds, through the evaluator, which must agree bit for bit. It is recorded
// whether the call's result must be exact.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"

namespace mote::onnx {

/// The reason why a test says nothing about mote: a missing feature, in words.
class NotApplicable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Dims = std::vector<std::int64_t>;
using Params = std::map<std::string, Number>;

/// The calls of one test.
class Kernels {
 public:
  /// Returns all outputs of the op's instance over `dtype`; a null input is absent. Throws
  /// NotApplicable if the catalogue has no such op or instance, mote::Error if the call does not
  /// fit or if C and evaluator disagree.
  std::vector<Array> run_all(const std::string& op, DType dtype,
                             const std::vector<const Array*>& inputs, const Params& params = {});
  /// Returns its first output.
  Array run(const std::string& op, DType dtype, const std::vector<const Array*>& inputs,
            const Params& params = {});

  int calls() const { return calls_; }
  int evaluated() const { return evaluated_; }  ///< calls that the evaluator agreed with
  const std::set<std::string>& ops() const { return ops_; }  ///< the ops that ran
  /// True if every result so far must be exact: data were moved, or every step was representable,
  /// except for at most one operation that is rounded once, correctly.
  bool exact() const { return inexact_ == 0 && rounded_ <= 1; }

 private:
  int calls_ = 0, evaluated_ = 0, inexact_ = 0, rounded_ = 0;
  std::set<std::string> ops_;
};

}  // namespace mote::onnx
