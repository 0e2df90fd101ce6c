// SPDX-License-Identifier: Apache-2.0
// The backend gen: the gen variants of the registry, as one table.
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/generated/level.h"

namespace mote {
namespace {

std::string version_text() {
  const int level = mote_level();
  return std::string(MOTE_VERSION) + (level > 0 ? " x86-64-v" + std::to_string(level) : "");
}

std::vector<mote_kernel> gen_kernels() {
  std::vector<mote_kernel> kernels;
  for (const mote_generated_kernel& k : generated_kernels())
    if (k.variant == kGen) kernels.push_back(k.kernel);
  return kernels;
}

}  // namespace

const mote_backend& gen_backend() {
  static const std::string version = version_text();
  static const std::vector<mote_kernel> kernels = gen_kernels();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "gen",
                                       .version = version.c_str(),
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  return backend;
}

}  // namespace mote
