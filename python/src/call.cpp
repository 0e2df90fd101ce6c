// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/oracle/resolve.h"
#include "mote/runtime/canonical.h"
#include "mote/runtime/command.h"
#include "mote/runtime/infer.h"

namespace mote::python {
namespace {

/// A view of the tensor with the axes of `form.whole`: it has none of stride 0 of its own.
Tensor repeated(const Tensor& x, const CanonicalForm& form) {
  AxisList strides;
  for (std::size_t k = 0; k < form.axes.size(); ++k) {
    const int own = form.axes[k];
    const bool repeats = own == kRepeated || x.extent(own) == 1;
    strides.push_back(repeats ? 0 : x.stride(own));
  }
  return Tensor::over(x.data(), x.dtype(), form.whole, strides);
}

std::string first_word(const std::string& command) {
  std::string word;
  std::istringstream(command) >> word;
  return word;
}

/// Parameters that the text gives, and the defaults of the others. Throws Error for one without.
std::map<std::string, Number> params_of(const Program& program, const std::string& command,
                                        std::span<const mote_param> given) {
  std::map<std::string, Number> params;
  for (const ParamDecl& p : program.params) {
    const auto same = [&](const mote_param& g) { return p.name == g.name; };
    const auto at = std::ranges::find_if(given, same);
    if (at != given.end()) {
      const double real = at->is_real != 0 ? at->real : static_cast<double>(at->integer);
      params[p.name] = p.is_integer ? Number(at->integer) : Number(real);
    } else if (p.default_value) {
      params[p.name] = p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                                    : Number(*p.default_value);
    } else {
      throw Error(fmt::format("{}: parameter {} is missing", command, p.name));
    }
  }
  return params;
}

/// "eps=0.5 k=2" behind the name of a program file.
std::vector<mote_param> params_in(const Program& program, const std::string& command) {
  std::vector<mote_param> params;
  std::istringstream words(command);
  std::string word;
  words >> word;
  while (words >> word) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    const auto is_named = [&](const ParamDecl& p) { return p.name == name; };
    const auto p = std::ranges::find_if(program.params, is_named);
    if (at == std::string::npos || p == program.params.end())
      throw Error(fmt::format("{}: it has no parameter '{}'", command, name));
    const std::string value = word.substr(at + 1);
    try {
      if (p->is_integer)
        params.push_back({p->name.c_str(), 0, std::stoll(value), 0});
      else
        params.push_back({p->name.c_str(), 1, 0, std::stod(value)});
    } catch (const std::logic_error&) {
      throw Error(fmt::format("{}: {}: expected a number, got '{}'", command, name, value));
    }
  }
  return params;
}

DType dtype_for(const Target& target, const std::vector<const Tensor*>& inputs) {
  for (const Tensor* x : inputs) {
    if (x == nullptr) continue;
    const auto& possible = target.possible_dtypes();
    if (std::ranges::find(possible, x->dtype()) != possible.end()) return x->dtype();
  }
  return target.dtypes().front();
}

/// The case without its data; `canonical` gives the shapes, or null: those of the tensors.
void shape(Call& call, const std::vector<const Tensor*>& inputs, const CanonicalCall* canonical) {
  const auto& declared = call.of.target->inputs();
  for (const Uop& input : call.of.program->inputs) {
    const std::string& name = std::get<uop::Input>(input.node().kind).name;
    const auto at = static_cast<std::size_t>(
        std::ranges::find(declared, name, &InputDecl::name) - declared.begin());
    const Tensor& x = *inputs.at(at);
    if (x.dtype() != input.dtype())
      throw Error(fmt::format("{}: {}: expected {}, got {}", call.of.target->op(), name,
                              mote::name(input.dtype()), mote::name(x.dtype())));
    const AxisList extents = canonical != nullptr ? canonical->inputs[at].merged : x.shape();
    call.of.inputs.push_back({.name = name,
                              .dtype = x.dtype(),
                              .shape = {extents.begin(), extents.end()},
                              .layout = {}});
    call.inputs.push_back(dense_of(canonical != nullptr ? repeated(x, canonical->inputs[at]) : x));
  }
}

void compute(Call& call) {
  const auto reference = reference_for(call.of);
  for (const CaseTensor& t : call.of.outputs)
    call.expected.emplace_back(t.dtype, volume(t.shape));
  reference->run(call.of, call.inputs, call.expected);
}

Instance instance_of(const Target& target, const std::vector<const Tensor*>& inputs) {
  Instance instance{dtype_for(target, inputs), 0};
  for (std::size_t k = 0; k < target.inputs().size(); ++k) {
    if (k < inputs.size() && inputs[k] != nullptr) {
      instance.input_mask |= mask_bit(k);
    } else if (!target.inputs()[k].optional) {
      throw Error(fmt::format("{}: input {} is missing", target.op(), target.inputs()[k].name));
    }
  }
  return instance;
}

}  // namespace

Dense dense_of(const Tensor& x) {
  const Tensor whole = x.is_contiguous() ? x : clone(x);
  Dense dense(x.dtype(), x.element_count());
  if (dense.count() > 0)
    std::memcpy(dense.data(), whole.data(),
                static_cast<std::size_t>(dense.count()) * size_of(x.dtype()));
  return dense;
}

Tensor tensor_of_dense(const Dense& x, const AxisList& shape) {
  Tensor y(x.dtype(), shape);
  if (x.count() > 0)
    std::memcpy(y.data(), x.data(), static_cast<std::size_t>(x.count()) * size_of(x.dtype()));
  return y;
}

Call call_of(const std::string& command, const std::vector<const Tensor*>& inputs) {
  const std::string op = first_word(command);
  Call call;
  call.of.target = find_target(op);
  const Target& target = *call.of.target;
  if (inputs.size() > target.inputs().size())
    throw Error(fmt::format("{}: it has {} inputs, got {}", op, target.inputs().size(),
                            inputs.size()));
  call.of.instance = instance_of(target, inputs);
  call.of.program = target.program(call.of.instance);
  if (target.is_file()) {
    call.of.params = params_of(*call.of.program, command, params_in(*call.of.program, command));
    shape(call, inputs, nullptr);
    complete(call.of);
    for (const CaseTensor& t : call.of.outputs)
      call.output_shapes.emplace_back(t.shape);
  } else {
    const Command parsed = parse_command(command);
    std::vector<TensorForm> kept;
    std::vector<const TensorForm*> forms, outputs;
    for (const Tensor* x : inputs) kept.push_back(x != nullptr ? x->form() : TensorForm());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      forms.push_back(inputs[k] != nullptr ? &kept[k] : nullptr);
    forms.resize(target.inputs().size());
    const std::vector<TensorForm> inferred = infer(parsed, forms, call.of.instance.dtype);
    for (const TensorForm& y : inferred) outputs.push_back(&y);
    const CanonicalCall canonical = canonical_forms(parsed, forms, outputs);
    call.of.params = params_of(*call.of.program, command, parsed.params());
    shape(call, inputs, &canonical);
    complete(call.of);
    const mote_op_definition& definition = parsed.definition();
    for (const CaseTensor& t : call.of.outputs)
      for (std::size_t k = 0; k < inferred.size(); ++k)
        if (t.name == definition.outputs[k].name) call.output_shapes.push_back(inferred[k].shape);
  }
  compute(call);
  return call;
}

}  // namespace mote::python
