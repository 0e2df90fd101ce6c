// SPDX-License-Identifier: Apache-2.0
// Tests that infer(), which knows only texts of axes, agrees with bind(), which knows the program:
// over random cases of every op and gradient that has kernels.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "mote/runtime/infer.h"
#include "runtime/drawn_calls.h"

namespace mote {
namespace {

using test::DrawnCall;

/// Removes the final "_" that a gradient's name gets if it is taken, which depends on the given
/// inputs.
std::string plain(std::string name) {
  if (name.ends_with('_')) name.pop_back();
  return name;
}

/// Returns the inferred forms by the plain names of the outputs.
std::map<std::string, TensorForm> inferred(const DrawnCall& call) {
  std::vector<Setting> settings;
  for (const auto& param : call.params)
    std::visit([&](auto v) { settings.emplace_back(param.first, v); }, param.second);
  const Command command(call.op, settings);
  std::vector<Tensor> tensors;
  tensors.reserve(call.inputs.size());
  std::vector<const Tensor*> inputs;
  for (const auto& x : call.inputs) {
    if (x) tensors.push_back(Tensor::over(nullptr, x->dtype, x->shape));
    inputs.push_back(x ? &tensors.back() : nullptr);
  }
  std::map<std::string, TensorForm> forms;
  std::size_t k = 0;
  for (const TensorForm& form : infer(command, inputs, call.dtype))
    forms[plain(command.definition().outputs[k++].name)] = form;
  return forms;
}

/// Drops leading axes of extent 1, which the program adds if a call leaves out leading axes.
std::vector<std::int64_t> without_leading_ones(std::vector<std::int64_t> shape, std::size_t rank) {
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

TEST(Infer, AgreesWithTheProgramOfEveryOp) {
  std::size_t compared = 0;
  for (const DrawnCall& call : test::draw_calls(/*seed=*/7, /*count=*/4)) {
    std::map<std::string, TensorForm> forms;
    ASSERT_NO_THROW(forms = inferred(call)) << call.text;
    // A gradient has fewer outputs if inputs are left out; the table names all.
    for (const test::DrawnTensor& y : call.outputs) {
      ASSERT_TRUE(forms.contains(plain(y.name))) << y.name << " of " << call.text;
      const TensorForm& got = forms.at(plain(y.name));
      const auto rank = static_cast<std::size_t>(got.shape.size());
      const TensorForm expected = {y.dtype, without_leading_ones(y.shape, rank)};
      EXPECT_EQ(to_string(got), to_string(expected)) << y.name << " of " << call.text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 4 * static_cast<std::size_t>(mote_op_count));
}

}  // namespace
}  // namespace mote
