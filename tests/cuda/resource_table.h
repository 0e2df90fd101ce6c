// SPDX-License-Identifier: Apache-2.0
// The resources that NVRTC reports for each kernel, as a table in the repository, so that a change
// of the emitter shows its cost and only changed kernels are compiled again.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cuda/groups.h"
#include "cuda/nvrtc.h"

namespace mote::cuda {

inline constexpr std::array kArchitectures = {80, 90};

/// A kernel with all that its text needs.
struct KernelText {
  std::string function;
  std::string text;               ///< without helpers
  std::set<std::string> helpers;  ///< names of the functions that it calls
  std::string source;             ///< a hash of the header, helpers, text and effort
};
/// Returns the kernels of the whole catalogue, built once.
const std::vector<KernelText>& kernel_texts(Variant variant);

struct RecordedKernel {
  std::string source;
  std::map<int, KernelResources> resources;  ///< by architecture; registers, shared and stack
};

struct ResourceTable {
  std::string made_by;  ///< Nvrtc::description() for the first architecture
  std::map<std::string, RecordedKernel> kernels;

  /// Returns the record of the kernel in its current form; nullptr if it has changed or is new.
  const RecordedKernel* find(const KernelText& kernel) const;
};

std::filesystem::path table_path(Variant variant);
/// Returns an empty table if there is no file. Throws Error for a line that is no line of a table.
ResourceTable read_table(const std::filesystem::path& path);
void write_table(const std::filesystem::path& path, const ResourceTable& table);

std::string text_of(Variant variant);

}  // namespace mote::cuda
