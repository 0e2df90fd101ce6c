// SPDX-License-Identifier: Apache-2.0
// The gradient of attention, from the weight of each pair of query and key:
// p = exp(score - lse), gp = sum_e gy v, gscore = p (gp - sum_e gy y + glse).
// These are computed twice, for each query to get gq and for each key to get gk and gv, so that
// only one row of them is ever kept.
#include <limits>

#include "attention.h"

namespace mote::attention {
namespace {

class Gradient {
 public:
  Gradient(const Instance& instance, const Form& form, const Uop& gy, const Uop& glse)
      : form_(form), in_(operands(instance)), gy_(gy), glse_(glse) {
    y_ = input("y", instance.dtype, shape_of(gy));
    common_ = sum_over(grouped(gy * y_), {4});
    if (glse) common_ = common_ - grouped(glse);
    if (form.lse) {
      lse_ = input("lse", instance.dtype, {"B", "h: HK*G", "T"});
    } else {
      softmax_ = softmax(scores(in_, by_query(), form).value, form);
    }
  }

  ProgramSpec run() const {
    const Row query = row(by_query()), key = row(by_key());
    ProgramSpec spec;
    spec.inputs = {gy_, glse_, in_.q, in_.k, in_.v, in_.mask, y_, lse_};
    const Uop gq = times(query.gproduct, of_key(in_.k, by_query()), by_query());
    const Uop gk = times(key.gproduct, of_query(in_.q, by_key()), by_key());
    const Uop gv = times(key.p, of_query(gy_, by_key()), by_key());
    spec.outputs = {{"gq", joined(sum_over(gq, {4}))},
                    {"gk", sum_over(gk, {3, 4})},
                    {"gv", sum_over(gv, {3, 4})}};
    if (in_.mask)
      spec.outputs.push_back({"gmask", joined(where_seen(query.gscore, by_query(), form_))});
    return spec;
  }

 private:
  /// The values at each pair: p, and the gradients of the score and of the product of q and k.
  struct Row {
    Uop p, gscore, gproduct;
  };

  Row row(const Pairs& pairs) const {
    const Scores s = scores(in_, pairs, form_);
    const Uop p = share(s.value, pairs);
    const Uop gp = sum_over(of_query(gy_, pairs) * of_key(in_.v, pairs), {5});
    const Uop gscore = p * (gp - of_row(common_, pairs));
    return {p, gscore, gscore * s.slope};
  }

  /// Returns p, which is 0 in a row that sees no key.
  Uop share(const Uop& score, const Pairs& pairs) const {
    if (form_.lse) {
      const Uop lse = of_row(grouped(lse_), pairs);
      return where(eq(lse, -std::numeric_limits<double>::infinity()), 0, exp(score - lse));
    }
    const Uop total = of_row(softmax_.total, pairs);
    const bool is_kept = &pairs == &by_query();
    const Uop e = is_kept ? softmax_.e : exp(score - of_row(softmax_.m, pairs));
    return where(eq(total, 0), 0, e / total);
  }

  /// Returns weight * x at each pair and each element of x's last axis.
  Uop times(const Uop& weight, const Uop& x, const Pairs& pairs) const {
    return where_seen(broadcast(weight, shape_of(x), {0, 1, 2, 3, 4}) * x, pairs, form_);
  }

  Form form_;
  Operands in_;
  Uop gy_, glse_, y_, lse_;
  Uop common_;  ///< sum_e gy y - glse, [B, HK, G, T]
  Softmax softmax_;
};

}  // namespace

ProgramSpec gradient(const Instance& instance, const Form& form, const Uop& gy, const Uop& glse) {
  return Gradient(instance, form, gy, glse).run();
}

}  // namespace mote::attention
