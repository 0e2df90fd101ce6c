// SPDX-License-Identifier: Apache-2.0
// Tests what the kernels of random programs are called with: sizes around the tiles of a schedule,
// and memory of which nothing outside of the elements can be read unseen.
#include "tile_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "tensor_memory.h"

namespace mote::test {
namespace {

Program product() {
  return parse_program(
      "op product\ninput x f32[A, C]\ninput y f32[C, B]\n"
      "output z = sum[2](x[i0, i2 over A, B, C]*y[i2, i1 over A, B, C])");
}

TEST(TileTrials, LieAroundEachTile) {
  const LoopProgram loops = compile(std::make_shared<const Program>(product()));
  const ScheduleOptions options;
  const Schedule all = schedule(loops, options);
  std::map<std::string, std::set<std::int64_t>> drawn;
  for (const Trial& t : tile_trials(loops, all, options, 1, 2000, 60000)) {
    for (const auto& [name, size] : t.sizes) drawn[name].insert(size);
    const std::int64_t a = t.sizes.at("A"), b = t.sizes.at("B"), c = t.sizes.at("C");
    EXPECT_LE(a * b * c, 60000) << to_string(t);
  }
  for (const RegisterShape& shape : options.shapes) {
    const std::int64_t width = shape.vectors * shape.vector_bytes / 4;
    for (const std::int64_t around : {-1, 0, 1})
      for (const std::int64_t tiles : {1, 2, 3}) {
        EXPECT_TRUE(drawn["A"].contains(tiles * shape.rows + around)) << shape.rows;
        EXPECT_TRUE(drawn["B"].contains(tiles * width + around)) << width;
      }
  }
  EXPECT_TRUE(drawn["A"].contains(0) && drawn["A"].contains(1));
  EXPECT_TRUE(drawn["B"].contains(0) && drawn["B"].contains(1));
}

/// Strides, and what is left of a program that is made smaller, do not have the axis of extent 0.
TEST(TileTrials, AreNotLargeBesideAnExtentOfZero) {
  const Program products = parse_program(
      "op products\ninput x f32[A, B, C]\ninput y f32[A, C, D]\n"
      "output z = sum[3](x[i0, i1, i3 over A, B, D, C]*y[i0, i3, i2 over A, B, D, C])");
  const LoopProgram loops = compile(std::make_shared<const Program>(products));
  const ScheduleOptions options;
  int empty = 0;
  for (const Trial& t : tile_trials(loops, schedule(loops, options), options, 1, 1000, 60000)) {
    std::int64_t count = 1;
    for (const auto& [name, size] : t.sizes) count *= std::max<std::int64_t>(size, 1);
    EXPECT_LE(count, 60000) << to_string(t);
    empty += t.sizes.at("A") == 0 ? 1 : 0;
  }
  EXPECT_GT(empty, 0);
}

/// Calls the kernel on memory of that seed.
void call_with(std::uint64_t seed, const std::function<void(const mote_call&)>& kernel) {
  const Program p = parse_program("op copy\ninput x f32[A, B]\noutput y = x");
  Trial t;
  t.sizes = {{"A", 3}, {"B", 5}};
  t.seed = seed;
  (void)run_on_memory(p, make_inputs(p, t), t, [&](const mote_call& call) {
    kernel(call);
    return MOTE_OK;
  });
}

/// Returns an element of the tensor, or what lies outside of it.
volatile float* element(const DLTensor& t, std::int64_t i, std::int64_t j) {
  auto* first = static_cast<char*>(t.data) + t.byte_offset;
  return reinterpret_cast<volatile float*>(first) + i * t.strides[0] + j * t.strides[1];
}

bool is_dense(const DLTensor& t) { return t.strides[0] == t.shape[1] && t.strides[1] == 1; }

TEST(TensorMemory, HasEveryLayout) {
  std::map<std::string, int> found;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    call_with(seed, [&](const mote_call& call) {
      const DLTensor& x = *call.inputs[0];
      found["all dense"] += is_dense(x) && is_dense(*call.outputs[0]);
      found["permuted"] += x.strides[0] == 1 && x.strides[1] == x.shape[0];
      found["gaps"] += x.strides[1] > 1 && x.strides[0] > x.shape[1];
      found["negative"] += x.strides[0] < 0 || x.strides[1] < 0;
      found["repeated"] += x.strides[0] == 0 || x.strides[1] == 0;
      found["unaligned"] += reinterpret_cast<std::uintptr_t>(element(x, 0, 0)) % 8 != 0;
    });
  for (const char* layout : {"all dense", "permuted", "gaps", "negative", "repeated", "unaligned"})
    EXPECT_GT(found[layout], 0) << layout;
}

/// Reads one element outside of a dense input or output, on memory of several seeds.
void read_outside(bool of_input, std::int64_t i, std::int64_t j) {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    call_with(seed, [&](const mote_call& call) {
      const DLTensor& t = of_input ? *call.inputs[0] : *call.outputs[0];
      if (is_dense(t)) (void)*element(t, i, j);
    });
}

TEST(TensorMemoryDeathTest, ClosesWhatLiesAroundATensor) {
  EXPECT_DEATH(read_outside(true, 2, 5), "");
  EXPECT_DEATH(read_outside(true, 0, -1), "");
  EXPECT_DEATH(read_outside(false, 2, 5), "");
}

TEST(TensorMemory, SaysThatAnInputIsWritten) {
  EXPECT_THROW(call_with(1,
                         [](const mote_call& call) {
                           volatile float* first = element(*call.inputs[0], 0, 0);
                           *first = *first + 1;
                         }),
               Error);
}

}  // namespace
}  // namespace mote::test
