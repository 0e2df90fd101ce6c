// SPDX-License-Identifier: Apache-2.0
// The ONNX node tests: folders with a model and its data, each run and judged.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mote::onnx {

enum class Verdict : std::uint8_t { passed, failed, not_applicable };

struct Result {
  std::string test;  ///< "test_add_bcast"
  std::string op;    ///< "Add"; "Softmax, expanded" for an operator written as a graph of others
  Verdict verdict = Verdict::not_applicable;
  bool exact = false;            ///< compared bit for bit
  std::set<std::string> ops;     ///< mote's ops that ran
  std::string reason;            ///< the reason if it did not pass
  int calls = 0, evaluated = 0;  ///< calls of mote's ops, and those that evaluate agreed with
};

/// Returns the folders with a model.onnx below `folder`, sorted. Throws mote::Error if there is
/// none.
std::vector<std::string> find_tests(const std::string& folder);
/// Never throws: a failure is part of the result.
Result run_test(const std::string& folder);

}  // namespace mote::onnx
