// SPDX-License-Identifier: Apache-2.0
// Tests NVRTC on the catalogue's kernels for sm_80 and sm_90: all compile, without spills and
// without local memory except for CUDA's own sin, cos and tan. The resources of each kernel are
// recorded in resources/*.txt; kernels that are not recorded are compiled.
#include "cuda/nvrtc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/groups.h"
#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"
#include "resource_table.h"

namespace mote::cuda {
namespace {

constexpr std::uint32_t kGroups = 48;
const std::string kInclude = "#include \"mote_cuda.h\"\n";

std::shared_ptr<const Nvrtc> nvrtc() {
  static std::string why;
  static const auto found = Nvrtc::find(why);
  if (found == nullptr) std::cerr << "NVRTC: " << why << "\n";
  return found;
}

bool knows(int architecture) {
  const std::vector<int> all = nvrtc()->architectures();
  return std::ranges::find(all, architecture) != all.end();
}

class Compiling : public testing::TestWithParam<std::tuple<int, Variant>> {
 protected:
  void SetUp() override {
    if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
    const int architecture = std::get<int>(GetParam());
    if (!knows(architecture))
      GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " does not know sm_" << architecture;
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// CUDA's own sin, cos and tan keep a table in local memory for large arguments. Returns the
/// maximum size in kernels that only call one of them.
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
       resources_in(nvrtc()->compile(text, {architecture}, Effort::full).log))
    at->second = std::max(at->second, resources.stack);
  return at->second;
}

/// True if the kernel's own text calls one of them.
bool calls_trigonometry(const std::string& text, const std::string& kernel) {
  const std::size_t begin = text.find("\n" + kernel + "(");
  if (begin == std::string::npos) return false;
  const std::string body = text.substr(begin, text.find("\n}\n", begin) - begin);
  static const std::regex call(R"(\b(sin|cos|tan)f?\()");
  return std::regex_search(body, call);
}

/// Returns all groups if $MOTE_EXHAUSTIVE is set, else a few, since the whole catalogue takes
/// minutes.
std::uint32_t groups_to_compile() {
  return std::getenv("MOTE_EXHAUSTIVE") != nullptr ? kGroups : 2;
}

bool updates() { return std::getenv("MOTE_UPDATE_GOLDEN") != nullptr; }

/// Expects that a kernel, or one of CUDA's own functions, has no spills, and no local memory except
/// that of trigonometry.
void expect_lean(const std::string& function, const KernelResources& r, const std::string& text,
                 int architecture) {
  EXPECT_EQ(r.spill_stores + r.spill_loads, 0) << function << " for sm_" << architecture;
  if (r.stack == 0) return;
  const bool is_ours = text.find("\n" + function + "(") != std::string::npos;
  EXPECT_TRUE(!is_ours || calls_trigonometry(text, function))
      << function << ": " << r.stack << " bytes of local memory for sm_" << architecture;
  EXPECT_LE(r.stack, stack_of_trigonometry(architecture)) << function;
}

/// Runs the work for each number below the count, with a thread for each core.
template <typename Work>
void in_threads(std::uint32_t count, const Work& work) {
  std::atomic<std::uint32_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::uint32_t k = next++; k < count; k = next++) work(k);
    });
}

/// Returns the description of the compiler for a table made here.
std::string description_for(Variant variant) {
  return nvrtc()->description({kArchitectures[0]}, effort_for(variant));
}

/// Expects the recorded resources of compiled kernels, if the table comes from this NVRTC.
void expect_as_recorded(const ResourceTable& table,
                        const std::map<std::string, KernelResources>& resources, Variant variant,
                        int architecture) {
  if (updates() || table.made_by != description_for(variant)) return;
  for (const auto& [function, r] : resources) {
    const auto known = table.kernels.find(function);
    if (known == table.kernels.end()) continue;  // a function of CUDA's own
    const KernelResources& was = known->second.resources.at(architecture);
    EXPECT_EQ(fmt::format("{} {} {}", r.registers, r.shared, r.stack),
              fmt::format("{} {} {}", was.registers, was.shared, was.stack))
        << function << " for sm_" << architecture << ": registers, shared memory, stack";
  }
}

