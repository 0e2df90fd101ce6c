// SPDX-License-Identifier: Apache-2.0
// Computes Einstein sums of one or two tensors by reductions, permutations and a batched product.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// The labels of an Einstein sum: of each input, and of the output.
struct Labels {
  std::vector<std::string> inputs;
  std::string output;
};

/// Replaces "..." by one capital letter for each unlabelled axis; inputs with fewer such axes get
/// the last letters.
std::string spelt_out(std::string labels, std::size_t unnamed) {
  const std::size_t dots = labels.find("...");
  if (dots == std::string::npos) return labels;
  std::string names;
  for (std::size_t k = 0; k < unnamed; ++k) names += static_cast<char>('Z' - (unnamed - 1 - k));
  return labels.replace(dots, 3, names);
}

Labels labels_of(const Call& c) {
  std::string text = c.text("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Labels labels;
  std::size_t most = 0;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    const std::size_t comma = left.find(',');
    const std::string own = left.substr(0, comma);
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
    const std::size_t named = own.size() - (own.find("...") == std::string::npos ? 0 : 3);
    const std::size_t unnamed = c.in(k).shape.size() - std::min(named, c.in(k).shape.size());
    most = std::max(most, unnamed);
    labels.inputs.push_back(spelt_out(own, unnamed));
    if (labels.inputs.back().size() != c.in(k).shape.size()) {
      throw Error(fmt::format("Einsum: '{}' for a tensor of rank {}", own, c.in(k).shape.size()));
    }
  }
  if (arrow != std::string::npos) {
    labels.output = spelt_out(text.substr(arrow + 2), most);
    return labels;
  }
  std::string all;
  for (const std::string& own : labels.inputs) all += own;
  for (const char label : std::set<char>(all.begin(), all.end())) {
    const bool unnamed = label <= 'Z' && text.find(label) == std::string::npos;
    if (unnamed || std::ranges::count(all, label) == 1) labels.output += label;
  }
  return labels;
}

/// Takes the diagonal of axes with the same label: a view whose stride is the sum of both.
Array without_diagonals(Array x, std::string& labels) {
  for (std::size_t first = 0; first < labels.size(); ++first) {
    const std::size_t second = labels.find(labels[first], first + 1);
    if (second == std::string::npos) continue;
    x = diagonal(x, first, second);
    labels.erase(second, 1);
    --first;  // looks for a third axis of the same label
  }
  return x;
}

/// Returns x's axes in the order of `wanted`; all others are summed.
Array arranged(const Call& c, Array x, std::string labels, const std::string& wanted) {
  std::vector<std::size_t> summed;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (wanted.find(labels[k]) == std::string::npos) summed.push_back(k);
  }
  if (!summed.empty()) x = c.reduce("sum", x, summed, false);
  std::erase_if(labels, [&](char l) { return wanted.find(l) == std::string::npos; });
  std::vector<std::size_t> order;
  for (const char l : wanted) order.push_back(labels.find(l));
  return labels == wanted ? x : c.transpose(x, order);
}

/// Labels of both inputs and the output are batches; labels of both inputs only are summed.
Outputs einsum(const Call& c) {
  Labels labels = labels_of(c);
  std::vector<Array> in;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    in.push_back(without_diagonals(c.in(k), labels.inputs[k]));
  }
  if (c.input_count() == 1) return {arranged(c, in[0], labels.inputs[0], labels.output)};
  if (c.input_count() != 2) throw NotApplicable("Einsum of more than two tensors");
  const std::string &a = labels.inputs[0], &b = labels.inputs[1];
  std::string batch, summed, rows, columns;
  for (const char l : a) {
    const bool in_b = b.find(l) != std::string::npos;
    const bool kept = labels.output.find(l) != std::string::npos;
    if (in_b) (kept ? batch : summed) += l;
    if (!in_b && kept) rows += l;
  }
  for (const char l : b) {
    if (a.find(l) == std::string::npos && labels.output.find(l) != std::string::npos) columns += l;
  }
  const Array left = arranged(c, in[0], a, batch + rows + summed);
  const Array right = arranged(c, in[1], b, batch + summed + columns);
  const std::size_t n = batch.size(), m = n + rows.size(), k = n + summed.size();
  const Dims &s = left.shape, &t = right.shape;
  const Array product =
      c.matmul(reshaped(left, {volume(s, 0, n), volume(s, n, m), volume(s, m, s.size())}),
               reshaped(right, {volume(t, 0, n), volume(t, n, k), volume(t, k, t.size())}));
  Dims shape(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(m));
  shape.insert(shape.end(), t.begin() + static_cast<std::ptrdiff_t>(k), t.end());
  return {arranged(c, reshaped(product, shape), batch + rows + columns, labels.output)};
}

}  // namespace

Adapters einsum_adapters() { return {{"Einsum", einsum}}; }

}  // namespace mote::onnx
