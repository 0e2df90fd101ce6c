// SPDX-License-Identifier: Apache-2.0
// Tests the catalogue itself: complete records, every instance a checked program, errors that help.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Catalogue, IsSortedByNameWithoutDuplicates) {
  std::vector<std::string> names;
  for (const OpRecord& record : catalogue()) names.push_back(record.name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Catalogue, HoldsTheFirstOps) {
  for (const char* name : {"gemm",
                           "matmul",
                           "conv2d",
                           "max_pool2d",
                           "softmax",
                           "layer_norm",
                           "add",
                           "exp",
                           "sum",
                           "mean",
                           "prod",
                           "reduce_max",
                           "reduce_min",
                           "argmax",
                           "transpose",
                           "logical_xor",
                           "attention",
                           "batch_norm_training",
                           "conv_transpose2d",
                           "cross_entropy",
                           "cast_bool",
                           "pad_reflect",
                           "adam",
                           "rope",
                           "max_pool2d_with_indices"}) {
    EXPECT_EQ(find_op(name).name, name);
  }
}

TEST(Catalogue, EveryRecordIsComplete) {
  const std::set<std::string> families = {"linear",   "elementwise", "normalise", "reduce",
                                          "spatial",  "index",       "loss",      "optimiser",
                                          "sequence", "random",      "quantised", "recurrent"};
  for (const OpRecord& record : catalogue()) {
    SCOPED_TRACE(record.name);
    EXPECT_TRUE(families.contains(record.family)) << record.family;
    EXPECT_FALSE(record.equation.empty());
    EXPECT_EQ((record.equation + record.policy + record.source).find('\n'), std::string::npos);
    EXPECT_FALSE(record.source.empty());
    EXPECT_FALSE(record.inputs.empty());
    EXPECT_FALSE(record.dtypes.empty());
    for (const ParamDecl& p : record.params) EXPECT_FALSE(p.meaning.empty()) << p.name;
  }
}

TEST(Catalogue, EveryInstanceIsACheckedProgram) {
  for (const OpRecord& record : catalogue()) {
    for (const Instance& instance : instances(record)) {
      SCOPED_TRACE(record.name + " " + std::string(name(instance.dtype)) + " " +
                   std::to_string(instance.input_mask));
      const auto program = instantiate(record, instance);
      EXPECT_EQ(program->name, record.name);
      EXPECT_EQ(program->equation, record.equation);
      EXPECT_EQ(std::popcount(instance.input_mask), std::ssize(program->inputs));
      bool has_dtype = false;
      for (const Uop& u : program->inputs) has_dtype |= u.dtype() == instance.dtype;
      for (const Output& o : program->outputs) has_dtype |= o.value.dtype() == instance.dtype;
      EXPECT_TRUE(has_dtype);
      EXPECT_FALSE(program->outputs.empty());
    }
  }
}

TEST(Catalogue, EveryInstancePrintsAsTextThatParsesBack) {
  for (const OpRecord& record : catalogue()) {
    for (const Instance& instance : instances(record)) {
      const auto program = instantiate(record, instance);
      EXPECT_TRUE(equal(parse_program(to_string(*program)), *program)) << to_string(*program);
    }
  }
}

TEST(Catalogue, InputsInPlaceHaveTheDtypeOfTheOutput) {
  for (const OpRecord& record : catalogue()) {
    const Instance full{record.dtypes.front(), full_mask(record)};
    const auto program = instantiate(record, full);
    for (const auto& [input, output] : record.in_place) {
      EXPECT_EQ(program->inputs.at(static_cast<std::size_t>(input)).dtype(),
                program->outputs.at(static_cast<std::size_t>(output)).value.dtype())
          << record.name;
    }
  }
}

TEST(Catalogue, InstancesAreDtypesTimesMasksOfOptionalInputs) {
  EXPECT_EQ(instances(find_op("gemm")).size(), 6U * 2U);
  EXPECT_EQ(instances(find_op("layer_norm")).size(), 4U * 4U);
  EXPECT_EQ(instances(find_op("transpose")).size(), 9U);
  EXPECT_EQ(full_mask(find_op("layer_norm")), 7U);
}

std::string name_of(std::size_t k) {
  return {'x', static_cast<char>('a' + k / 26), static_cast<char>('a' + k % 26)};
}

/// Returns the op y = the sum of all inputs, the last `optional` of which may be absent.
OpRecord sum_of(std::size_t count, std::size_t optional) {
  OpRecord record;
  record.name = "sum_of";
  record.dtypes = {DType::f32};
  for (std::size_t k = 0; k < count; ++k)
    record.inputs.push_back({name_of(k), k + optional >= count});
  record.define = [count](const Instance& instance) {
    ProgramSpec spec;
    Uop y;
    for (std::size_t k = 0; k < count; ++k) {
      if (!is_in(instance.input_mask, k)) continue;
      spec.inputs.push_back(input(name_of(k), DType::f32, {"N"}));
      y = y ? y + spec.inputs.back() : spec.inputs.back();
    }
    spec.outputs = {{"y", y}};
    return spec;
  };
  return record;
}

