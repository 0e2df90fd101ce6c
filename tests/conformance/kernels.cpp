// SPDX-License-Identifier: Apache-2.0
// Makes calls through the C ABI: copies arrays to memory and back, and finds shapes of outputs by
// bind().
#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "memory.h"
#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/exactness.h"

namespace mote::onnx {
namespace {

/// The evaluator keeps every value of every node, 16 bytes each; larger calls run without it.
constexpr double kMaxEvaluated = 1'000'000;

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

/// Converts a parameter to the type that the program declares.
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
    p.instance.input_mask |= mask_bit(k);
    p.is_present[k] = true;
    p.present.push_back(*inputs[k]);
  }
  for (const auto& [key, value] : params) {
    if (std::ranges::find(p.record.params, key, &ParamDecl::name) == p.record.params.end()) {
      throw InternalError(fmt::format("{}: no parameter {}", op, key));
    }
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

/// The data that a mote_call points to.
struct Frame {
  std::vector<Memory> memory;  ///< inputs, then outputs
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  std::vector<mote_param> params;
  std::vector<double> workspace;
  std::array<char, 512> message{};
};

Frame frame_of(const Prepared& p, const std::vector<Dims>& output_shapes) {
  Frame f;
  for (const Array& a : p.present) f.memory.emplace_back(a);
  for (std::size_t k = 0; k < output_shapes.size(); ++k) {
    f.memory.emplace_back(p.program->outputs[k].value.dtype(), output_shapes[k]);
  }
  f.tensors.reserve(f.memory.size());
  for (Memory& m : f.memory) f.tensors.push_back(m.tensor());
  f.inputs.assign(p.is_present.size(), nullptr);
  std::size_t at = 0;
  for (std::size_t k = 0; k < f.inputs.size(); ++k) {
    if (p.is_present[k]) f.inputs[k] = &f.tensors[at++];
  }
  for (; at < f.tensors.size(); ++at) f.outputs.push_back(&f.tensors[at]);
  for (const auto& [key, value] : p.params) {
    f.params.push_back({.name = key.c_str(),
                        .is_real = value.is_real() ? 1 : 0,
                        .integer = value.is_real() ? 0 : value.integer(),
                        .real = value.is_real() ? value.real() : 0});
  }
  return f;
}

mote_call call_of(const Prepared& p, Frame& f) {
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = p.record.name.c_str();
  call.input_count = static_cast<std::int32_t>(f.inputs.size());
  call.output_count = static_cast<std::int32_t>(f.outputs.size());
  call.param_count = static_cast<std::int32_t>(f.params.size());
  call.inputs = f.inputs.data();
  call.outputs = f.outputs.data();
  call.params = f.params.data();
  call.message = f.message.data();
  call.message_bytes = f.message.size();
  return call;
}

/// Runs the generated kernel on memory of its own.
std::vector<Array> run_generated(const Prepared& p, const std::vector<Dims>& output_shapes) {
  const mote_generated_kernel* found =
      find_generated(p.record.name, kReference, p.instance.dtype, p.instance.input_mask);
  if (found == nullptr) throw Error(p.record.name + ": no generated kernel in the registry");
  Frame f = frame_of(p, output_shapes);
  mote_call call = call_of(p, f);
  if (found->kernel.workspace_bytes != nullptr) {
    call.workspace_bytes = found->kernel.workspace_bytes(&call);
    f.workspace.resize(call.workspace_bytes / sizeof(double) + 1);
    call.workspace = f.workspace.data();
  }
  if (found->kernel.run(&call, nullptr) != MOTE_OK) throw Error(f.message.data());
  std::vector<Array> results;
  for (std::size_t k = p.present.size(); k < f.memory.size(); ++k) {
    results.push_back(f.memory[k].array());
  }
  return results;
}

/// Returns the greatest magnitude if all reals are integers; nullopt otherwise.
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

/// True if the op is one +, -, *, / or root of its inputs: IEEE 754 defines one result, and a
/// double as an intermediate of a narrower format does not change it (2p + 2 bits are enough).
bool is_rounded_once(const Program& program) {
  const std::vector<Uop> outputs = roots(program);
  int rounded = 0;
  for (const Uop& u : topological(outputs)) {
    const uop::Kind& kind = u.node().kind;
    if (std::holds_alternative<uop::Input>(kind) || std::holds_alternative<uop::Scalar>(kind)) {
      continue;
    }
    const auto* map = std::get_if<uop::Map>(&kind);
    using enum MapOp;
    static constexpr std::array kCorrect = {add, sub, mul, div, recip, sqrt};
    if (map == nullptr || std::ranges::find(kCorrect, map->op) == kCorrect.end()) return false;
    ++rounded;
  }
  return rounded == 1;
}

void expect_evaluated(const Prepared& p, const std::vector<Array>& results) {
  const std::vector<Array> meant = evaluate(*p.program, p.present, p.params);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k] == meant[k]) continue;
    throw Error(
        fmt::format("{}: the generated C and evaluate disagree on output {}", p.record.name, k));
  }
}

}  // namespace

std::vector<Array> Kernels::run_all(const std::string& op, DType dtype,
                                    const std::vector<const Array*>& inputs, const Params& params) {
  const Prepared p = prepare(op, dtype, inputs, params);
  std::vector<Dims> shapes;
  for (const Array& a : p.present) shapes.push_back(a.shape);
  const Binding binding = mote::bind(*p.program, shapes, p.params);
  std::vector<Array> results = run_generated(p, binding.outputs);
  if (multiply_adds(*p.program, binding) <= kMaxEvaluated) {
    expect_evaluated(p, results);
    ++evaluated_;
  }
  ++calls_;
  ops_.insert(op);
  if (!must_be_exact(p, binding)) ++(is_rounded_once(*p.program) ? rounded_ : inexact_);
  return results;
}

Array Kernels::run(const std::string& op, DType dtype, const std::vector<const Array*>& inputs,
                   const Params& params) {
  return std::move(run_all(op, dtype, inputs, params).front());
}

}  // namespace mote::onnx
