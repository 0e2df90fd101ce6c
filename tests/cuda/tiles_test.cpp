// The kernels of tiles: they are launched where there are enough rows and columns, no order of
// threads changes what they write, and each of their barriers is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../support/call.h"
#include "buffer.h"
#include "call_frame.h"
#include "cuda/plan.h"
#include "cuda_host/host_library.h"
#include "mote/oracle/case.h"

namespace mote {
namespace {

using test::Tensor;

constexpr int kSeeds = 50;
constexpr const char* kBarrier = "__syncthreads();";

/// The first kernel that a call of one stage is launched with, on few blocks.
struct Subject {
  explicit Subject(test::Call& of) : call(of.get()) {
    backend::Check refusal;
    instance = cuda::find_instance(call, refusal);
    plan = std::make_unique<cuda::Plan>(call, *instance, cuda::Variant::gen, true, grid, refusal);
    if (refusal) throw std::runtime_error(refusal->text);
    for (const cuda::TensorView& view : plan->views()) data.push_back(view.data);
  }
  const CudaKernel& kernel() const { return *plan->launches(data, nullptr).at(0).kernel; }

  static constexpr cuda::Grid grid = {.most_blocks = 3};
  mote_call call;
  const cuda::OpInstance* instance = nullptr;
  std::unique_ptr<cuda::Plan> plan;
  std::vector<void*> data;
};

cuda_host::HostLibrary library_of(const std::string& function, const std::string& kernel) {
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  const std::string source = cuda_host::host_source({function}, cuda_helpers(kernel) + kernel);
  return cuda_host::compile_for_host(source, [&] { return source; });
}

shim::Run run(Subject& subject, const cuda_host::HostLibrary& library, Tensor& y,
              const shim::Options& options) {
  std::vector<cuda::Launch> launches = subject.plan->launches(subject.data, nullptr);
  cuda::Launch& launch = launches.at(0);
  std::int64_t count = 1;
  for (const std::int64_t extent : y.shape()) count *= extent;
  shim::Run out;
  out.output.resize(static_cast<std::size_t>(count) * sizeof(float));
  std::memset(y.data(), 0, out.output.size());
  out.error = cuda_host::run_launch(library, launch, options);
  std::memcpy(out.output.data(), y.data(), out.output.size());
  return out;
}

/// The text without its barrier number k, from 0; empty where there are fewer.
std::string without_barrier(std::string text, int k) {
  std::size_t at = text.find(kBarrier);
  for (; k > 0 && at != std::string::npos; --k) at = text.find(kBarrier, at + 1);
  if (at == std::string::npos) return "";
  return text.erase(at, std::strlen(kBarrier));
}

/// No race in the kernel; one in it without any of its barriers, whatever the seed.
void expect_needs_its_barriers(test::Call& call, Tensor& y, int barriers) {
  Subject subject(call);
  const CudaKernel& kernel = subject.kernel();
  ASSERT_TRUE(kernel.has_tiles()) << kernel.function;
  const auto seeds_with_race = [&](const std::string& text) {
    const cuda_host::HostLibrary library = library_of(kernel.function, text);
    const auto once = [&](const shim::Options& o) { return run(subject, library, y, o); };
    int found = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      found += shim::find_race(seed, once).empty() ? 0 : 1;
    return found;
  };
  EXPECT_EQ(seeds_with_race(kernel.text), 0);
  int k = 0;
  for (std::string less; !(less = without_barrier(kernel.text, k)).empty(); ++k)
    EXPECT_EQ(seeds_with_race(less), kSeeds) << "without barrier " << k;
  EXPECT_EQ(k, barriers);
}

TEST(CudaTiles, OfAMatmulNeedTheirBarriers) {
  Tensor a(DType::f32, {1, 1, 65, 33});
  Tensor b(DType::f32, {1, 1, 33, 66});
  Tensor y(DType::f32, {1, 1, 65, 66});
  test::Call call("matmul", {&a.fill_integers(1), &b.fill_integers(2)}, {&y});
  expect_needs_its_barriers(call, y, 4);
}

/// With tables of positions and a mask, in shared memory as well.
TEST(CudaTiles, OfAConvolutionNeedTheirBarriers) {
  Tensor x(DType::f32, {2, 3, 6, 7});
  Tensor w(DType::f32, {40, 3, 3, 3});
  Tensor y(DType::f32, {2, 40, 6, 7});
  test::Call call("conv2d", {&x.fill_integers(1), &w.fill_integers(2), nullptr}, {&y});
  call.integer("stride0", 1).integer("stride1", 1).integer("dilation0", 1).integer("dilation1", 1);
  for (const char* pad : {"pads0", "pads1", "pads2", "pads3", "groups"}) call.integer(pad, 1);
  expect_needs_its_barriers(call, y, 5);
}

std::string kernel_for(std::int64_t rows, std::int64_t columns) {
  Tensor a(DType::f32, {rows, 40});
  Tensor b(DType::f32, {40, columns});
  Tensor y(DType::f32, {rows, columns});
  test::Call call("matmul", {&a, &b}, {&y});
  return Subject(call).kernel().function;
}

TEST(CudaTiles, AreLaunchedForEnoughRowsAndColumns) {
  EXPECT_EQ(kernel_for(32, 32), "mote_matmul_f32_tiles");
  EXPECT_EQ(kernel_for(31, 500), "mote_matmul_f32");
  EXPECT_EQ(kernel_for(500, 31), "mote_matmul_f32");
}

/// A gradient's stages each: of the input, of the weights.
TEST(CudaTiles, AreLaunchedForEachStage) {
  Tensor gy(DType::f32, {1, 40, 9, 9});
  Tensor x(DType::f32, {1, 40, 9, 9});
  Tensor w(DType::f32, {40, 40, 3, 3});
  Tensor gx(DType::f32, {1, 40, 9, 9});
  Tensor gw(DType::f32, {40, 40, 3, 3});
  test::Call call("conv2d.grad", {&gy, &x, &w, nullptr}, {&gx, &gw});
  call.integer("stride0", 1).integer("stride1", 1).integer("dilation0", 1).integer("dilation1", 1);
  for (const char* pad : {"pads0", "pads1", "pads2", "pads3", "groups"}) call.integer(pad, 1);
  const Subject subject(call);
  std::vector<bool> tiles;
  for (const cuda::Launch& l : subject.plan->launches(subject.data, nullptr))
    tiles.push_back(l.kernel->has_tiles());
  EXPECT_EQ(tiles, (std::vector<bool>{true, true}));
}

/// Whether a kernel of tiles is among those that the call of the case launches on the shim's grid.
bool takes_tiles(const Case& c) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto tensor = [&](const CaseTensor& t, Role role) -> DLTensor* {
    if (t.left_out) return nullptr;
    return buffers.emplace_back(std::make_unique<Buffer>(t, role))->tensor();
  };
  std::vector<DLTensor*> in, out;
  for (const CaseTensor& t : c.inputs) in.push_back(tensor(t, Role::input));
  for (const CaseTensor& t : c.outputs) out.push_back(tensor(t, Role::output));
  const CallFrame frame(c, in, out);
  backend::Check refusal;
  const cuda::OpInstance* const instance = cuda::find_instance(frame.call(), refusal);
  if (refusal) throw std::runtime_error(refusal->text);
  const cuda::Plan plan(frame.call(), *instance, cuda::Variant::gen, true, cuda_host::kGrid,
                        refusal);
  if (refusal) throw std::runtime_error(refusal->text);
  std::vector<void*> data;
  for (const cuda::TensorView& view : plan.views()) data.push_back(view.data);
  return std::ranges::any_of(plan.launches(data, nullptr),
                             [](const cuda::Launch& l) { return l.kernel->has_tiles(); });
}

TEST(CudaTiles, ComputeEveryCaseOfTheirList) {
  std::ifstream file(MOTE_TILES_CASES);
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    EXPECT_TRUE(takes_tiles(parse_case(line))) << line;
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace mote
