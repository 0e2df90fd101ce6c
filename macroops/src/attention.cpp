// Attention, and the rotation of its queries and keys by position.
#include <limits>

#include "families.h"

namespace mote {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// y and the log of the sum of exp(scores), both with an axis for the heads of k and v and one for
/// the queries that share a head. Keys that causal hides are left out of every sum.
std::pair<Uop, Uop> attend(const Uop& q, const Uop& k, const Uop& v, const Uop& mask) {
  const DType t = q.dtype();
  const Shape rows = {"B", "HK", "G", "T", "S"}, products = {"B", "HK", "G", "T", "S", "D"};
  const Shape values = {"B", "HK", "G", "T", "E", "S"};
  const IndexText head = "i1*G + i2";
  const auto visible = [](const Shape& shape, const char* key) {
    const Expr limit = parse_expr("i3 + $anchor*(S - T) + (1 - $causal)*(S + T)").expr;
    return iota(limit - parse_expr(key).expr, shape) >= 0;
  };
  const Uop given = param("scale", t);
  const Uop scale = where(eq(given, 0), rsqrt(index_as("D", {}, t)), given);
  Uop scores = scale * sum_over(reindex(q, products, {"i0", head, "i3", "i5"}) *
                                    broadcast(k, products, {0, 1, 4, 5}),
                                {5});
  if (mask) scores = scores + reindex(mask, rows, {"i0", head, "i3", "i4"});
  const Uop greatest = stop_gradient(max(where(visible(rows, "i4"), scores, -kInfinity), {4}));
  const Uop m = where(eq(greatest, -kInfinity), 0, greatest);
  const Uop e = exp(scores - m);
  const Uop total = sum_over(where(visible(rows, "i4"), e, 0), {4});
  const Uop weighted = broadcast(e, values, {0, 1, 2, 3, 5}) * broadcast(v, values, {0, 1, 5, 4});
  const Uop mixed = sum_over(where(visible(values, "i5"), weighted, 0), {5});
  const Uop sums = broadcast(total, shape_of(mixed), {0, 1, 2, 3});
  return {where(eq(sums, 0), 0, mixed / sums), squeeze(m, {4}) + log(total)};
}

ProgramSpec attention(const Instance& instance, bool with_lse) {
  const DType t = instance.dtype;
  const Uop q = input("q", t, {"B", "h: HK*G", "T", "D"});
  const Uop k = input("k", t, {"B", "HK", "S", "D"});
  const Uop v = input("v", t, {"B", "HK", "S", "E"});
  const Uop mask = optional_input(instance, 3, "mask", {"1|B", "1|HK*G", "1|T", "1|S"});
  const auto [grouped, sums] = attend(q, k, v, mask);
  const Uop y = reindex(grouped, {"B", "h: HK*G", "T", "E"}, {"i0", "i1/G", "i1%G", "i2", "i3"});
  if (!with_lse) return spec({q, k, v, mask}, y);
  const Uop lse = reindex(sums, {"B", "h: HK*G", "T"}, {"i0", "i1/G", "i1%G", "i2"});
  return spec({q, k, v, mask}, {{"y", y}, {"lse", lse}});
}

OpRecord attention_record(bool with_lse) {
  return {.name = with_lse ? "attention_with_lse" : "attention",
          .family = "linear",
          .equation = std::string("y[b, h, t, e] = sum_s p[s] * v[b, h/G, s, e], p = softmax_s "
                                  "(scale * sum_d q[b, h, t, d] * k[b, h/G, s, d] "
                                  "(+ mask[b, h, t, s] if there is mask))") +
                      (with_lse ? "; lse[b, h, t] = the log of softmax's sum of exp" : ""),
          .inputs = {{"q"}, {"k"}, {"v"}, {"mask", true}},
          .dtypes = dtypes::kReal,
          .params = {value_param("scale", 0, "factor of the scores; 0 stands for 1/sqrt(D)"),
                     flag_param("causal", 0, "1: query t sees keys s <= t + anchor*(S - T)"),
                     flag_param("anchor", 0,
                                "0: causal from the top left; 1: from the bottom "
                                "right, the last query sees all")},
          .in_place = {},
          .policy =
              "G queries share a head of k and v; keys that causal hides do not exist; mask "
              "is added, -inf hides; a fully masked row gives 0, lse -inf",
          .source = "PyTorch scaled_dot_product_attention; ONNX opset 23 Attention",
          .define = [with_lse](const Instance& i) { return attention(i, with_lse); }};
}

ProgramSpec rope(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"B", "H", "T", "pair: 2", "P"});
  const Shape shape = shape_of(x);
  const Uop power = index_as("-i4", shape, t) / index_as("P", shape, t);
  const Uop angle = index_as("i2 + $offset", shape, t) * pow(param("base", t), power);
  const Uop s = map(MapOp::sin, std::vector<Uop>{angle});
  const Uop c = map(MapOp::cos, std::vector<Uop>{angle});
  const Uop partner = reindex(x, shape, {"i0", "i1", "i2", "1 - i3", "i4"});
  return spec({x}, x * c + partner * where(eq(iota("i3", shape), 0), -s, s));
}

}  // namespace

std::vector<OpRecord> attention_ops() {
  return {
      attention_record(false),
      attention_record(true),
      {.name = "rope",
       .family = "sequence",
       .equation = "y[0, p] = x[0, p]*cos a - x[1, p]*sin a, y[1, p] = x[1, p]*cos a + "
                   "x[0, p]*sin a, a = (t + offset) * base^(-p/P), for each b, h, t",
       .inputs = {{"x"}},
       .dtypes = dtypes::kReal,
       .params = {offset_param("offset", 0, "position of t = 0"),
                  value_param("base", 10000, "the slowest wavelength is near 2 pi base")},
       .in_place = {},
       .policy = "both pairings are strides of x[B, H, T, 2, P]: halves (d, d + P) are its "
                 "row-major view, neighbours (2p, 2p + 1) the view with strides 1 and 2",
       .source = "Su et al., RoFormer, 2021; ONNX opset 23 RotaryEmbedding",
       .define = rope},
  };
}

}  // namespace mote