FileCache cache() { return FileCache(std::filesystem::path(MOTE_CUDA_CACHE) / "nvrtc"); }

/// Compiles groups as a backend does: from the key of a group, so that a warm cache needs no text.
TEST_P(Compiling, GroupsOfTheCatalogue) {
  const auto [architecture, variant] = GetParam();
  const ResourceTable table = read_table(table_path(variant));
  std::size_t kernels = 0;
  double compiling = 0;  // in seconds, summed over all threads
  std::mutex mutex;
  generated_ops();  // the gradients are derived here once, outside of the measured time
  const auto start = std::chrono::steady_clock::now();
  in_threads(groups_to_compile(), [&, architecture = architecture,
                                   variant = variant](std::uint32_t group) {
    try {
      const auto begin = std::chrono::steady_clock::now();
      const Compiled made = nvrtc()->compile_cached(
          cache(), key_of_group(group, kGroups, variant), {architecture}, effort_for(variant),
          [&] { return kInclude + source_of_group(group, kGroups, variant).text; });
      const double seconds = seconds_since(begin);
      const GroupSource source = source_of_group(group, kGroups, variant);
      const std::lock_guard lock(mutex);
      compiling += seconds;
      const auto resources = resources_in(made.log);
      kernels += resources.size();
      EXPECT_FALSE(made.code.empty());
      for (const std::string& function : source.functions)
        EXPECT_TRUE(resources.contains(function)) << function;
      for (const auto& [function, r] : resources)
        expect_lean(function, r, source.text, architecture);
      expect_as_recorded(table, resources, variant, architecture);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  });
  const double seconds = seconds_since(start);
  RecordProperty("seconds", fmt::format("{:.2f}", seconds));
  std::cout << fmt::format(
      "{}, sm_{}: {} kernels, {:.2f} s; NVRTC or its cache {:.2f} s, over all threads\n",
      text_of(variant), architecture, kernels, seconds, compiling);
}

/// Compiles the kernels in batches, and records their resources in the table.
void compile_into(ResourceTable& table, const std::vector<KernelText>& kernels, Variant variant,
                  int architecture) {
  constexpr std::size_t kBatch = 64;
  std::mutex mutex;
  in_threads(static_cast<std::uint32_t>((kernels.size() + kBatch - 1) / kBatch),
             [&](std::uint32_t batch) {
               const std::size_t begin = batch * kBatch;
               const std::size_t end = std::min(begin + kBatch, kernels.size());
               std::string text;
               std::set<std::string> helpers;
               for (std::size_t k = begin; k < end; ++k) {
                 text += "\n" + kernels[k].text;
                 helpers.insert(kernels[k].helpers.begin(), kernels[k].helpers.end());
               }
               const std::string source = kInclude + cuda_helpers(helpers) + text;
               try {
                 const auto resources =
                     resources_in(nvrtc()
                                      ->compile_cached(cache(), source, {architecture},
                                                       effort_for(variant), [&] { return source; })
                                      .log);
                 const std::lock_guard lock(mutex);
                 for (const auto& [function, r] : resources)
                   expect_lean(function, r, text, architecture);
                 for (std::size_t k = begin; k < end; ++k) {
                   const auto found = resources.find(kernels[k].function);
                   EXPECT_NE(found, resources.end()) << kernels[k].function;
                   if (found == resources.end()) continue;
                   RecordedKernel& recorded = table.kernels[kernels[k].function];
                   recorded.source = kernels[k].source;
                   recorded.resources[architecture] = found->second;
                 }
               } catch (const Error& e) {
                 ADD_FAILURE() << e.what();
               }
             });
}

class Recorded : public testing::TestWithParam<Variant> {};

/// Every kernel in its current form has been compiled for both architectures: kernels that are not
/// in the recorded table are compiled here.
TEST_P(Recorded, EveryKernel) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
  const Variant variant = GetParam();
  const std::vector<KernelText>& kernels = kernel_texts(variant);
  const ResourceTable before = read_table(table_path(variant));
  const std::string made_by = description_for(variant);
  if (!updates() && before.made_by != made_by) {
    const std::string version = "NVRTC " + nvrtc()->version() + " ";
    EXPECT_FALSE(before.made_by.starts_with(version))
        << table_path(variant) << " is of " << before.made_by << ", this is " << made_by
        << "; MOTE_UPDATE_GOLDEN=1 rewrites it";
    GTEST_SKIP() << table_path(variant) << " is of " << before.made_by << ", this is " << made_by;
  }
  ResourceTable now{made_by, {}};
  std::vector<KernelText> unknown;
  for (const KernelText& kernel : kernels) {
    const RecordedKernel* known = before.made_by == made_by ? before.find(kernel) : nullptr;
    if (known != nullptr)
      now.kernels[kernel.function] = *known;
    else
      unknown.push_back(kernel);
  }
  for (const int architecture : kArchitectures) compile_into(now, unknown, variant, architecture);
  std::cout << fmt::format("{}: {} kernels, {} of them compiled now\n", text_of(variant),
                           kernels.size(), unknown.size());
  if (updates()) {
    ASSERT_FALSE(HasFailure()) << "the table stays as it was";
    write_table(table_path(variant), now);
    return;
  }
  for (const KernelText& kernel : unknown)
    ADD_FAILURE() << kernel.function << " is new or has changed; MOTE_UPDATE_GOLDEN=1 records it";
  for (const auto& [function, kernel] : before.kernels)
    EXPECT_TRUE(now.kernels.contains(function)) << function << " is recorded, but there is none";
}

