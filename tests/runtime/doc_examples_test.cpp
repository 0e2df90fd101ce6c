// SPDX-License-Identifier: Apache-2.0
// Compiles the C++ of docs/runtime.md as a reader would copy it (doc_examples/runtime_<k>.inc), and
// compares that of docs/embedding.md with the source that tests/install builds.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "mote/runtime/bound_call.h"
#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/stream.h"

using mote::Tensor;

TEST(DocExamples, ARun) {
#include "doc_examples/runtime_0.inc"
  EXPECT_EQ(y.real_at({0, 0, 0, 0}), 1.0F / 3);
}

namespace mote {

TEST(DocExamples, ARegistration) {
#include "doc_examples/runtime_1.inc"
  EXPECT_EQ(cost.at(Registry::global().get("MyRelu")), 1);
}

TEST(DocExamples, APlan) {
#include "doc_examples/runtime_2.inc"
  EXPECT_EQ(to, (std::vector<float>{-1, -2, -3, -4}));
}

TEST(DocExamples, Streams) {
  Tensor x(DType::f32, {2, 3}), y(DType::f32, {2, 3}), z(DType::f32, {2, 3});
  fill(x, 2.0);
#include "doc_examples/runtime_3.inc"
  EXPECT_EQ(z.real_at({1, 2}), -4.0);
}

TEST(DocExamples, Backends) {
  Tensor a(DType::f32, {2, 3}), b(DType::f32, {3, 4}), y(DType::f32, {2, 4});
  fill(a, 2.0);
  fill(b, 5.0);
#include "doc_examples/runtime_4.inc"
  EXPECT_EQ(y.real_at({1, 3}), 30.0);
}

std::string read(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The page does not repeat the licence line at the start of the file.
TEST(DocExamples, AnOpOfOnesOwn) {
  const std::string licence = "// SPDX-License-Identifier: Apache-2.0\n";
  EXPECT_EQ(licence + read(MOTE_DOC_EXAMPLES "/embedding_0.inc"), read(MOTE_OWN_OPS));
}

}  // namespace mote
