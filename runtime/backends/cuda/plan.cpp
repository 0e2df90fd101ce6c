// SPDX-License-Identifier: Apache-2.0
// Plans a call. In: a call and its instance; out: launches. bind() checks shapes and parameters, as
// it does for the reference's programs.
#include "plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "mote/base/dlpack.h"
#include "mote/base/error.h"

namespace mote::cuda {
namespace {

using backend::Check;

constexpr std::size_t kAlignment = 64;

std::vector<std::int64_t> shape_with(const DLTensor& t) { return {t.shape, t.shape + t.ndim}; }

/// Fills in the strides at the full rank; axes of extent 1 that may repeat have stride 0.
void fill_strides(TensorView& view, std::size_t rank, const std::vector<bool>& repeats) {
  const DLTensor& t = *view.tensor;
  const std::vector<std::int64_t> strides = strides_of(t);
  const std::size_t missing = view.missing = rank - strides.size();
  for (std::size_t k = 0; k < strides.size(); ++k) {
    const bool repeated = k + missing < repeats.size() && repeats[k + missing] && t.shape[k] == 1;
    view.strides[k + missing] = repeated ? 0 : strides[k];
  }
}

Check check_data(TensorView& view, const std::string& name, bool is_used) {
  const DLTensor& t = *view.tensor;
  if (t.data != nullptr) view.data = static_cast<char*>(t.data) + t.byte_offset;
  if (!is_used || element_count(shape_with(t)) == 0) return {};
  if (t.data == nullptr) return backend::invalid(name + " has no data");
  if (reinterpret_cast<std::uintptr_t>(view.data) % (t.dtype.bits / 8U) != 0)
    return backend::invalid(name + " is not aligned to its elements");
  return {};
}

}  // namespace

Plan::Plan(const mote_call& call, const OpInstance& instance, Variant variant, bool run,
           const Grid& grid, Check& refusal)
    : call_(call), instance_(instance), variant_(variant), run_(run), grid_(grid) {
  refusal = read_params();
  if (!refusal) refusal = read_inputs();
  if (!refusal) refusal = read_outputs();
  if (!refusal) refusal = check_input_data();
  if (!refusal) lay_out();
}

Check Plan::read_params() {
  const auto& known = instance_.record().params;
  for (int k = 0; k < call_.param_count; ++k) {
    const mote_param& given = call_.params[k];
    if (std::ranges::find(known, given.name, &ParamDecl::name) == known.end())
      return backend::invalid(fmt::format("unknown parameter {}", given.name));
    const auto at = find_param(instance_.program(), given.name);
    if (!at) continue;
    const ParamDecl& declared = instance_.program().params[static_cast<std::size_t>(*at)];
    if (declared.is_integer && given.is_real != 0)
      return backend::invalid(
          fmt::format("parameter {} must be an integer, got {}", given.name, given.real));
    const double real = given.is_real != 0 ? given.real : static_cast<double>(given.integer);
    params_.insert_or_assign(given.name,
                             declared.is_integer ? Number(given.integer) : Number(real));
  }
  return {};
}

Check Plan::read_inputs() {
  const Program& program = instance_.program();
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const auto& declared = std::get<uop::Input>(program.inputs[k].node().kind);
    TensorView view{call_.inputs[instance_.positions()[k]]};
    const auto rank = static_cast<std::size_t>(program.inputs[k].rank());
    if (view.tensor->ndim < 0 || static_cast<std::size_t>(view.tensor->ndim) > rank)
      return backend::invalid(fmt::format("{} must have at most {} axes, got {}", declared.name,
                                          rank, view.tensor->ndim));
    fill_strides(view, rank, declared.broadcast);
    shapes.push_back(shape_with(*view.tensor));
    views_.push_back(view);
  }
  try {
    binding_ = mote::bind(program, shapes, params_);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& e) {
    return backend::invalid(e.what());
  }
  for (const NamedSize& size : program.sizes)
    binding_.values.emplace(Symbol(SymbolKind::size, size.name),
                            evaluate(size.value, binding_.values));
  return {};
}

/// Checks the data of the inputs on which the call's outputs depend.
Check Plan::check_input_data() {
  if (!run_) return {};
  const Program& program = instance_.program();
  std::uint64_t outputs = 0;
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    if (call_.outputs[k] != nullptr) outputs |= std::uint64_t{1} << k;
  const TensorMask read = read_mask(instance_.record(), instance_.instance(), outputs);
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const std::string& name = std::get<uop::Input>(program.inputs[k].node().kind).name;
    const bool is_read = is_in(read, static_cast<std::size_t>(instance_.positions()[k]));
    if (Check check = check_data(views_[k], name, is_read)) return check;
  }
  return {};
}

Check Plan::read_outputs() {
  const Program& program = instance_.program();
  bool any = false;
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::string& name = program.outputs[k].name;
    TensorView view{call_.outputs[k]};
    views_.push_back(view);
    if (view.tensor == nullptr) {
      if (!is_optional_output(instance_.record(), name))
        return backend::invalid(name + " is missing");
      continue;
    }
    any = true;
    const std::vector<std::int64_t>& expected = binding_.outputs[k];
    std::vector<std::int64_t> shape = shape_with(*view.tensor);
    if (shape.size() <= expected.size())
      shape.insert(shape.begin(), expected.size() - shape.size(), 1);
    if (shape != expected)
      return backend::invalid(fmt::format("{} has shape [{}], expected [{}]", name,
                                          fmt::join(shape, ","), fmt::join(expected, ",")));
    fill_strides(view, expected.size(), {});
    const Check check = check_data(view, name, run_);
    if (check) return check;
    views_.back() = view;
  }
  if (!any) return backend::invalid("the call has no output");
  return {};
}

