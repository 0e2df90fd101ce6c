// SPDX-License-Identifier: Apache-2.0
// Tests tensors, files and the registry with null, wrong ranks, wrong dtypes, negative sizes and
// sizes beyond all memory.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "mote/npz/npz.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/file.h"
#include "mote/runtime/npy.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tensor.h"
#include "runtime/faults/misuse.h"

namespace mote {
namespace {

using test::expect_refused;
using test::kGreatestMagnitude;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
const auto kNoDType = static_cast<DType>(99);

TEST(Misuse, Construction) {
  const std::vector<std::int64_t> many(13, 1);
  const auto no_layout = static_cast<Layout>(9);
  float element = 0;
  expect_refused({
      {"13 axes", [&] { (void)Tensor(DType::f32, many); }},
      {"negative",
       [] {
         (void)Tensor(DType::f32, {2, -1});
       }},
      {"least", [] { (void)Tensor(DType::f32, {kLeast}); }},
      {"overflow",
       [] {
         (void)Tensor(DType::f32, {kGreatestMagnitude, 2});
       }},
      {"overflow in bytes", [] { (void)Tensor(DType::f64, {kGreatestMagnitude / 4}); }},
      {"overflow next to 0",
       [] {
         (void)Tensor(DType::u8, {0, kGreatestMagnitude, kGreatestMagnitude});
       }},
      {"no memory", [] { (void)Tensor(DType::u8, {kGreatestMagnitude}); }, MOTE_OUT_OF_MEMORY},
      {"nearly all", [] { (void)Tensor(DType::u8, {kGreatestMagnitude / 2}); }, MOTE_OUT_OF_MEMORY},
      {"dtype", [] { (void)Tensor(kNoDType, {2}); }},
      {"layout",
       [&] {
         (void)Tensor(DType::f32, {1, 2, 3, 4}, no_layout);
       }},
      {"layout of 3 axes",
       [] {
         (void)Tensor(DType::f32, {2, 3, 4}, Layout::nhwc);
       }},
      {"layout, negative",
       [] {
         (void)Tensor(DType::f32, {1, -2, 3, 4}, Layout::chwn);
       }},
      {"no allocator", [] { (void)Tensor(DType::f32, {2}, Allocator{}); }},
      {"over: strides",
       [&] {
         (void)Tensor::over(&element, DType::f32, {2, 3}, {1});
       }},
      {"over: span", [&] { (void)Tensor::over(&element, DType::f32, {3}, {kGreatestMagnitude}); }},
      {"over: down", [&] { (void)Tensor::over(&element, DType::f32, {3}, {kLeast}); }},
      {"over: repeats",
       [&] {
         (void)Tensor::over(&element, DType::f32, {kGreatestMagnitude, 9}, {0, 0});
       }},
      {"over: negative", [&] { (void)Tensor::over(&element, DType::f32, {-3}); }},
      {"over: dtype", [&] { (void)Tensor::over(&element, kNoDType, {}); }},
      {"over: device",
       [&] {
         (void)Tensor::over(&element, DType::f32, {1}, {1}, {kDLCPU, -1});
       }},
      {"over: far device",
       [&] {
         (void)Tensor::over(&element, DType::f32, {1}, {1}, {kDLCPU, 1 << 20});
       }},
      {"default allocator", [] { set_default_allocator({}); }},
      {"span: dtype", [] { (void)checked_span(kNoDType, {1}, {1}); }},
      {"strides: dtype", [] { (void)checked_strides(kNoDType, {1}); }},
  });
}

TEST(Misuse, Views) {
  const Tensor x(DType::f32, {2, 3});
  fill(x, 0.0);
  const std::vector<std::int64_t> many(12, 1);
  expect_refused({
      {"extent", [&] { (void)x.extent(2); }},
      {"extent before", [&] { (void)x.extent(-1); }},
      {"stride", [&] { (void)x.stride(std::numeric_limits<int>::max()); }},
      {"slice: axis", [&] { (void)x.slice(2, 0, 1); }},
      {"slice: begin", [&] { (void)x.slice(0, -1, 1); }},
      {"slice: count", [&] { (void)x.slice(0, 0, 3); }},
      {"slice: negative count", [&] { (void)x.slice(0, 0, -1); }},
      {"slice: all",
       [&] { (void)x.slice(0, kGreatestMagnitude, kGreatestMagnitude, kGreatestMagnitude); }},
      {"slice: least", [&] { (void)x.slice(0, 1, 2, kLeast); }},
      {"slice: no step", [&] { (void)x.slice(0, 0, 1, 0); }},
      {"select", [&] { (void)x.select(0, 2); }},
      {"select before", [&] { (void)x.select(1, kLeast); }},
      {"permute: rank", [&] { (void)x.permute({0}); }},
      {"permute: twice",
       [&] {
         (void)x.permute({1, 1});
       }},
      {"permute: beyond",
       [&] {
         (void)x.permute({0, kGreatestMagnitude});
       }},
      {"permute: negative",
       [&] {
         (void)x.permute({kLeast, 0});
       }},
      {"broadcast: rank", [&] { (void)x.broadcast_to({3}); }},
      {"broadcast: extent",
       [&] {
         (void)x.broadcast_to({4, 2, 4});
       }},
      {"broadcast: negative",
       [&] {
         (void)x.broadcast_to({-1, 2, 3});
       }},
      {"broadcast: overflow",
       [&] {
         (void)x.broadcast_to({kGreatestMagnitude, 2, 3});
       }},
      {"reshape: count", [&] { (void)x.reshape({7}); }},
      {"reshape: negative",
       [&] {
         (void)x.reshape({-2, -3});
       }},
      {"reshape: overflow",
       [&] {
         (void)x.reshape({kGreatestMagnitude, kGreatestMagnitude});
       }},
      {"reshape: a copy",
       [&] {
         (void)x.permute({1, 0}).reshape({6});
       }},
      {"axes", [&] { AxisList(many).push_back(1); }},
  });
}

TEST(Misuse, Elements) {
  const Tensor x(DType::f32, {2, 3});
  fill(x, 0.0);
  const Tensor nowhere = Tensor::over(nullptr, DType::f32, {2, 3});
  const Tensor repeated = x.select(0, 0).broadcast_to({2, 3});
  float element = 0;
  const Tensor elsewhere = Tensor::over(&element, DType::f32, {1}, {1}, {kDLCUDA, 0});
  expect_refused({
      {"index",
       [&] {
         (void)x.real_at({2, 0});
       }},
      {"index before",
       [&] {
         (void)x.integer_at({0, -1});
       }},
      {"rank of the index", [&] { (void)x.real_at({0}); }},
      {"rank of the index of set",
       [&] {
         x.set({0, 0, 0}, 1.0);
       }},
      {"far index",
       [&] {
         x.set({kGreatestMagnitude, kLeast}, 1);
       }},
      {"no data",
       [&] {
         (void)nowhere.real_at({0, 0});
       }},
      {"no data to set",
       [&] {
         nowhere.set({0, 0}, 1.0);
       }},
      {"no data to fill", [&] { fill(nowhere, 1.0); }},
      {"no data to fill with an integer", [&] { fill(nowhere, std::int64_t{1}); }},
      {"no data to copy", [&] { copy(nowhere, x); }},
      {"no data to copy to", [&] { copy(x, nowhere); }},
      {"no data to clone", [&] { (void)clone(nowhere); }},
      {"elsewhere", [&] { fill(elsewhere, 1.0); }, MOTE_UNSUPPORTED},
      {"from elsewhere", [&] { copy(elsewhere, x); }, MOTE_UNSUPPORTED},
      {"to elements that repeat", [&] { copy(x, repeated); }},
      {"fill of elements that repeat", [&] { fill(repeated, 1.0); }},
      {"copy: shape",
       [&] {
         copy(x, x.permute({1, 0}));
       }},
      {"clone: allocator", [&] { (void)clone(x, Allocator{}); }},
      {"image", [&] { (void)as_image(x); }},
  });
}

TEST(Misuse, OtherPeoplesMemory) {
  std::array<float, 6> data{};
  std::array<std::int64_t, 2> shape = {2, 3};
  const auto given = [&](const auto& change) {
    DLManagedTensor managed = {};
    managed.dl_tensor = {.data = data.data(),
                         .device = {kDLCPU, 0},
                         .ndim = 2,
                         .dtype = {kDLFloat, 32, 1},
                         .shape = shape.data(),
                         .strides = nullptr,
                         .byte_offset = 0};
    change(managed.dl_tensor);
    (void)import_dlpack(&managed);
  };
  std::array<std::int64_t, 2> far = {kGreatestMagnitude, 1};
  std::array<std::int64_t, 2> negative = {-2, 3};
  mote_image image = {};
  expect_refused({
      {"null", [] { (void)import_dlpack(nullptr); }},
      {"rank", [&] { given([](DLTensor& t) { t.ndim = -1; }); }},
      {"much rank", [&] { given([](DLTensor& t) { t.ndim = 1 << 30; }); }},
      {"shape", [&] { given([](DLTensor& t) { t.shape = nullptr; }); }},
      {"negative shape", [&] { given([&](DLTensor& t) { t.shape = negative.data(); }); }},
      {"far shape", [&] { given([&](DLTensor& t) { t.shape = far.data(); }); }},
      {"far strides", [&] { given([&](DLTensor& t) { t.strides = far.data(); }); }},
      {"dtype", [&] { given([](DLTensor& t) {
                        t.dtype = {7, 32, 1};
                      }); }},
      {"bits", [&] { given([](DLTensor& t) { t.dtype.bits = 33; }); }},
      {"lanes", [&] { given([](DLTensor& t) { t.dtype.lanes = 4; }); }},
      {"data", [&] { given([](DLTensor& t) { t.data = nullptr; }); }},
      {"alignment", [&] { given([](DLTensor& t) { t.byte_offset = 1; }); }},
      {"offset", [&] { given([](DLTensor& t) { t.byte_offset = ~std::uint64_t{3}; }); }},
      {"device", [&] { given([](DLTensor& t) { t.device.device_id = -7; }); }},
      {"export: allocator", [] { (void)export_dlpack(Tensor(), Allocator{}); }},
      {"image: step",
       [&] { set_image(image, data.data(), DType::u8, 3, 4, 5, kGreatestMagnitude); }},
      {"image: rows", [&] { set_image(image, data.data(), DType::u8, -3, 4, 5, 20); }},
      {"image: dtype", [&] { set_image(image, data.data(), kNoDType, 3, 4, 5, 20); }},
      {"image of nothing", [&] { (void)as_tensor(image); }},
  });
}

TEST(Misuse, Files) {
  const Tensor nowhere = Tensor::over(nullptr, DType::f32, {2});
  const std::string none = "/nowhere/to/be/found";
  const std::string folder = testing::TempDir();
  const std::vector<std::byte> junk(100, std::byte{0x7F});
  const std::string long_name(300, 'x');
  expect_refused({
      {"npy: nothing", [] { (void)parse_npy({}); }},
      {"npy: junk", [&] { (void)parse_npy(junk); }},
      {"npy: no data", [&] { (void)to_npy(nowhere); }},
      {"npy: no file", [&] { (void)read_npy(none); }, MOTE_FAILED},
      {"npy: a folder", [&] { (void)read_npy(folder); }, MOTE_FAILED},
      {"npy: empty path", [] { (void)read_npy(""); }, MOTE_FAILED},
      {"npy: nowhere", [&] { write_npy(none, Tensor()); }, MOTE_FAILED},
      {"npz: nothing", [] { (void)parse_npz({}); }},
      {"npz: junk", [&] { (void)parse_npz(junk); }},
      {"npz: no data",
       [&] {
         (void)to_npz({{"x", nowhere}}, Compression::stored);
       }},
      {"npz: no name",
       [] {
         (void)to_npz({{"", Tensor()}}, Compression::stored);
       }},
      {"npz: long name",
       [&] {
         (void)to_npz({{long_name, Tensor()}}, Compression::stored);
       }},
      {"npz: out",
       [] {
         (void)to_npz({{"../x", Tensor()}}, Compression::stored);
       }},
      {"npz: no file", [&] { (void)read_npz(none); }, MOTE_FAILED},
      {"npz: nowhere", [&] { write_npz(none, {}); }, MOTE_FAILED},
      {"no file", [&] { (void)read_file(none); }, MOTE_FAILED},
      {"write nowhere", [&] { write_file(none, junk); }, MOTE_FAILED},
  });
}

TEST(Misuse, RegistryOfOps) {
  Registry registry;
  const OpId op = registry.add("op");
  registry.alias(op, "alias");
  constexpr OpAttribute<int> kCost{"cost"};
  constexpr OpAttribute<int> kWeight{"weight"};
  registry.set(op, kCost, 1);
  registry.set_group("group", kWeight, 1);
  const OpId none = std::numeric_limits<OpId>::max();
  const Column<int> cost = registry.column(kCost);
  const std::string far(100000, 'x');
  expect_refused({
      {"no name", [&] { registry.add(""); }},
      {"an alias", [&] { registry.add("alias"); }},
      {"get", [&] { (void)registry.get(""); }},
      {"get far", [&] { (void)registry.get(far); }},
      {"name", [&] { (void)registry.name(none); }},
      {"aliases", [&] { (void)registry.aliases(none); }},
      {"alias of none", [&] { registry.alias(none, "a"); }},
      {"alias without a name", [&] { registry.alias(op, ""); }},
      {"include", [&] { registry.include(none, "group"); }},
      {"set", [&] { registry.set(none, kCost, 1); }},
      {"set nothing", [&] { registry.set(op, OpAttribute<int>{""}, 1); }},
      {"set twice", [&] { registry.set(op, kCost, 1); }},
      {"another type", [&] { registry.set(op, OpAttribute<double>{"cost"}, 1); }},
      {"a group twice", [&] { registry.set_group("group", kWeight, 2); }},
      {"a group's type",
       [&] { registry.set_group("group", OpAttribute<double>{"weight"}, 2, 11); }},
      {"a column's type", [&] { (void)registry.column(OpAttribute<double>{"cost"}); }},
      {"is_set", [&] { (void)registry.is_set(none, kCost); }},
      {"attribute", [&] { (void)registry.column(kWeight).at(op); }},
      {"attribute of none", [&] { (void)cost.at(none); }},
  });
  EXPECT_EQ(cost.find(none), nullptr);
  registry.include(op, "group");  // the refused call has left no trace
  EXPECT_EQ(registry.column(kWeight).at(op), 1);
}

/// Registers a library of one op, y = op(x), which `change` makes invalid.
template <typename Change>
void register_spoilt(const Change& change) {
  static const char* const axes[] = {"N", "M"};
  mote_op_tensor x = {.name = "x",
                      .dtype = "T",
                      .optional = 0,
                      .rank = 2,
                      .axes = axes,
                      .broadcast = 0,
                      .batch = 0,
                      .programs = nullptr};
  mote_op_tensor y = x;
  mote_op_pair pair = {0, 0};
  mote_op_definition op = {.name = "spoilt",
                           .family = "some",
                           .equation = "",
                           .policy = "",
                           .source = "",
                           .input_count = 1,
                           .output_count = 1,
                           .param_count = 0,
                           .pair_count = 1,
                           .inputs = &x,
                           .outputs = &y,
                           .params = nullptr,
                           .in_place = &pair};
  mote_generated_kernel kernel = mote_generated_kernels[0];
  mote_kernel_library library = {.name = "library",
                                 .kernels = &kernel,
                                 .kernel_count = 1,
                                 .op_count = 1,
                                 .ops = &op,
                                 .gradients = nullptr,
                                 .gradient_count = 0};
  change(library, op, x, pair, kernel);
  Registry registry;
  register_library(library, registry);
}

TEST(Misuse, LibrariesOfKernels) {
  using Library = mote_kernel_library;
  using Op = mote_op_definition;
  using T = mote_op_tensor;
  using Pair = mote_op_pair;
  using Kernel = mote_generated_kernel;
  static const char* const no_text[] = {"N", nullptr};
  static const char* const formula[] = {"N", "2*N"};
  static const mote_size_step nothing[] = {{MOTE_SIZE_END, nullptr, 0}};
  static const mote_size_step* const programs[] = {nullptr, nothing};
  const auto spoil = [](auto change) { return [change] { register_spoilt(change); }; };
  register_spoilt([](Library&, Op&, T&, Pair&, Kernel&) {});
  expect_refused({
      {"name", spoil([](Library& l, Op&, T&, Pair&, Kernel&) { l.name = nullptr; })},
      {"ops", spoil([](Library& l, Op&, T&, Pair&, Kernel&) { l.ops = nullptr; })},
      {"op count", spoil([](Library& l, Op&, T&, Pair&, Kernel&) { l.op_count = -1; })},
      {"kernels", spoil([](Library& l, Op&, T&, Pair&, Kernel&) { l.kernels = nullptr; })},
      {"gradients", spoil([](Library& l, Op&, T&, Pair&, Kernel&) { l.gradient_count = 3; })},
      {"op name", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.name = nullptr; })},
      {"no op name", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.name = ""; })},
      {"family", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.family = nullptr; })},
      {"inputs", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.inputs = nullptr; })},
      {"outputs", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.output_count = -2; })},
      {"parameters", spoil([](Library&, Op& op, T&, Pair&, Kernel&) { op.param_count = 1; })},
      {"tensor", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.name = nullptr; })},
      {"dtype", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.dtype = "f7"; })},
      {"no dtype", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.dtype = nullptr; })},
      {"rank", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.rank = 13; })},
      {"negative rank", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.rank = -1; })},
      {"axes", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.axes = nullptr; })},
      {"an axis", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.axes = no_text; })},
      {"a formula", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.axes = formula; })},
      {"a program", spoil([](Library&, Op&, T& x, Pair&, Kernel&) { x.programs = programs; })},
      {"pair", spoil([](Library&, Op&, T&, Pair& pair, Kernel&) { pair.input = 1; })},
      {"kernel's op", spoil([](Library&, Op&, T&, Pair&, Kernel& k) { k.op = nullptr; })},
      {"kernel's dtype", spoil([](Library&, Op&, T&, Pair&, Kernel& k) { k.dtype = "T"; })},
      {"kernel's run", spoil([](Library&, Op&, T&, Pair&, Kernel& k) { k.kernel.run = nullptr; })},
      {"contract", spoil([](Library&, Op&, T&, Pair&, Kernel& k) { k.kernel.contract = nullptr; })},
  });
}

}  // namespace
}  // namespace mote
