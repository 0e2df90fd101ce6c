// SPDX-License-Identifier: Apache-2.0
// Compares the block evaluator with evaluate(), bit for bit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blocks/evaluate.h"
#include "mote/oracle/case.h"
#include "mote/oracle/domain.h"
#include "mote/uops/evaluate.h"
#include "run/buffer.h"

namespace mote::block_test {

/// Makes a case without a target: the parts that an evaluator needs.
inline Case case_of(std::shared_ptr<const Program> program, const std::vector<Array>& inputs,
                    const Params& params) {
  Case c;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  c.binding = mote::bind(*program, shapes, params);
  for (const Array& a : inputs) c.inputs.push_back({"", a.dtype, a.shape, {}});
  for (std::size_t k = 0; k < program->outputs.size(); ++k)
    c.outputs.push_back({"", program->outputs[k].value.dtype(), c.binding.outputs[k], {}});
  c.params = c.binding.params;
  c.program = std::move(program);
  return c;
}

inline std::vector<Dense> dense(const std::vector<Array>& arrays) {
  std::vector<Dense> all;
  for (const Array& a : arrays) {
    all.emplace_back(a.dtype, std::ssize(a.values));
    for (std::int64_t k = 0; k < all.back().count(); ++k)
      all.back().set(k, a.values[static_cast<std::size_t>(k)]);
  }
  return all;
}

inline std::vector<Dense> empty_outputs(const Case& c) {
  std::vector<Dense> all;
  for (const CaseTensor& t : c.outputs) all.emplace_back(t.dtype, volume(t.shape));
  return all;
}

/// Returns "", or the location of the first difference.
inline std::string difference(const std::vector<Dense>& got, const std::vector<Array>& expected) {
  for (std::size_t k = 0; k < got.size(); ++k)
    for (std::int64_t at = 0; at < got[k].count(); ++at)
      if (!identical(got[k].at(at), expected[k].values[static_cast<std::size_t>(at)]))
        return "output " + std::to_string(k) + " at " + std::to_string(at);
  return "";
}

/// Rounds the arrays to the dtypes of the program, as evaluate() expects them.
inline std::vector<Array> stored(std::vector<Array> arrays) {
  for (Array& a : arrays)
    for (Number& n : a.values) n = store_as(n, a.dtype);
  return arrays;
}

inline constexpr std::size_t kManyBytes = std::size_t{1} << 40U;  ///< more than any case here needs
inline constexpr std::optional<blocks::Way> kWays[] = {
    std::nullopt, blocks::Way::masked, blocks::Way::inlined, blocks::Way::inlined_masked};

inline std::string compare_with_evaluate(const std::shared_ptr<const Program>& program,
                                         const std::vector<Array>& inputs, const Params& params) {
  const Case c = case_of(program, inputs, params);
  const std::vector<Array> expected = evaluate(*program, inputs, c.params);
  for (const std::optional<blocks::Way>& way : kWays) {
    std::vector<Dense> outputs = empty_outputs(c);
    const blocks::Evaluator evaluator(program, way);
    evaluator.run(c, dense(inputs), outputs);
    if (std::string text = difference(outputs, expected); !text.empty()) return text;
    if (evaluator.bytes(c) >= kManyBytes) return "it counts " + std::to_string(evaluator.bytes(c));
  }
  return "";
}

}  // namespace mote::block_test
