// SPDX-License-Identifier: Apache-2.0
// The table of replacements, which holds mote's own from the start.
#include "passes/replacements.h"

#include <mutex>

#include "fail.h"
#include "sequence/sequence_ops.h"

namespace mote {
namespace {

std::string graph_text(const char* inputs, const char* nodes) {
  return std::string("graph p(") + inputs + ") -> (y)\n" + nodes;
}

struct ReplacementTable {
  std::mutex mutex;
  std::vector<Replacement> rows;
  Patterns exact, all;  ///< of the global registry; null until they are asked for

  ReplacementTable() {
    const char* x_w_b = "x f32[?], w f32[?], b f32[?]";
    rows.push_back({.name = "conv2d_relu",
                    .pattern = graph_text(x_w_b, "  h = conv2d(x, w, b)\n  y = relu(h)\n"),
                    .by = graph_text(x_w_b, "  y = conv2d_relu(x, w, b)\n"),
                    .is_exact = true,
                    .exact_dtypes = {DType::f32, DType::f64},
                    .reason = "relu rounds nothing; where the sum is rounded to 16 bits before "
                              "it, a tiny negative one becomes -0, which relu keeps"});
    const char* a_b = "a f32[?], b f32[?]";
    rows.push_back({.name = "sub",
                    .pattern = graph_text(a_b, "  n = neg(b)\n  y = add(a, n)\n"),
                    .by = graph_text(a_b, "  y = sub(a, b)\n"),
                    .is_exact = false,
                    .reason = "the sign of a NaN in b differs"});
    rows.push_back({.name = "add",
                    .pattern = graph_text(a_b, "  n = neg(b)\n  y = sub(a, n)\n"),
                    .by = graph_text(a_b, "  y = add(a, b)\n"),
                    .is_exact = false,
                    .reason = "the sign of a NaN in b differs"});
    rows.push_back({.name = "silu",
                    .pattern = graph_text("x f32[?]", "  s = sigmoid(x)\n  y = mul(x, s)\n"),
                    .by = graph_text("x f32[?]", "  y = silu(x)\n"),
                    .is_exact = false,
                    .reason = "silu does not round the sigmoid"});
    for (Replacement& row : sequence_rows()) rows.push_back(std::move(row));
  }
};

ReplacementTable& table_of_replacements() {
  static ReplacementTable table;
  return table;
}

}  // namespace

void register_replacement(Replacement replacement) {
  if (replacement.name.empty()) fail_graph("a replacement needs a name");
  const Pattern checked(replacement, Registry::global());
  const std::lock_guard lock(table_of_replacements().mutex);
  for (const Replacement& row : table_of_replacements().rows)
    if (row.name == replacement.name)
      fail_graph("there is a replacement " + replacement.name + " already");
  table_of_replacements().rows.push_back(std::move(replacement));
  table_of_replacements().exact = table_of_replacements().all = nullptr;
}

std::vector<Replacement> replacements() {
  const std::lock_guard lock(table_of_replacements().mutex);
  return table_of_replacements().rows;
}

namespace {

Patterns read_patterns(const std::vector<Replacement>& rows, const Registry& registry,
                       bool inexact) {
  auto patterns = std::make_shared<std::vector<Pattern>>();
  for (const Replacement& row : rows) {
    if (!row.is_exact && !inexact) continue;
    try {
      patterns->emplace_back(row, registry);
    } catch (const StatusError&) {
      // The global registry has the ops, which register_replacement() checks; this one lacks some.
      if (&registry == &Registry::global()) throw;
    }
  }
  return patterns;
}

}  // namespace

Patterns patterns_of(const Registry& registry, bool inexact) {
  if (&registry != &Registry::global()) return read_patterns(replacements(), registry, inexact);
  ReplacementTable& table = table_of_replacements();
  const std::lock_guard lock(table.mutex);
  Patterns& known = inexact ? table.all : table.exact;
  if (known == nullptr) known = read_patterns(table.rows, registry, inexact);
  return known;
}

}  // namespace mote
