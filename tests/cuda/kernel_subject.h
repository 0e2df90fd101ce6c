// SPDX-License-Identifier: Apache-2.0
// Runs a case of the oracle as a call of the variant gen, or of tf32, on the shim: the launched
// kernels, and the result of the first one, also with another text.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/plan.h"
#include "cuda_host/host_library.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"
#include "run/call_frame.h"
#include "run/prepared_state.h"

namespace mote::test {

/// Compiles a library with only that kernel, or with another text of it.
inline cuda_host::HostLibrary library_of(const CudaKernel& kernel, const std::string& text) {
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  const std::string source =
      cuda_host::host_source({kernel.function}, cuda_helpers(kernel.helpers) + text);
  return cuda_host::compile_for_host(source, [&] { return source; });
}
inline cuda_host::HostLibrary library_of(const CudaKernel& kernel) {
  return library_of(kernel, kernel.text);
}

/// A call with filled memory of its tensors, and its launches, on few blocks.
class KernelSubject {
 public:
  static constexpr cuda::Grid kFew = {.least_side = 3, .most_blocks = 3};
  /// Allows pipelined tiles too.
  static constexpr cuda::Grid kWide = {
      .least_side = 3, .least_pipelined_tiles = 1, .most_blocks = 3};

  explicit KernelSubject(const std::string& line, const cuda::Grid& grid = kFew,
                         cuda::Variant variant = cuda::Variant::gen)
      : case_(parse_case(line)) {
    std::vector<DLTensor*> in, out;
    for (const CaseTensor& t : case_.inputs) in.push_back(tensor(t, Role::input));
    for (const CaseTensor& t : case_.outputs) out.push_back(tensor(t, Role::output));
    const std::int64_t radius = judge(*case_.program, case_.binding, case_.fill.kind).radius;
    const std::vector<Dense> filled = filled_inputs(case_, radius);
    for (std::size_t k = 0; k < filled.size(); ++k) buffers_[k]->write(filled[k]);
    frame_ = std::make_unique<CallFrame>(case_, in, out);
    backend::Check refusal;
    instance_ = cuda::find_instance(frame_->call(), refusal);
    if (refusal) throw std::runtime_error(refusal->text);
    plan_ = std::make_unique<cuda::Plan>(frame_->call(), *instance_, variant, true, grid, refusal);
    if (refusal) throw std::runtime_error(refusal->text);
    for (const cuda::TensorView& view : plan_->views()) data_.push_back(view.data);
    workspace_.resize((plan_->workspace_bytes() + sizeof(Line) - 1) / sizeof(Line));
  }

  std::vector<cuda::Launch> launches() const { return plan_->launches(data_, workspace_.data()); }
  std::size_t workspace_bytes() const { return plan_->workspace_bytes(); }
  /// Returns the first kernel.
  const CudaKernel& kernel() const { return *launches().at(0).kernel; }

  /// Runs the first kernel from the library, and returns the bytes of the first output.
  shim::Run run(const cuda_host::HostLibrary& library, const shim::Options& options) {
    Buffer& y = *buffers_[case_.inputs.size()];
    y.poison(Poison::first);
    cuda::Launch launch = launches().at(0);
    shim::Run out;
    out.error = cuda_host::run_launch(library, launch, options);
    const CaseTensor& t = case_.outputs[0];
    Dense values(t.dtype, element_count(t.shape));
    y.read(values);
    out.output.resize(static_cast<std::size_t>(values.count()) * size_of(t.dtype));
    std::memcpy(out.output.data(), values.data(), out.output.size());
    return out;
  }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };
  DLTensor* tensor(const CaseTensor& t, Role role) {
    buffers_.push_back(std::make_unique<Buffer>(t, role));
    return t.left_out ? nullptr : buffers_.back()->tensor();
  }

  Case case_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<CallFrame> frame_;
  const cuda::OpInstance* instance_ = nullptr;
  std::unique_ptr<cuda::Plan> plan_;
  std::vector<void*> data_;
  mutable std::vector<Line> workspace_;
};

}  // namespace mote::test
