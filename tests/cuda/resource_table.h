// SPDX-License-Identifier: Apache-2.0
// What NVRTC makes of each kernel, as a table in the repository, so that a change of the emitter
// shows what it costs and only kernels that changed need to be compiled again.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cuda/groups.h"
#include "cuda/nvrtc.h"

namespace mote::cuda {

inline constexpr std::array kArchitectures = {80, 90};

/// A kernel with all that its text needs.
struct KernelText {
  std::string function;
  std::string text;    ///< without helpers
  std::string source;  ///< a number that stands for the header, helpers, text and effort
};
/// Of the whole catalogue, made once.
const std::vector<KernelText>& kernel_texts(Variant variant);

struct RecordedKernel {
  std::string source;
  std::map<int, KernelResources> resources;  ///< by architecture; registers, shared and stack
};

struct ResourceTable {
  std::string made_by;  ///< Nvrtc::description() for the first architecture
  std::map<std::string, RecordedKernel> kernels;

  /// What was recorded of the kernel as it is now; nullptr where it has changed or is new.
  const RecordedKernel* find(const KernelText& kernel) const;
};

std::filesystem::path table_path(Variant variant);
/// Empty where there is no file. Throws Error for a line that is none of a table.
ResourceTable read_table(const std::filesystem::path& path);
void write_table(const std::filesystem::path& path, const ResourceTable& table);

std::string text_of(Variant variant);

}  // namespace mote::cuda