TEST(Catalogue, AnOpHasUpTo64Inputs) {
  const OpRecord wide = sum_of(64, 2);
  const std::vector<Instance> all = instances(wide);
  ASSERT_EQ(all.size(), 4U);
  std::set<std::ptrdiff_t> counts;
  for (const Instance& instance : all)
    counts.insert(std::ssize(instantiate(wide, instance)->inputs));
  EXPECT_EQ(counts, (std::set<std::ptrdiff_t>{62, 63, 64}));
  EXPECT_EQ(full_mask(wide), ~TensorMask{0});
  EXPECT_EQ(read_mask(wide, {DType::f32, full_mask(wide)}), ~TensorMask{0});
  EXPECT_THROW(instances(sum_of(65, 0)), Error);
  EXPECT_THROW(instantiate(sum_of(65, 0), {DType::f32, full_mask(wide)}), Error);
}

TEST(Catalogue, ManyOptionalInputsNeedAListOfChoices) {
  OpRecord many = sum_of(40, 20);
  EXPECT_THROW(instances(many), Error);
  many.masks = {first_masked(20), first_masked(40)};
  EXPECT_EQ(instances(many).size(), 2U);
  EXPECT_EQ(instances(sum_of(40, kMaxFreeInputs)).size(), 1U << kMaxFreeInputs);
}

TEST(Catalogue, GivesTheSameProgramForTheSameInstance) {
  const OpRecord& gemm = find_op("gemm");
  EXPECT_EQ(instantiate(gemm, {DType::f32, 7}), instantiate(gemm, {DType::f32, 7}));
  EXPECT_NE(instantiate(gemm, {DType::f32, 7}), instantiate(gemm, {DType::f32, 3}));
}

TEST(Catalogue, ARecordOfTheCallersIsNotTakenForTheOneOfThatName) {
  OpRecord mine = find_op("exp");
  mine.define = find_op("log").define;
  const Instance instance{DType::f64, 1};
  EXPECT_FALSE(equal(*instantiate(mine, instance), *instantiate(find_op("exp"), instance)));
}

TEST(Catalogue, AnInstanceHasOnlyTheParametersThatItUses) {
  const OpRecord& gemm = find_op("gemm");
  EXPECT_TRUE(find_param(*instantiate(gemm, {DType::f32, 7}), "beta"));
  EXPECT_FALSE(find_param(*instantiate(gemm, {DType::f32, 3}), "beta"));
  EXPECT_TRUE(find_param(*instantiate(gemm, {DType::f32, 3}), "alpha"));
}

TEST(Catalogue, ParametersThatAreValuesAreIntegersOverIntegers) {
  const OpRecord& gemm = find_op("gemm");
  EXPECT_FALSE(instantiate(gemm, {DType::f32, 7})->params.front().is_integer);
  EXPECT_TRUE(instantiate(gemm, {DType::i32, 7})->params.front().is_integer);
}

TEST(Catalogue, AnUnknownNameGetsItsNearMatches) {
  EXPECT_NE(error_of([] { find_op("sotfmax"); }).find("did you mean softmax?"), std::string::npos);
  EXPECT_NE(error_of([] { find_op("conv"); }).find("conv2d"), std::string::npos);
  EXPECT_EQ(error_of([] { find_op("frobnicate"); }),
            "unknown op 'frobnicate': `mote ops` lists the " + std::to_string(catalogue().size()) +
                " that there are");
}

TEST(Catalogue, AnInstanceThatTheOpDoesNotHaveIsAnError) {
  EXPECT_EQ(error_of([] {
              instantiate(find_op("softmax"), {DType::i32, 1});
            }),
            "op softmax: dtype i32 is not offered (known: f32, f64, f16, bf16)");
  EXPECT_EQ(error_of([] {
              instantiate(find_op("gemm"), {DType::f32, 5});
            }),
            "op gemm: input b cannot be left out");
  EXPECT_EQ(error_of([] {
              instantiate(find_op("gemm"), {DType::f32, 15});
            }),
            "op gemm: input mask 0xf names more than its 3 inputs");
}

TEST(Catalogue, ADefinitionThatIsMalformedSaysWhoseItIs) {
  OpRecord bad = find_op("add");
  bad.name = "bad";
  bad.define = [](const Instance& i) {
    ProgramSpec spec;
    spec.inputs = {input("x", i.dtype, {"N"})};
    spec.outputs = {{"y", reduce(ReduceOp::sum, spec.inputs[0], {3})}};
    return spec;
  };
  EXPECT_TRUE(error_of([&] { instantiate(bad, {DType::f32, 3}); }).starts_with("op bad: "));
}

}  // namespace
}  // namespace mote
