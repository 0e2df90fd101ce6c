// SPDX-License-Identifier: Apache-2.0
#include "resource_table.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "cuda/catalogue_kernels.h"
#include "cuda/file_cache.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"

namespace mote::cuda {
namespace {

KernelText text_of_kernel(const CudaKernel& k, Variant variant) {
  const std::string all = cuda_header() + cuda_helpers(k.helpers) + k.text;
  const bool quick = effort_for(variant) == Effort::quick;
  return {k.function, k.text, k.helpers,
          fmt::format("{:016x}", hash_of(all + (quick ? "quick" : "full")))};
}

std::vector<KernelText> make_texts(Variant variant) {
  std::vector<KernelText> all;
  for (const OpRecord* record : generated_ops())
    for (const auto& instance : instances_of(record->name))
      if (instance->has(variant))
        for (const CudaKernel* k : all_kernels(instance->source(variant)))
          all.push_back(text_of_kernel(*k, variant));
  return all;
}

}  // namespace

const std::vector<KernelText>& kernel_texts(Variant variant) {
  static std::map<Variant, std::vector<KernelText>> made;
  const auto [at, fresh] = made.try_emplace(variant);
  if (fresh) at->second = make_texts(variant);
  return at->second;
}

const RecordedKernel* ResourceTable::find(const KernelText& kernel) const {
  const auto found = kernels.find(kernel.function);
  const bool is_it = found != kernels.end() && found->second.source == kernel.source;
  return is_it ? &found->second : nullptr;
}

std::string text_of(Variant variant) {
  return variant == Variant::gen ? "gen" : variant == Variant::tf32 ? "tf32" : "reference";
}

std::filesystem::path table_path(Variant variant) {
  return std::filesystem::path(MOTE_CUDA_TABLES) / (text_of(variant) + ".txt");
}

// The lines are comments, the compiler's description, then one for each kernel: its name, its
// source, and three numbers for each architecture.
ResourceTable read_table(const std::filesystem::path& path) {
  ResourceTable table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("NVRTC ")) {
      table.made_by = line;
      continue;
    }
    std::istringstream words(line);
    std::string name;
    RecordedKernel kernel;
    words >> name >> kernel.source;
    for (const int architecture : kArchitectures) {
      KernelResources& r = kernel.resources[architecture];
      words >> r.registers >> r.shared >> r.stack;
    }
    if (!words) throw Error(fmt::format("{}: not a line of the table: {}", path.string(), line));
    table.kernels.emplace(name, std::move(kernel));
  }
  return table;
}

void write_table(const std::filesystem::path& path, const ResourceTable& table) {
  std::ofstream file(path);
  file
      << "# Kernels as NVRTC compiles them: the name; what stands for the source; for sm_80, then\n"
         "# for sm_90, registers and bytes of shared memory and of a thread's stack. None spills.\n"
         "# cuda_nvrtc_test compares; with MOTE_UPDATE_GOLDEN=1 it compiles and rewrites.\n"
      << table.made_by << "\n";
  for (const auto& [name, kernel] : table.kernels) {
    file << name << " " << kernel.source;
    for (const int architecture : kArchitectures) {
      const KernelResources& r = kernel.resources.at(architecture);
      file << fmt::format("  {} {} {}", r.registers, r.shared, r.stack);
    }
    file << "\n";
  }
  if (!file.flush()) throw Error(path.string() + ": cannot be written");
}

}  // namespace mote::cuda
