// SPDX-License-Identifier: Apache-2.0
// Tests the outputs' dtypes and shapes inferred from inputs, and gradients as attributes.
#include "mote/runtime/infer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "mote/runtime/catalogue.h"
#include "runtime/expect_error.h"
#include "runtime/plain_records.h"

namespace mote {
namespace {

using test::expect_error;

/// Makes a tensor with metadata only: "f32[2,3]".
Tensor meta(const AxisList& shape, DType dtype = DType::f32) {
  return Tensor::over(nullptr, dtype, shape);
}

std::string inferred(const Command& command, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& x : inputs) pointers.push_back(x.rank() < 0 ? nullptr : &x);
  std::string text;
  for (const TensorForm& form : infer(command, pointers))
    text += (text.empty() ? "" : " ") + to_string(form);
  return text;
}

TEST(Infer, FollowsTheDefinition) {
  EXPECT_EQ(inferred(Command("relu"), {meta({2, 3})}), "f32[2,3]");
  EXPECT_EQ(inferred(Command("relu"), {meta({1, 2, 3, 4, 5, 6, 7})}), "f32[1,2,3,4,5,6,7]");
  EXPECT_EQ(inferred(Command("add"), {meta({4, 1, 3}), meta({5, 1})}), "f32[4,5,3]");
  EXPECT_EQ(inferred(Command("less"), {meta({4}), meta({4})}), "bool[4]");
  EXPECT_EQ(inferred(Command("cast_bf16"), {meta({4})}), "bf16[4]");
  EXPECT_EQ(inferred(Command("matmul"), {meta({3, 4}), meta({4, 5})}), "f32[3,5]");
  EXPECT_EQ(inferred(Command("matmul"), {meta({7, 1, 3, 4}), meta({6, 4, 5})}), "f32[7,6,3,5]");
  EXPECT_EQ(
      inferred(Command("matmul"), {meta({9, 7, 6, 3, 4}, DType::f64), meta({4, 5}, DType::f64)}),
      "f64[9,7,6,3,5]");
  EXPECT_EQ(inferred(Command("conv2d", {{"stride0", 2}, {"pads0", 1}, {"groups", 2}}),
                     {meta({8, 4, 7, 9}), meta({6, 2, 3, 3})}),
            "f32[8,6,3,7]");
  EXPECT_EQ(inferred(Command("conv2d"), {meta({4, 7, 9}), meta({6, 4, 3, 3})}), "f32[6,5,7]");
  EXPECT_EQ(inferred(Command("conv2d"), {meta({2, 3, 4, 7, 9}), meta({6, 4, 3, 3}), meta({6})}),
            "f32[2,3,6,5,7]");
  EXPECT_EQ(inferred(Command("conv2d.grad"),
                     {meta({8, 6, 5, 7}), meta({8, 4, 7, 9}), meta({6, 4, 3, 3}), meta({6})}),
            "f32[8,4,7,9] f32[6,4,3,3] f32[6]");
}

TEST(Infer, KnowsTheAxisOfACommand) {
  EXPECT_EQ(inferred(Command("softmax", {}, 1), {meta({2, 3, 4, 5})}), "f32[2,3,4,5]");
  EXPECT_EQ(inferred(Command("sum", {}, 1), {meta({2, 3, 4, 5})}), "f32[2,4,5]");
  EXPECT_EQ(inferred(Command("sum", {}, -1), {meta({3})}), "f32[]");
  EXPECT_EQ(inferred(Command("sum", {}, 0), {meta({3, 2})}), "f32[2]");
  EXPECT_EQ(inferred(Command("argmax", {}, 2), {meta({2, 3, 4})}), "i64[2,3]");
  EXPECT_EQ(inferred(Command("sum"), {meta({2, 3, 4})}), "f32[2,4]");
}

TEST(Infer, SaysWhatDoesNotFit) {
  const auto refused = [](const std::string& part, const Command& command,
                          const std::vector<Tensor>& inputs) {
    expect_error(MOTE_INVALID, part, [&] { inferred(command, inputs); });
  };
  refused("add: axes of b f32[4] do not fit [3]", Command("add"), {meta({3}), meta({4})});
  refused("dtypes of a and b differ", Command("add"), {meta({3}), meta({3}, DType::f64)});
  refused("add: input b is missing", Command("add"), {meta({3})});
  refused("relu: takes at most 1 inputs, got 2", Command("relu"), {meta({3}), meta({3})});
  refused("conv2d: axis 1 of w must be CG = 4, got 5", Command("conv2d"),
          {meta({1, 4, 7, 9}), meta({6, 5, 3, 3})});
  refused("conv2d: axis 1 of x must be CG*$groups, got 4", Command("conv2d", {{"groups", 3}}),
          {meta({1, 4, 7, 9}), meta({6, 5, 3, 3})});
  refused("conv2d: axis 2 of y would be -1 = ", Command("conv2d"),
          {meta({1, 4, 1, 9}), meta({6, 4, 3, 3})});
  refused("matmul: axis 2 of b must be K = 4, got 5", Command("matmul"),
          {meta({3, 4}), meta({5, 6})});
  refused("axis must be in -2..1", Command("sum", {}, 2), {meta({3, 4})});
  refused("overflow", Command("conv2d", {{"pads0", INT64_MAX}}),
          {meta({1, 4, 7, 9}), meta({6, 4, 3, 3})});
  refused("beyond", Command("add"),
          {Tensor::over(nullptr, DType::f32, {std::int64_t{1} << 40, 1}, {0, 1}),
           Tensor::over(nullptr, DType::f32, {1, std::int64_t{1} << 40}, {1, 0})});
}

TEST(Infer, ThereIsNoPositionOfTheLeastOfNoElement) {
  const auto error_of = [](const Command& command, const AxisList& shape) -> std::string {
    try {
      inferred(command, {meta(shape)});
    } catch (const StatusError& e) {
      EXPECT_EQ(e.status(), MOTE_INVALID);
      return e.what();
    }
    return "";
  };
  for (const std::string op : {"argmin", "argmax"}) {
    EXPECT_EQ(error_of(Command(op, {}, 1), {2, 0, 3}),
              op + ": N must be at least 1, got 0 (x f32[2,0,3])");
    EXPECT_EQ(error_of(Command(op, {}, 0), {0}),
              op + ": N must be at least 1, got 0 (x f32[1,0,1])");
    EXPECT_EQ(error_of(Command(op), {2, 0, 3}),
              op + ": N must be at least 1, got 0 (x f32[2,0,3])");
    // Where another axis has no element, there is nothing to look for.
    EXPECT_EQ(inferred(Command(op, {}, 1), {meta({0, 4})}), "i64[0]");
    EXPECT_EQ(inferred(Command(op, {}, 1), {meta({3, 4, 0})}), "i64[3,0]");
  }
  // A sum and the least element of none have a value.
  EXPECT_EQ(inferred(Command("sum", {}, 1), {meta({2, 0, 3})}), "f32[2,3]");
  EXPECT_EQ(inferred(Command("reduce_min", {}, 1), {meta({2, 0, 3})}), "f32[2,3]");
}

TEST(Infer, TheDtypeMayBeTheCallers) {
  static const char* const axes[] = {"N"};
  static const mote_op_tensor x = {"x", "i64", 0, 1, axes, 0, 0, nullptr};
  static const mote_op_tensor y = {"y", "T", 0, 1, axes, 0, 0, nullptr};
  static const mote_op_definition definition = test::plain_definition("draw", {&x, 1}, {&y, 1});
  Registry registry;
  register_op("draw", registry).set(kDefinition, &definition);
  const Command draw("draw", {}, std::nullopt, registry);
  const Tensor index = meta({3}, DType::i64);
  EXPECT_EQ(to_string(infer(draw, {&index}, DType::f64)[0]), "f64[3]");
  expect_error(MOTE_INVALID, "draw: the dtype of y does not follow from the inputs",
               [&] { infer(draw, {&index}); });
}

constexpr mote_size_step size(const char* name) { return {MOTE_SIZE_NAME, name, 0}; }
constexpr mote_size_step param(const char* name) { return {MOTE_SIZE_PARAM, name, 0}; }
constexpr mote_size_step number(std::int64_t n) { return {MOTE_SIZE_NUMBER, nullptr, n}; }
constexpr mote_size_step step(mote_size_code code) { return {code, nullptr, 0}; }
constexpr mote_size_step kEnd = step(MOTE_SIZE_END);

TEST(Infer, AnOpOfSomeonesOwnHasItToo) {
  static const char* const in_axes[] = {"N", "2*M + 1"};
  static const mote_size_step odd[] = {number(2), size("M"),           step(MOTE_SIZE_MULTIPLY),
                                       number(1), step(MOTE_SIZE_ADD), kEnd};
  static const mote_size_step* const in_programs[] = {nullptr, odd};
  static const char* const out_axes[] = {"M", "max(N % 4, $least) + 1", "(N + 7)/2", "min(N, 11)"};
  static const mote_size_step greater[] = {
      size("N"),           number(4), step(MOTE_SIZE_MOD), param("least"),
      step(MOTE_SIZE_MAX), number(1), step(MOTE_SIZE_ADD), kEnd};
  static const mote_size_step half[] = {
      size("N"), number(7), step(MOTE_SIZE_ADD), number(2), step(MOTE_SIZE_DIVIDE), kEnd};
  static const mote_size_step lesser[] = {size("N"), number(11), step(MOTE_SIZE_MIN), kEnd};
  static const mote_size_step* const out_programs[] = {nullptr, greater, half, lesser};
  static const mote_op_tensor x = {"x", "T", 0, 2, in_axes, 0, 0, in_programs};
  static const mote_op_tensor y = {"y", "i32", 0, 4, out_axes, 0, 0, out_programs};
  static const mote_op_param least = {"least", "", 1, 1, 2, 0, 9};
  static mote_op_definition definition = test::plain_definition("mine", {&x, 1}, {&y, 1});
  definition.param_count = 1;
  definition.params = &least;
  Registry registry;
  const Registration mine = register_op("mine", registry).set(kDefinition, &definition);
  const auto of = [&](const AxisList& shape) {
    const Tensor tensor = meta(shape);
    return to_string(infer(Command("mine", {}, std::nullopt, registry), {&tensor})[0]);
  };
  EXPECT_EQ(of({10, 7}), "i32[3,3,8,10]");
  EXPECT_EQ(of({11, 1}), "i32[0,4,9,11]");
  EXPECT_EQ(of({12, 3}), "i32[1,3,9,11]");
  expect_error(MOTE_INVALID, "mine: axis 1 of x must be 2*M + 1, got 8", [&] { of({10, 8}); });
  expect_error(MOTE_INVALID, "mine: axis 1 of x must be 2*M + 1, got 0", [&] { of({10, 0}); });
  // The op has its own function, since the programs are not sufficient.
  registry.set(mine.id(), kInfer, [](const Command&, auto inputs, auto) {
    return std::vector<TensorForm>{{inputs[0]->dtype, {42}}};
  });
  EXPECT_EQ(of({10, 8}), "f32[42]");
}

/// Infers y of an op whose axis has that text and program, from x of N = 3 and the parameter k.
void infer_axis(const char* text, const mote_size_step* program, std::int64_t k = 0) {
  static const char* const in_axes[] = {"N"};
  const mote_op_tensor x = {"x", "T", 0, 1, in_axes, 0, 0, nullptr};
  const mote_op_tensor y = {"y", "T", 0, 1, &text, 0, 0, &program};
  const mote_op_param one = {"k", "", 1, 1, 0, INT64_MIN, INT64_MAX};
  mote_op_definition definition = test::plain_definition("odd", {&x, 1}, {&y, 1});
  definition.param_count = 1;
  definition.params = &one;
  Registry registry;
  register_op("odd", registry).set(kDefinition, &definition);
  const Tensor tensor = meta({3});
  const std::vector<Setting> settings = {{"k", k}};
  infer(Command("odd", settings, std::nullopt, registry), {&tensor});
}

TEST(Infer, ProgramsThatSayNothingAreAnError) {
  const auto refused = [](const std::string& why, const char* text,
                          const std::vector<mote_size_step>& program) {
    expect_error(MOTE_INVALID, "odd: axis '" + std::string(text) + "': " + why,
                 [&] { infer_axis(text, program.empty() ? nullptr : program.data()); });
  };
  for (const char* text : {"", "2*N", "7", "7up", "$k", "N & M", "-N"})
    refused("an axis that is not a size needs a program", text, {});
  refused("an axis's program does not leave one value", "?", {kEnd});
  refused("an axis's program does not leave one value", "?", {size("N"), size("N"), kEnd});
  refused("an axis's program lacks values", "?", {size("N"), step(MOTE_SIZE_ADD), kEnd});
  refused("an axis's program has a step without a name", "?", {size(nullptr), kEnd});
  refused("an axis's program has a step without a name", "?", {param(nullptr), kEnd});
  refused("an axis's program has unknown steps", "?", {{MOTE_SIZE_MAX + 1, nullptr, 0}, kEnd});
  refused("an axis's program has unknown steps", "?", {{-1, nullptr, 0}, kEnd});
}

TEST(Infer, ExtentsThatHaveNoValueAreAnError) {
  const mote_size_step divided[] = {size("N"), param("k"), step(MOTE_SIZE_DIVIDE), kEnd};
  const mote_size_step rest[] = {size("N"), param("k"), step(MOTE_SIZE_MOD), kEnd};
  const mote_size_step more[] = {size("N"), param("k"), step(MOTE_SIZE_ADD), kEnd};
  const mote_size_step times[] = {size("N"), param("k"), step(MOTE_SIZE_MULTIPLY), kEnd};
  const mote_size_step other[] = {param("other"), kEnd};
  const auto refused = [](const std::string& why, const char* text, const mote_size_step* program,
                          std::int64_t k) {
    expect_error(MOTE_INVALID, "odd: " + why, [&] { infer_axis(text, program, k); });
  };
  infer_axis("N/$k", divided, 1);
  infer_axis("N % $k", rest, 1);
  infer_axis("N + $k", more, -3);
  infer_axis("N*$k", times, 5);
  refused("axis 'N/$k' divides by 0", "N/$k", divided, 0);
  refused("axis 'N % $k' divides by -2", "N % $k", rest, -2);
  refused("axis 'N + $k' overflows", "N + $k", more, INT64_MAX - 2);
  refused("axis 'N*$k' overflows", "N*$k", times, INT64_MAX / 3 + 1);
  refused("axis 0 of y would be -1 = N + $k", "N + $k", more, -4);
  refused("an axis mentions $other, which is no parameter", "$other", other, 0);
}

TEST(Infer, ComputeAllocatesTheOutputs) {
  const Tensor x(DType::f32, {2, 3});
  fill(x, -2.0);
  const std::vector<Tensor> y = compute(Command("neg"), {&x});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_EQ(y[0].shape(), x.shape());
  EXPECT_EQ(y[0].real_at({1, 2}), 2);
}

TEST(Gradients, AreAttributes) {
  const Registry& registry = Registry::global();
  const Column<OpGradient> gradients = registry.column(kGradient);
  const OpGradient conv = gradients.at(registry.get("conv2d"));
  EXPECT_STREQ(conv->gradient, "conv2d.grad");
  EXPECT_EQ(conv->from, 0b1U);
  EXPECT_EQ(conv->inputs, 0b111U);
  EXPECT_EQ(conv->outputs, 0U);
  EXPECT_EQ(conv->reads, 0b0111U);  // b gives only its shape
  EXPECT_EQ(conv->to, 0b111U);
  const OpGradient softmax = gradients.at(registry.get("softmax"));
  EXPECT_EQ(softmax->outputs, 0b1U);  // it reads y instead of x
  EXPECT_EQ(gradients.find(registry.get("argmax")), nullptr);
  const Column<Definition> definitions = registry.column(kDefinition);
  for (std::int32_t k = 0; k < mote_op_gradient_count; ++k) {
    const mote_op_gradient& g = mote_op_gradients[k];
    const mote_op_definition& d = *definitions.at(registry.get(g.gradient));
    EXPECT_EQ(d.input_count,
              std::popcount(g.from) + std::popcount(g.inputs) + std::popcount(g.outputs))
        << g.gradient;
    EXPECT_EQ(d.output_count, std::popcount(g.to)) << g.gradient;
  }
}

TEST(Gradients, RunAsCommands) {
  const Tensor gy(DType::f32, {2, 3});
  const Tensor x(DType::f32, {2, 3});
  fill(gy, 2.0);
  fill(x, -1.0);
  x.set({1, 1}, 4.0);
  const std::vector<Tensor> gx = compute(Command("relu.grad"), {&gy, &x});
  EXPECT_EQ(gx[0].real_at({0, 0}), 0);
  EXPECT_EQ(gx[0].real_at({1, 1}), 2);
}

TEST(Gradients, WithoutAnOptionalInputThereIsNoGradientOfIt) {
  const Tensor gy(DType::f32, {1, 2, 3, 3});
  const Tensor x(DType::f32, {1, 1, 5, 5});
  const Tensor w(DType::f32, {2, 1, 3, 3});
  const Tensor b(DType::f32, {2});
  fill(gy, 1.0);
  fill(x, 2.0);
  fill(w, 3.0);
  const Command command("conv2d.grad");
  const std::vector<Tensor> all = compute(command, {&gy, &x, &w, &b});
  const std::vector<Tensor> without = compute(command, {&gy, &x, &w});
  EXPECT_EQ(all[2].real_at({0}), 9);
  EXPECT_EQ(without[2].element_count(), 0);
  EXPECT_EQ(without[1].real_at({1, 0, 2, 2}), 18);
  EXPECT_EQ(without[1].real_at({1, 0, 2, 2}), all[1].real_at({1, 0, 2, 2}));
  Tensor gx(DType::f32, {1, 1, 5, 5});
  run(command, {&gy, &x, &w}, {&gx, nullptr, nullptr});
  EXPECT_EQ(gx.real_at({0, 0, 2, 2}), 2 * 9 * 3);
  EXPECT_EQ(gx.real_at({0, 0, 2, 2}), without[0].real_at({0, 0, 2, 2}));
  Tensor gb(DType::f32, {2});
  expect_error(MOTE_INVALID, "conv2d.grad: output gb is not there with these inputs", [&] {
    run(command, {&gy, &x, &w}, {&gx, nullptr, &gb});
  });
}

}  // namespace
}  // namespace mote
