#include "mote/base/cuda_libraries.h"

#include <cstdlib>

namespace mote {

std::vector<std::string> nvrtc_candidates() {
  const char* given = std::getenv("MOTE_NVRTC");
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    folders.push_back(std::string(home) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) all.push_back(folder + name);
  return all;
}

std::string cuda_driver() {
  const char* given = std::getenv("MOTE_CUDA_DRIVER");
  return given != nullptr && *given != '\0' ? given : "libcuda.so.1";
}

}  // namespace mote
