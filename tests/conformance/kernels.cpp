// Calls through the C ABI: arrays to memory and back, shapes of outputs by bind().
#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "memory.h"
#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/exactness.h"

namespace mote::onnx {
namespace {

/// One instance with its inputs and parameters.
struct Prepared {
  const OpRecord& record;
  Instance instance;
  std::shared_ptr<const Program> program;
  std::vector<Array> present;
  std::vector<bool> is_present;
  Params params;
};

const OpRecord& record_of(const std::string& op, DType dtype) {
  const auto all = catalogue();
  const auto at = std::ranges::find(all, op, &OpRecord::name);
  if (at == all.end()) throw NotApplicable(fmt::format("no op {} here", op));
  if (std::ranges::find(at->dtypes, dtype) == at->dtypes.end()) {
    throw NotApplicable(fmt::format("op {} is not offered over {}", op, name(dtype)));
  }
  return *at;
}

/// A parameter as the program declares it.
Number parameter(const ParamDecl& decl, const Number& value) {
  if (!decl.is_integer || !value.is_real()) return value;
  if (std::trunc(value.real()) != value.real()) {
    throw NotApplicable(fmt::format("parameter {} = {} over integers", decl.name, value.real()));
  }
  return static_cast<std::int64_t>(value.real());
}

Prepared prepare(const std::string& op, DType dtype, const std::vector<const Array*>& inputs,
                 const Params& params) {
  Prepared p{record_of(op, dtype), {dtype, 0}, nullptr, {}, {}, {}};
  if (inputs.size() > p.record.inputs.size()) {
    throw InternalError(fmt::format("{}: {} inputs given", op, inputs.size()));
  }
  p.is_present.assign(p.record.inputs.size(), false);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == nullptr) continue;
    p.instance.input_mask |= std::uint32_t{1} << k;
    p.is_present[k] = true;
    p.present.push_back(*inputs[k]);
  }
  for (const auto& [key, value] : params) {
    if (!has_param(op, key)) throw InternalError(fmt::format("{}: no parameter {}", op, key));
  }
  p.program = instantiate(p.record, p.instance);
  for (const ParamDecl& decl : p.program->params) {
    const auto given = params.find(decl.name);
    if (given != params.end()) {
      p.params.emplace(decl.name, parameter(decl, given->second));
    } else if (decl.default_value) {
      const double value = *decl.default_value;
      p.params.emplace(decl.name, parameter(decl, value));
    }
  }
  for (std::size_t k = 0; k < p.present.size(); ++k) {
    const Uop& declared = p.program->inputs.at(k);
    if (declared.dtype() == p.present[k].dtype) continue;
    throw InternalError(fmt::format("{}: input {} is {}, expected {}", op, k,
                                    name(p.present[k].dtype), name(declared.dtype())));
  }
  return p;
}

/// Runs the generated kernel on memory of its own.
std::vector<Array> run_generated(const Prepared& p, const std::vector<Dims>& output_shapes) {
  const mote_generated_kernel* found =
      find_generated(p.record.name, "oracle", p.instance.dtype, p.instance.input_mask);
  if (found == nullptr) throw Error(p.record.name + ": no generated kernel in the registry");
  std::vector<Memory> memory;
  for (const Array& a : p.present) memory.emplace_back(a);
  for (std::size_t k = 0; k < output_shapes.size(); ++k) {
    memory.emplace_back(p.program->outputs[k].value.dtype(), output_shapes[k]);
  }
  std::vector<DLTensor> tensors;
  tensors.reserve(memory.size());
  for (Memory& m : memory) tensors.push_back(m.tensor());
  std::vector<const DLTensor*> inputs(p.is_present.size(), nullptr);
  std::vector<DLTensor*> outputs;
  std::size_t at = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (p.is_present[k]) inputs[k] = &tensors[at++];
  }
  for (; at < tensors.size(); ++at) outputs.push_back(&tensors[at]);
  std::vector<mote_param> params;
  for (const auto& [key, value] : p.params) {
    params.push_back({.name = key.c_str(),
                      .is_real = value.is_real() ? 1 : 0,
                      .integer = value.is_real() ? 0 : value.integer(),
                      .real = value.is_real() ? value.real() : 0});
  }
  std::array<char, 512> message{};
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = p.record.name.c_str();
  call.input_count = static_cast<std::int32_t>(inputs.size());
  call.output_count = static_cast<std::int32_t>(outputs.size());
  call.param_count = static_cast<std::int32_t>(params.size());
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.params = params.data();
  call.message = message.data();
  call.message_bytes = message.size();
  std::vector<double> workspace;
  if (found->kernel.workspace_bytes != nullptr) {
    call.workspace_bytes = found->kernel.workspace_bytes(&call);
    workspace.resize(call.workspace_bytes / sizeof(double) + 1);
    call.workspace = workspace.data();
  }
  if (found->kernel.run(&call, nullptr) != MOTE_OK) throw Error(message.data());
  std::vector<Array> results;
  for (std::size_t k = p.present.size(); k < memory.size(); ++k) {
    results.push_back(memory[k].array());
  }
  return results;
}

/// The greatest magnitude among integers of a real dtype; nothing where one is no integer.
std::optional<std::int64_t> whole_radius(const std::vector<Array>& arrays) {
  double radius = 1;
  for (const Array& a : arrays) {
    if (!is_real(a.dtype)) continue;
    for (const Number& n : a.values) {
      if (!(std::abs(n.real()) < 1e9) || std::trunc(n.real()) != n.real()) return std::nullopt;
      radius = std::max(radius, std::abs(n.real()));
    }
  }
  return static_cast<std::int64_t>(radius);
}

bool must_be_exact(const Prepared& p, const Binding& binding) {
  if (exactness(*p.program, binding, FillKind::uniform, 1).exact) return true;
  const std::optional<std::int64_t> radius = whole_radius(p.present);
  return radius && exactness(*p.program, binding, FillKind::integer, *radius).exact;
}

}  // namespace

bool has_param(const std::string& op, const std::string& param) {
  const auto all = catalogue();
  const auto at = std::ranges::find(all, op, &OpRecord::name);
  return at != all.end() &&
         std::ranges::find(at->params, param, &ParamDecl::name) != at->params.end();
}

std::vector<Array> Kernels::run_all(const std::string& op, DType dtype,
                                    const std::vector<const Array*>& inputs, const Params& params) {
  const Prepared p = prepare(op, dtype, inputs, params);
  std::vector<Dims> shapes;
  for (const Array& a : p.present) shapes.push_back(a.shape);
  const Binding binding = mote::bind(*p.program, shapes, p.params);
  std::vector<Array> results = run_generated(p, binding.outputs);
  const std::vector<Array> meant = evaluate(*p.program, p.present, p.params);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k] == meant[k]) continue;
    throw Error(fmt::format("{}: the generated C and evaluate disagree on output {}", op, k));
  }
  ++calls_;
  ops_.insert(op);
  exact_ = exact_ && must_be_exact(p, binding);
  return results;
}

Array Kernels::run(const std::string& op, DType dtype, const std::vector<const Array*>& inputs,
                   const Params& params) {
  return std::move(run_all(op, dtype, inputs, params).front());
}

}  // namespace mote::onnx
