// SPDX-License-Identifier: Apache-2.0
// Makes the gradient that a kernel computes. It reads those of the program's outputs whose value
// makes it compute less, or read less.
#include <algorithm>
#include <tuple>

#include "mote/uops/gradient.h"
#include "mote/uops/invert.h"

namespace mote {
namespace {

/// The cost of a gradient, compared in this order: its sums, scatters and functions; the tensors
/// that it reads.
using Work = std::tuple<std::ptrdiff_t, std::ptrdiff_t>;

bool is_costly(const Uop& u) {
  const uop::Kind& kind = u.node().kind;
  const auto* map = std::get_if<uop::Map>(&kind);
  return std::holds_alternative<uop::Reduce>(kind) || std::holds_alternative<uop::Scatter>(kind) ||
         std::holds_alternative<uop::SelectScatter>(kind) ||
         (map != nullptr && is_transcendental(map->op));
}

Work work_of(const Gradient& g) {
  const std::vector<Uop> outputs = roots(g.program);
  std::ptrdiff_t read = 0;
  for (const auto* needs : {&g.gradients, &g.inputs, &g.outputs})
    read += std::ranges::count(*needs, Need::value);
  return {std::ranges::count_if(topological(outputs), is_costly), read};
}

/// Returns the outputs whose value `g` reads.
std::vector<std::string> read_outputs(const Program& program, const Gradient& g) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    if (g.outputs[k] == Need::value) names.push_back(program.outputs[k].name);
  return names;
}

bool can_be_given(const Output& o) { return o.name.back() < '0' || o.name.back() > '9'; }

}  // namespace

std::vector<std::string> outputs_that_spare(const Program& program, GradientRequest request) {
  request.outputs.clear();
  for (const Output& o : program.outputs)
    if (can_be_given(o)) request.outputs.push_back(o.name);
  const Gradient all = gradient(program, request);
  Work work = work_of(all);
  request.outputs = read_outputs(program, all);
  for (const std::string& name : std::vector(request.outputs)) {
    GradientRequest less = request;
    std::erase(less.outputs, name);
    const Work without = work_of(gradient(program, less));
    if (without > work) continue;
    request = std::move(less);
    work = without;
  }
  return request.outputs;
}

Gradient gradient_kernel(const Program& program, GradientRequest request) {
  if (request.outputs.empty()) request.outputs = outputs_that_spare(program, request);
  Gradient g = gradient(program, request);
  g.program = invert(g.program);
  return g;
}

}  // namespace mote
