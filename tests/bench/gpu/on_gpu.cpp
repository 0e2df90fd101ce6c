// SPDX-License-Identifier: Apache-2.0
#include "on_gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"

namespace mote::bench {
namespace {

void* pointer_of(cuda::DevicePointer at) {
  return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): as the driver has it
}

constexpr std::int64_t kRadius = 1;  // unused by uniform reals

double as_real(const Number& n) {
  return n.is_real() ? n.real() : static_cast<double>(n.integer());
}

}  // namespace

DeviceMemory::DeviceMemory(const cuda::Driver& driver, std::size_t bytes)
    : driver_(driver), bytes_(bytes) {
  driver_.check(driver_.calls().allocate(&at_, std::max<std::size_t>(bytes, 1)), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() { driver_.calls().free(at_); }

CaseOnGpu::CaseOnGpu(Case c, const cuda::Driver& driver, cuda::DriverStream* stream)
    : case_(std::move(c)), driver_(driver), stream_(stream) {
  std::vector<DLTensor*> in;
  std::vector<DLTensor*> out;
  for (std::size_t k = 0; k < case_.inputs.size(); ++k) {
    inputs_.push_back(std::make_unique<Placed>(case_.inputs[k], driver_));
    in.push_back(&inputs_.back()->tensor);
    fill(k);
  }
  for (const CaseTensor& t : case_.outputs) {
    outputs_.push_back(std::make_unique<Placed>(t, driver_));
    out.push_back(&outputs_.back()->tensor);
  }
  frame_ = std::make_unique<CallFrame>(case_, in, out);
}

CaseOnGpu::Placed::Placed(const CaseTensor& t, const cuda::Driver& driver)
    : placement(place(t.shape, t.layout)),
      shape(t.shape),
      memory(driver, static_cast<std::size_t>(placement.span) * size_of(t.dtype)) {
  tensor.data = pointer_of(memory.at());
  tensor.device = {kDLCUDA, 0};
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = to_dlpack(t.dtype);
  tensor.shape = shape.data();
  tensor.strides = placement.strides.data();
  tensor.byte_offset = static_cast<std::uint64_t>(placement.offset) * size_of(t.dtype);
}

void CaseOnGpu::fill(std::size_t input) {
  const CaseTensor& t = case_.inputs[input];
  const std::int64_t span = inputs_[input]->placement.span;
  const Filler filler(case_.fill,
                      {t.name, t.dtype, static_cast<int>(input),
                       static_cast<int>(case_.inputs.size()), volume(t.shape)},
                      kRadius);
  Dense values(t.dtype, std::min(span, kFilled));
  for (std::int64_t k = 0; k < values.count(); ++k)
    values.set(k, is_real(t.dtype) ? Number(filler.real(k)) : Number(filler.integer(k)));
  const DeviceMemory& memory = inputs_[input]->memory;
  const std::size_t once = static_cast<std::size_t>(values.count()) * size_of(t.dtype);
  for (std::size_t at = 0; at < memory.bytes(); at += once)
    check(driver_.calls().copy_in(memory.at() + at, values.data(),
                                  std::min(once, memory.bytes() - at), stream_),
          "cuMemcpyHtoDAsync");
  check(driver_.calls().synchronize(stream_), "cuStreamSynchronize");
}

double CaseOnGpu::bytes() const {
  double all = 0;
  for (const auto* tensors : {&case_.inputs, &case_.outputs})
    for (const CaseTensor& t : *tensors)
      all += static_cast<double>(volume(t.shape)) * static_cast<double>(size_of(t.dtype));
  return all;
}

KernelChoice CaseOnGpu::choose(const mote_backend& backend) {
  KernelChoice choice = choose_kernel(backend, frame_->call());
  if (choice.kernel == nullptr) return choice;
  std::size_t bytes = 0;
  if (workspace_of(*choice.kernel, frame_->call(), bytes) != MOTE_OK)
    return {nullptr, frame_->message()};
  if (workspace_ == nullptr || workspace_->bytes() < bytes) {
    frame_->set_workspace(nullptr, 0);
    workspace_ = std::make_unique<DeviceMemory>(driver_, bytes);
    frame_->set_workspace(pointer_of(workspace_->at()), workspace_->bytes());
  }
  return choice;
}

void CaseOnGpu::run(const mote_kernel& kernel) {
  if (run_kernel(kernel, frame_->call(), stream_) != MOTE_OK) throw Error(frame_->message());
}

std::vector<double> CaseOnGpu::sampled_outputs() {
  std::vector<double> sampled;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const Placed& y = *outputs_[k];
    Dense values(case_.outputs[k].dtype, y.placement.span);
    check(driver_.calls().copy_out(values.data(), y.memory.at(), y.memory.bytes(), stream_),
          "cuMemcpyDtoHAsync");
    check(driver_.calls().synchronize(stream_), "cuStreamSynchronize");
    for (std::int64_t at = 0; at < values.count(); at += values.count() / kSampled + 1)
      sampled.push_back(as_real(values.at(at)));
  }
  return sampled;
}

}  // namespace mote::bench