std::int64_t Plan::value(const Expr& e) const { return evaluate(e, binding_.values); }

/// Returns as many threads as there are iterations, in whole blocks, within the limits of the grid
/// and its memory.
std::int64_t Plan::threads_of(const CudaKernel& kernel) const {
  if (kernel.is_in_order()) return 1;
  std::int64_t bytes = 0;
  for (const CudaTemporary& t : source_->temporaries) {
    const CudaArgument of{CudaArgument::Kind::temporary, t.name};
    if (!t.per_thread || std::ranges::find(kernel.arguments, of) == kernel.arguments.end())
      continue;
    auto count = static_cast<std::int64_t>(t.element_bytes);
    for (const Expr& e : t.shape) count *= std::max<std::int64_t>(value(e), 0);
    bytes += count;
  }
  std::int64_t blocks = grid_.most_blocks;
  const std::int64_t at_a_time = kernel.is_by_block() ? 1 : grid_.threads;  // iterations of a block
  if (!kernel.iterations.has_load())
    blocks = std::min(blocks, (value(kernel.iterations) + at_a_time - 1) / at_a_time);
  if (bytes > 0) blocks = std::min(blocks, grid_.most_bytes / bytes / grid_.threads);
  return std::max<std::int64_t>(blocks, 1) * grid_.threads;
}

double Plan::bytes_of(const CudaTemporary& t) const {
  auto bytes = static_cast<double>(t.element_bytes);
  for (const Expr& e : t.shape) bytes *= static_cast<double>(std::max<std::int64_t>(value(e), 0));
  return bytes;
}

void Plan::lay_out() {
  source_ = &chosen();
  const CudaProgram& source = *source_;
  for (const NamedSize& size : source.sizes)
    binding_.values.emplace(Symbol(SymbolKind::size, size.name),
                            evaluate(size.value, binding_.values));
  int stage = 0;
  for (const CudaKernel& k : source.kernels)
    if (k.stage != std::exchange(stage, k.stage) && takes_parts(k)) in_parts_.insert(k.stage);
  for (const CudaKernel& k : source.kernels) threads_.push_back(threads_of(k));
  for (const CudaTemporary& t : source.temporaries) {
    offsets_.push_back(workspace_bytes_);
    std::int64_t most = 0;  // the maximum number of threads of a launch that uses it
    const CudaArgument of{CudaArgument::Kind::temporary, t.name};
    for (std::size_t k = 0; k < source.kernels.size(); ++k) {
      const auto& arguments = source.kernels[k].arguments;
      if (is_launched(source.kernels[k]) && std::ranges::find(arguments, of) != arguments.end())
        most = std::max(most, threads_[k]);
    }
    const auto bytes =
        static_cast<std::size_t>(bytes_of(t)) *
        static_cast<std::size_t>(t.per_thread ? most : std::min<std::int64_t>(most, 1));
    workspace_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

std::size_t Plan::tensor_at(const std::string& name) const {
  const Program& program = instance_.program();
  if (const auto at = find_input(program, name)) return static_cast<std::size_t>(*at);
  const auto at = std::ranges::find(program.outputs, name, &Output::name);
  return program.inputs.size() + static_cast<std::size_t>(at - program.outputs.begin());
}

ArgumentValue Plan::argument(const CudaArgument& a, const std::vector<void*>& data,
                             void* workspace) const {
  ArgumentValue v;
  switch (a.kind) {
    case CudaArgument::Kind::tensor:
      v.words[0] = reinterpret_cast<std::intptr_t>(data[tensor_at(a.name)]);
      break;
    case CudaArgument::Kind::strides:
      v.words = views_[tensor_at(a.name)].strides;
      break;
    case CudaArgument::Kind::size:
      v.words[0] = binding_.values.at(Symbol(SymbolKind::size, a.name));
      break;
    case CudaArgument::Kind::param: {
      const Number& number = binding_.params.at(a.name);
      const double real = number.is_real() ? number.real() : 0;
      if (number.is_real()) std::memcpy(v.words.data(), &real, sizeof real);
      if (!number.is_real()) v.words[0] = number.integer();
      break;
    }
    case CudaArgument::Kind::temporary: {
      const auto& all = source_->temporaries;
      const auto at = std::ranges::find(all, a.name, &CudaTemporary::name) - all.begin();
      v.words[0] = reinterpret_cast<std::intptr_t>(static_cast<char*>(workspace) +
                                                   offsets_[static_cast<std::size_t>(at)]);
      break;
    }
  }
  return v;
}

std::vector<Launch> Plan::launches(const std::vector<void*>& data, void* workspace) const {
  std::vector<Launch> all;
  const CudaProgram& source = *source_;
  std::pair<int, std::optional<int>> done;  // the last stage, or part of one, that has its launch
  for (std::size_t k = 0; k < source.kernels.size(); ++k) {
    const CudaKernel& kernel = source.kernels[k];
    const std::pair location = {kernel.stage, kernel.part};
    if (location == done || !is_launched(kernel) || !suits(kernel, data)) continue;
    done = location;
    Launch launch{&kernel,
                  std::max<std::int64_t>(threads_[k] / grid_.threads, 1),
                  kernel.has_tiles() ? kCudaThreads : grid_.threads,
                  {}};
    for (const CudaArgument& a : kernel.arguments)
      launch.arguments.push_back(argument(a, data, workspace));
    all.push_back(std::move(launch));
  }
  return all;
}

}  // namespace mote::cuda