/// Tiles lie in shared memory: in every dtype in the variant gen, in f32 in the variant tf32.
TEST_P(Recorded, TilesAreInSharedMemory) {
  const Variant variant = GetParam();
  const ResourceTable table = read_table(table_path(variant));
  for (const char* op : {"matmul", "conv2d", "conv2d.grad", "attention"})
    for (const auto& instance : instances_of(op)) {
      if (!instance->has(variant)) continue;
      bool has_tiles = false;
      for (const CudaKernel* k : all_kernels(instance->source(variant))) {
        if (!k->has_tiles()) continue;
        has_tiles = true;
        const auto found = table.kernels.find(k->function);
        ASSERT_NE(found, table.kernels.end()) << k->function;
        for (const int architecture : kArchitectures)
          EXPECT_GT(found->second.resources.at(architecture).shared, 0) << k->function;
      }
      EXPECT_EQ(has_tiles, variant != Variant::reference) << instance->function();
    }
}

/// GPUs that are newer than NVRTC get PTX, which the driver compiles. It may fuse a product into a
/// sum unless PTX states the rounding of both, which the reference variant always does.
TEST(Nvrtc, MakesPtxThatLeavesNoRoundingOfTheReferenceToTheDriver) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
  constexpr int kNewest = kArchitectures.back();
  const std::string gemm = "gemm";
  bool multiplies = false, fuses = false;
  for (const Variant variant : {Variant::reference, Variant::gen, Variant::tf32})
    for (const std::string& op : {std::string("softmax"), gemm})
      for (const auto& instance : instances_of(op)) {
        if (!instance->has(variant)) continue;
        const CudaProgram& program = instance->source(variant);
        const std::string source = emit_cuda(program, false);
        const Compiled made = nvrtc()->compile_cached(cache(), "PTX of " + source, {kNewest, true},
                                                      effort_for(variant), [&] { return source; });
        const auto has = [&](const std::string& text) {
          return made.code.find(text) != std::string::npos;
        };
        EXPECT_TRUE(has(fmt::format(".target sm_{}", kNewest))) << instance->function();
        EXPECT_TRUE(has(".entry " + program.kernels.front().function)) << instance->function();
        EXPECT_EQ(made.code.back(), '\0') << "the driver finds its end by that";
        for (const char* type : {"f32", "f64"})
          for (const char* fusible : {"mul.", "add.", "sub."})
            EXPECT_FALSE(variant == Variant::reference && has(std::string(fusible) + type))
                << instance->function();
        multiplies = multiplies || (variant == Variant::reference && has("mul.rn.f64"));
        fuses = fuses || (variant == Variant::gen && op == gemm && has("fma.rn.f32"));
      }
  EXPECT_TRUE(multiplies);
  EXPECT_TRUE(fuses);
}

