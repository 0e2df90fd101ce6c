// SPDX-License-Identifier: Apache-2.0
// Adds hypotheses with another formula in one location of the op's program.
#include "blocks/evaluate.h"
#include "diagnosis/altered.h"
#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

std::optional<std::vector<Dense>> by_program(const Observed& of,
                                             const std::shared_ptr<const Program>& program) {
  std::vector<Dense> outputs;
  for (const Dense& y : of.expected) outputs.emplace_back(y.dtype(), y.count());
  try {
    blocks::Evaluator(program, blocks::Way::plain).run(of.of, of.inputs, outputs);
  } catch (const Error&) {  // an index divides by 0, an empty argmax
    return std::nullopt;
  }
  return outputs;
}

}  // namespace

std::vector<Hypothesis> formula_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const Altered& altered : altered_programs(*o.of.program))
    all.push_back(
        {altered.kind, "",
         [program = altered.program](const Observed& of) { return by_program(of, program); }, false,
         [altered] { return altered.text(); }});
  return all;
}

}  // namespace mote::diagnosis
