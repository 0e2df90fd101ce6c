#include "mote/base/cuda_libraries.h"

#include <cstdlib>
#include <initializer_list>

namespace mote {

namespace {

std::vector<std::string> candidates(const char* variable,
                                    std::initializer_list<const char*> names) {
  const char* given = std::getenv(variable);
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    folders.push_back(std::string(home) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (const char* name : names) all.push_back(folder + name);
  return all;
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  return candidates("MOTE_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"});
}

std::vector<std::string> cublas_candidates() {
  return candidates("MOTE_CUBLAS", {"libcublasLt.so.13", "libcublasLt.so.12"});
}

std::vector<std::string> cudnn_candidates() { return candidates("MOTE_CUDNN", {"libcudnn.so.9"}); }

std::string cuda_driver() {
  const char* given = std::getenv("MOTE_CUDA_DRIVER");
  return given != nullptr && *given != '\0' ? given : "libcuda.so.1";
}

}  // namespace mote
