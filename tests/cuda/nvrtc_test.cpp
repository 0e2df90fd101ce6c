// What NVRTC makes of the catalogue's kernels, for sm_80 and sm_90: it compiles, spills nothing and
// keeps nothing in local memory but what CUDA's own sin, cos and tan keep there. The table of
// registers and the like is written to cuda_resources.txt beside the test.
#include "cuda/nvrtc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <thread>
#include <tuple>
#include <vector>

#include "cuda/groups.h"
#include "mote/base/error.h"

namespace mote::cuda {
namespace {

constexpr std::uint32_t kGroups = 48;

std::shared_ptr<const Nvrtc> nvrtc() {
  static std::string why;
  static const auto found = Nvrtc::find(why);
  if (found == nullptr) std::cerr << "NVRTC: " << why << "\n";
  return found;
}

class Compiling : public testing::TestWithParam<std::tuple<int, Variant>> {
 protected:
  void SetUp() override {
    if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
    const int architecture = std::get<int>(GetParam());
    if (!nvrtc()->knows(architecture))
      GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " does not know sm_" << architecture;
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// CUDA's own sin, cos and tan keep a table in local memory, for large arguments. How much at most
/// is asked of kernels that do nothing but call one of them.
int stack_of_trigonometry(int architecture) {
  static std::map<int, int> known;
  const auto [at, fresh] = known.try_emplace(architecture, 0);
  if (!fresh) return at->second;
  std::string text;
  for (const char* type : {"float", "double"})
    for (const char* function : {"sin", "cos", "tan"})
      text += fmt::format(
          "extern \"C\" __global__ void {0}_{1}({1}* y) {{ y[threadIdx.x] = "
          "{0}{2}(y[threadIdx.x]); }}\n",
          function, type, type == std::string_view("float") ? "f" : "");
  for (const auto& [kernel, resources] :
       resources_in(nvrtc()->compile(text, architecture, Effort::full).log))
    at->second = std::max(at->second, resources.stack);
  return at->second;
}

/// Whether the kernel's own text calls one of them.
bool calls_trigonometry(const std::string& text, const std::string& kernel) {
  const std::size_t begin = text.find("\n" + kernel + "(");
  if (begin == std::string::npos) return false;
  const std::string body = text.substr(begin, text.find("\n}\n", begin) - begin);
  static const std::regex call(R"(\b(sin|cos|tan)f?\()");
  return std::regex_search(body, call);
}

/// All groups where $MOTE_EXHAUSTIVE is set, else a few: the whole catalogue takes minutes.
std::uint32_t groups_to_compile() {
  return std::getenv("MOTE_EXHAUSTIVE") != nullptr ? kGroups : 2;
}

/// Of a kernel, or of one of CUDA's own functions, into the table; no spills, no local memory but
/// that of trigonometry.
void record(const std::string& function, const KernelResources& r, const std::string& text,
            int architecture, std::ostream& table) {
  table << fmt::format("{} registers {} shared {} stack {} spills {}+{}\n", function, r.registers,
                       r.shared, r.stack, r.spill_stores, r.spill_loads);
  EXPECT_EQ(r.spill_stores + r.spill_loads, 0) << function;
  if (r.stack == 0) return;
  const bool is_ours = text.find("\n" + function + "(") != std::string::npos;
  EXPECT_TRUE(!is_ours || calls_trigonometry(text, function))
      << function << ": " << r.stack << " bytes of local memory";
  EXPECT_LE(r.stack, stack_of_trigonometry(architecture)) << function;
}

std::string text_of(Variant variant) {
  return variant == Variant::gen ? "gen" : variant == Variant::tf32 ? "tf32" : "oracle";
}

/// The resources of a group's kernels, if it has any; the seconds that the compiler or its cache
/// took.
double compile_group(std::uint32_t group, Variant variant, int architecture,
                     std::map<std::string, KernelResources>& resources, std::string& text) {
  const GroupSource source = source_of_group(group, kGroups, variant);
  if (source.functions.empty()) return 0;
  const FileCache cache(std::filesystem::path(MOTE_CUDA_CACHE) / "nvrtc");
  const auto start = std::chrono::steady_clock::now();
  const Compiled made = nvrtc()->compile_cached(
      cache, key_of_group(group, kGroups, variant), architecture, effort_for(variant),
      [&] { return "#include \"mote_cuda.h\"\n" + source.text; });
  const double seconds = seconds_since(start);
  EXPECT_FALSE(made.cubin.empty());
  resources = resources_in(made.log);
  for (const std::string& function : source.functions)
    EXPECT_TRUE(resources.contains(function)) << function;
  text = source.text;
  return seconds;
}

TEST_P(Compiling, EveryKernelOfTheCatalogue) {
  const int architecture = std::get<0>(GetParam());
  const Variant variant = std::get<1>(GetParam());
  const std::string of = text_of(variant);
  const auto start = std::chrono::steady_clock::now();
  std::ofstream table(
      fmt::format("{}/cuda_resources_{}_sm_{}.txt", MOTE_CUDA_RESULTS, of, architecture));
  std::size_t kernels = 0;
  double compiling = 0;  // seconds of all threads
  std::mutex mutex;
  std::atomic<std::uint32_t> next = 0;
  const auto compile_groups = [&] {
    for (std::uint32_t group = next++; group < groups_to_compile(); group = next++) {
      std::map<std::string, KernelResources> resources;
      std::string text;
      double took = 0;
      try {
        took = compile_group(group, variant, architecture, resources, text);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what();
      }
      const std::lock_guard lock(mutex);
      kernels += resources.size();
      compiling += took;
      for (const auto& [function, r] : resources) record(function, r, text, architecture, table);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(compile_groups);
  }
  const double seconds = seconds_since(start);
  RecordProperty("seconds", fmt::format("{:.2f}", seconds));
  std::cout << fmt::format(
      "{}, sm_{}: {} kernels, {:.2f} s; NVRTC or its cache {:.2f} s, over all threads\n", of,
      architecture, kernels, seconds, compiling);
}

/// In every dtype in the variant gen, of f32 in the variant tf32: they keep tiles in registers and
/// in shared memory.
TEST_P(Compiling, KernelsOfTiles) {
  const auto [architecture, variant] = GetParam();
  std::string text;
  std::vector<std::string> functions;
  for (const char* op : {"matmul", "conv2d", "conv2d.grad", "attention"})
    for (const auto& instance : instances_of(op)) {
      if (!instance->has(variant)) continue;
      const std::size_t before = functions.size();
      for (const CudaKernel* k : all_kernels(instance->source(variant)))
        if (k->has_tiles()) {
          text += "\n" + k->text;
          functions.push_back(k->function);
        }
      EXPECT_EQ(functions.size() > before, variant != Variant::oracle) << instance->function();
    }
  if (functions.empty()) return;
  const std::string source = "#include \"mote_cuda.h\"\n" + cuda_helpers(text) + text;
  const FileCache cache(std::filesystem::path(MOTE_CUDA_CACHE) / "nvrtc");
  const Compiled made =
      nvrtc()->compile_cached(cache, source, architecture, Effort::full, [&] { return source; });
  const auto resources = resources_in(made.log);
  std::ofstream table(fmt::format("{}/cuda_resources_tiles{}_sm_{}.txt", MOTE_CUDA_RESULTS,
                                  variant == Variant::tf32 ? "_tf32" : "", architecture));
  for (const std::string& function : functions) {
    ASSERT_TRUE(resources.contains(function)) << function;
    record(function, resources.at(function), text, architecture, table);
    EXPECT_GT(resources.at(function).shared, 0) << function;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Compiling,
                         testing::Combine(testing::Values(80, 90),
                                          testing::Values(Variant::oracle, Variant::gen,
                                                          Variant::tf32)));

}  // namespace
}  // namespace mote::cuda

namespace mote::cuda {
namespace {

/// Of a kernel, and of another with a function that it calls, which is counted by itself: it stands
/// after any of the kernels that call it.
TEST(Resources, AreReadFromTheLogOfPtxas) {
  const auto all = resources_in(
      "ptxas info    : Compiling entry function 'f' for 'sm_90'\n"
      "ptxas info    : Function properties for f\n"
      "ptxas         .     24 bytes stack frame, 36 bytes spill stores, 52 bytes spill loads\n"
      "ptxas info    : Used 72 registers, used 1 barriers, 128 bytes smem\n"
      "ptxas info    : Compiling entry function 'g' for 'sm_90'\n"
      "ptxas info    : Function properties for g\n"
      "ptxas         .     40 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 26 registers, used 0 barriers, 56 bytes cumulative stack size\n"
      "ptxas info    : Function properties for callee\n"
      "ptxas         .     0 bytes stack frame, 16 bytes spill stores, 0 bytes spill loads\n");
  ASSERT_EQ(all.size(), 3U);
  const KernelResources& f = all.at("f");
  EXPECT_EQ(f.registers, 72);
  EXPECT_EQ(f.shared, 128);
  EXPECT_EQ(f.stack, 24);
  EXPECT_EQ(f.spill_stores, 36);
  EXPECT_EQ(f.spill_loads, 52);
  const KernelResources& g = all.at("g");
  EXPECT_EQ(g.registers, 26);
  EXPECT_EQ(g.stack, 56);
  EXPECT_EQ(g.spill_stores, 8);
  EXPECT_EQ(g.spill_loads, 4);
  EXPECT_EQ(all.at("callee").spill_stores, 16);
  EXPECT_EQ(all.at("callee").stack, 0);
}

TEST(Compilers, SayWhereASourceIsWrong) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
  try {
    nvrtc()->compile("__global__ void f() { wrong; }", 90, Effort::full);
    FAIL() << "compiled";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("\"wrong\" is undefined"), std::string::npos) << e.what();
  }
}

TEST(Compilers, ThatAreNotThereAreSaidToBe) {
  setenv("MOTE_NVRTC", "/nowhere/libnvrtc.so", 1);
  std::string why;
  EXPECT_EQ(Nvrtc::find(why), nullptr);
  EXPECT_NE(why.find("/nowhere/libnvrtc.so"), std::string::npos) << why;
  unsetenv("MOTE_NVRTC");
}

}  // namespace
}  // namespace mote::cuda