/// Returns, for every op and gradient in f32 with all optional inputs, the kernels that row-major
/// calls of large tensors launch: the first of each stage.
std::vector<const CudaKernel*> first_kernels_of_f32() {
  std::vector<const CudaKernel*> kernels;
  for (const OpRecord* record : generated_ops())
    for (const auto& instance : instances_of(record->name)) {
      const bool is_whole = instance->instance().input_mask == full_mask(*record);
      if (!is_whole || instance->function().find("_f32") == std::string::npos) continue;
      int stage = 0;
      for (const CudaKernel& k : instance->source(Variant::gen).kernels)
        if (!k.part && k.stage != std::exchange(stage, k.stage)) kernels.push_back(&k);
    }
  return kernels;
}

/// docs/cuda.md states the time of this compilation without a cache.
TEST(Nvrtc, CompilesTheFirstKernelsOfF32) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here";
  if (std::getenv("MOTE_EXHAUSTIVE") == nullptr)
    GTEST_SKIP() << "only where MOTE_EXHAUSTIVE is set";
  constexpr std::size_t kBatch = 16;
  const std::vector<const CudaKernel*> kernels = first_kernels_of_f32();
  std::atomic<std::size_t> compiled = 0;
  const auto start = std::chrono::steady_clock::now();
  in_threads(static_cast<std::uint32_t>((kernels.size() + kBatch - 1) / kBatch),
             [&](std::uint32_t batch) {
               const std::size_t begin = batch * kBatch;
               std::string text;
               std::set<std::string> helpers;
               for (std::size_t k = begin; k < std::min(begin + kBatch, kernels.size()); ++k) {
                 text += "\n" + kernels[k]->text;
                 helpers.insert(kernels[k]->helpers.begin(), kernels[k]->helpers.end());
               }
               try {
                 const Compiled made = nvrtc()->compile(kInclude + cuda_helpers(helpers) + text,
                                                        {kArchitectures.back()}, Effort::full);
                 for (const auto& [function, r] : resources_in(made.log))
                   compiled += text.find("\n" + function + "(") != std::string::npos ? 1 : 0;
               } catch (const Error& e) {
                 ADD_FAILURE() << e.what();
               }
             });
  EXPECT_EQ(compiled, kernels.size());
  std::cout << fmt::format("{} kernels, {:.1f} s\n", kernels.size(), seconds_since(start));
}

const auto kVariants = testing::Values(Variant::reference, Variant::gen, Variant::tf32);
INSTANTIATE_TEST_SUITE_P(Architectures, Compiling,
                         testing::Combine(testing::ValuesIn(kArchitectures), kVariants),
                         [](const auto& of) {
                           return fmt::format("{}_sm_{}", text_of(std::get<Variant>(of.param)),
                                              std::get<int>(of.param));
                         });
INSTANTIATE_TEST_SUITE_P(Variants, Recorded, kVariants,
                         [](const auto& of) { return text_of(of.param); });

}  // namespace
}  // namespace mote::cuda
