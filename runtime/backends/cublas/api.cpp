// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <fmt/format.h>

#include <mutex>

#include "mote/base/cuda_libraries.h"

namespace mote::cublas {
namespace {

using cuda::Failure;
using cuda::LibraryError;

}  // namespace

Lt::Lt() : library_("cuBLASLt", cublas_candidates()) {
  const cuda::Library& from = library_;
  LtCalls& c = calls_;
  from.get(c.create, "cublasLtCreate");
  from.get(c.version, "cublasLtGetVersion");
  from.get(c.status_name, "cublasLtGetStatusName");
  from.get(c.create_matmul, "cublasLtMatmulDescCreate");
  from.get(c.destroy_matmul, "cublasLtMatmulDescDestroy");
  from.get(c.set_matmul, "cublasLtMatmulDescSetAttribute");
  from.get(c.create_layout, "cublasLtMatrixLayoutCreate");
  from.get(c.destroy_layout, "cublasLtMatrixLayoutDestroy");
  from.get(c.set_layout, "cublasLtMatrixLayoutSetAttribute");
  from.get(c.create_preference, "cublasLtMatmulPreferenceCreate");
  from.get(c.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  from.get(c.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  from.get(c.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  from.get(c.matmul, "cublasLtMatmul");
}

Lt& Lt::only() {
  static Lt lt;
  return lt;
}

const Lt& Lt::library() { return only(); }

const Lt& Lt::open() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Lt& lt = only();
  if (lt.handle_ == nullptr) lt.check(lt.calls_.create(&lt.handle_), "cublasLtCreate");
  return lt;
}

void Lt::check(int status, const char* call) const {
  if (status == kSuccess) return;
  const Failure kind = status == kAllocFailed                               ? Failure::out_of_memory
                       : status == kNotSupported || status == kArchMismatch ? Failure::unsupported
                                                                            : Failure::broken;
  throw LibraryError(kind, fmt::format("{}: {} ({})", call, calls_.status_name(status), status));
}

}  // namespace mote::cublas
