// SPDX-License-Identifier: Apache-2.0
// An NVRTC for the fake driver, which is in the same library: the code of a program is its text. It
// is 99.0, and knows sm_80 and sm_90. Calls count among the driver's, and fail as these do.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "fake_device.h"

using fake::counted;

namespace {

/// The code of a program is its text behind a line that says what it is for.
struct Program {
  std::string text;
  std::string target;  ///< "sm_90"; "compute_90" where the code is PTX
};

/// Empty where the program was compiled for something else.
std::string code_of(const void* program, const std::string& kind) {
  const auto& of = *static_cast<const Program*>(program);
  return of.target.starts_with(kind) ? fmt::format("// {}\n{}", of.target, of.text) : "";
}

}  // namespace

FAKE_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 0;
  return counted();
}
FAKE_EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int,
                                   const char* const*, const char* const*) {
  if (const int status = counted()) return status;
  *program = new Program{source, ""};
  return 0;
}
FAKE_EXPORT int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  return 0;
}
FAKE_EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const std::string option = "--gpu-architecture=";
  for (int k = 0; k < count; ++k)
    if (const std::string given = options[k]; given.starts_with(option))
      static_cast<Program*>(program)->target = given.substr(option.size());
  return counted();
}
FAKE_EXPORT int nvrtcGetProgramLogSize(void*, std::size_t* bytes) {
  *bytes = 1;
  return counted();
}
FAKE_EXPORT int nvrtcGetProgramLog(void*, char* log) {
  *log = '\0';
  return counted();
}
/// There is no machine code for what is compiled to PTX.
FAKE_EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = code_of(program, "sm_").size();
  return counted();
}
FAKE_EXPORT int nvrtcGetCUBIN(void* program, char* cubin) {
  std::ranges::copy(code_of(program, "sm_"), cubin);
  return counted();
}
FAKE_EXPORT int nvrtcGetPTXSize(void* program, std::size_t* bytes) {
  *bytes = code_of(program, "compute_").size() + 1;  // with the 0 at its end
  return counted();
}
FAKE_EXPORT int nvrtcGetPTX(void* program, char* ptx) {
  const std::string code = code_of(program, "compute_");
  std::copy_n(code.c_str(), code.size() + 1, ptx);
  return counted();
}
FAKE_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return counted();
}
FAKE_EXPORT int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return counted();
}
FAKE_EXPORT const char* nvrtcGetErrorString(int) { return "a fake error"; }
