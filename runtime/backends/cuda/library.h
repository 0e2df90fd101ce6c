// SPDX-License-Identifier: Apache-2.0
// A library of NVIDIA that is opened at run time, and the failures of its calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mote/base/error.h"

namespace mote::cuda {

enum class Failure : std::uint8_t { broken, out_of_memory, unsupported };

/// A call of a library that failed: "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13)".
class LibraryError : public Error {
 public:
  LibraryError(Failure kind, const std::string& text) : Error(text), kind_(kind) {}
  Failure kind() const { return kind_; }

 private:
  Failure kind_;
};

class Library {
 public:
  /// Opens the first candidate that can be opened; it stays open. Throws Error "no cuBLAS: " with
  /// the loader's reason for the first.
  Library(const std::string& what, const std::vector<std::string>& candidates);
  const std::string& path() const { return path_; }

  /// Throws Error if there is no such function.
  template <typename F>
  void get(F& function, const char* name) const {
    function = reinterpret_cast<F>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace mote::cuda
