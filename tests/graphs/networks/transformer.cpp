// SPDX-License-Identifier: Apache-2.0
// A Transformer of the form of GPT-2. Rows are tokens: [batch * tokens, channels]. Heads are views:
// attention reads slices of one product, and writes a view of its result.
#include <array>

#include "layers.h"
#include "mote/runtime/command.h"

namespace mote::networks {
namespace {

/// Returns [batch * tokens, channels] as [batch, heads, tokens, channels / heads].
TensorSymbol heads(SymbolicGraph& g, TensorSymbol x, const Transformer& s) {
  const TensorSymbol split = g.reshape(x, {s.batch, s.tokens, s.heads, s.channels / s.heads});
  return g.permute(split, {0, 2, 1, 3});
}

TensorSymbol attention(Layers& layers, TensorSymbol x, const Transformer& s) {
  SymbolicGraph& g = layers.graph();
  const TensorSymbol qkv = layers.linear(x, 3 * s.channels);
  std::array<TensorSymbol, 3> parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto first = static_cast<std::int64_t>(k) * s.channels;
    parts[k] = heads(g, g.slice(qkv, 1, first, s.channels), s);
  }
  const TensorSymbol y = g.tensor(g.form(x));
  const TensorSymbol by_head = heads(g, y, s);
  g.write(Command("attention", {{"causal", 1}}), parts, std::span(&by_head, 1));
  return layers.linear(y, s.channels);
}

TensorSymbol wide_layers(Layers& layers, TensorSymbol x, const Transformer& s) {
  const TensorSymbol wide = layers.graph().add("gelu_tanh", {layers.linear(x, 4 * s.channels)});
  return layers.linear(wide, s.channels);
}

}  // namespace

Network transformer(Mode mode, const Transformer& s) {
  Layers layers("transformer", mode);
  SymbolicGraph& g = layers.graph();
  const TensorSymbol tokens = layers.input("tokens", DType::i64, {s.batch, s.tokens});
  const TensorSymbol table = layers.parameter("tokens.weight", {s.vocabulary, s.channels});
  const TensorSymbol locations = layers.parameter("positions.weight", {s.tokens, s.channels});
  const AxisList rows = {s.batch * s.tokens};
  TensorSymbol x = g.add("embedding", {table, g.reshape(tokens, rows)});
  x = g.add("add", {g.reshape(x, {s.batch, s.tokens, s.channels}), locations});
  x = g.reshape(x, {rows[0], s.channels});
  for (int block = 0; block < s.blocks; ++block) {
    x = g.add("add", {x, attention(layers, layers.layer_norm(x), s)});
    x = g.add("add", {x, wide_layers(layers, layers.layer_norm(x), s)});
  }
  x = layers.layer_norm(x);
  const TensorSymbol logits = g.add("matmul", {x, g.permute(table, {1, 0})});
  if (mode == Mode::inference) return layers.finish(logits);
  const TensorSymbol labels = layers.input("labels", DType::i64, {s.batch, s.tokens});
  return layers.finish(logits, g.reshape(labels, rows));
}

}  // namespace mote::networks
