// SPDX-License-Identifier: Apache-2.0
#include "groups.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <set>

#include "file_cache.h"
#include "mote/base/error.h"

namespace mote::cuda {
namespace {

/// Returns the length and the hash of the file that this code was loaded from.
std::string identity() {
  static const std::string text = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&group_of), &info) == 0 || info.dli_fname == nullptr)
      throw InternalError("cuda: the library does not know its own file");
    const auto bytes = read_bytes(info.dli_fname);
    if (!bytes) throw Error(fmt::format("{}: cannot be read", info.dli_fname));
    return fmt::format("{} bytes {:016x}", bytes->size(), hash_of(*bytes));
  }();
  return text;
}

const char* name_of(Variant variant) {
  constexpr std::array kNames = {"reference", "gen", "tf32"};
  return kNames.at(static_cast<std::size_t>(variant));
}

/// Returns the programs of an op that was added; empty for others, whose programs are this
/// library's.
std::string text_of_added(const OpRecord& record) {
  std::string text;
  if (!is_added_op(record)) return text;
  for (const auto& instance : instances_of(record.name))
    text += "\n" + to_string(instance->program());
  return text;
}

}  // namespace

std::uint32_t group_of(const OpRecord& record, std::uint32_t groups) {
  if (is_added_op(record)) return groups;
  return static_cast<std::uint32_t>((hash_of(record.name) >> 32U) % groups);
}

GroupSource source_of_group(std::uint32_t group, std::uint32_t groups, Variant variant) {
  GroupSource out;
  std::set<std::string> helpers;
  for (const OpRecord* record : ops_with_kernels()) {
    if (group_of(*record, groups) != group) continue;
    for (const auto& instance : instances_of(record->name)) {
      if (!instance->has(variant)) continue;
      const CudaProgram& program = instance->source(variant);
      for (const CudaKernel* k : all_kernels(program)) {
        out.functions.push_back(k->function);
        helpers.insert(k->helpers.begin(), k->helpers.end());
      }
      out.text += "\n" + to_string(program);
    }
  }
  out.text.insert(0, cuda_helpers(helpers));
  return out;
}

std::string key_of_group(std::uint32_t group, std::uint32_t groups, Variant variant) {
  std::string key =
      fmt::format("mote {}, {}, group {} of {}:", identity(), name_of(variant), group, groups);
  for (const OpRecord* record : ops_with_kernels())
    if (group_of(*record, groups) == group) key += " " + record->name + text_of_added(*record);
  return key;
}

std::string key_of_instance(const OpInstance& instance, Variant variant) {
  return fmt::format("mote {}, {}, {}", identity(), name_of(variant), instance.function());
}

}  // namespace mote::cuda
