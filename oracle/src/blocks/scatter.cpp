// SPDX-License-Identifier: Apache-2.0
// Has a loop for each operation and each kind of positions.
#include "scatter.h"

#include <algorithm>

#include "mote/uops/evaluate.h"

namespace mote::blocks {
namespace {

using I64 = std::int64_t;

/// Replaces the old value by Map's min (max) of it and the element.
template <bool kLeast>
void take_extreme(Cell& old, Cell x) {
  const double end = (kLeast ? old.real < x.real : old.real > x.real) ? old.real : x.real;
  old.real = old.real != old.real ? old.real : end;
}

/// Takes pieces of equal steps: element k of piece j goes to offsets[j] + step k.
template <typename From, typename Onto>
void take_pieces(Cell* y, const Stretch& s, const From& from, const Onto& onto) {
  I64 skipped = s.skipped;
  const I64* offset = s.offsets;
  for (I64 done = 0; done < s.count; ++offset) {
    const I64 n = std::min(s.piece - skipped, s.count - done);
    Cell* const begin = y + *offset + skipped * s.step;
    for (I64 k = 0; k < n; ++k) onto(begin[k * s.step], from(done + k));
    done += n;
    skipped = 0;
  }
}

template <typename From, typename Onto>
void take_stretch(Cell* result, const Stretch& s, const From& from, const Onto& onto) {
  Cell* const y = result + s.base;
  if (!s.inside) {
    for (I64 k = 0; k < s.count; ++k)
      if (s.offsets[k] >= 0) onto(y[s.offsets[k]], from(k));
  } else if (s.piece > 0) {
    take_pieces(y, s, from, onto);
  } else if (s.offsets != nullptr) {
    for (I64 k = 0; k < s.count; ++k) onto(y[s.offsets[k]], from(k));
  } else if (s.step == 0) {
    Cell one = *y;
    for (I64 k = 0; k < s.count; ++k) onto(one, from(k));
    *y = one;
  } else if (s.step == 1) {
    for (I64 k = 0; k < s.count; ++k) onto(y[k], from(k));
  } else {
    for (I64 k = 0; k < s.count; ++k) onto(y[k * s.step], from(k));
  }
}

template <typename Onto>
void take_all(Cell* y, const Operand& x, std::span<const Stretch> to, const Onto& onto) {
  I64 done = 0;
  for (const Stretch& s : to) {
    if (x.single) {
      const Cell one = *x.at;
      take_stretch(
          y, s, [one](I64) { return one; }, onto);
    } else {
      const Cell* const from = x.at + done;
      take_stretch(
          y, s, [from](I64 k) { return from[k]; }, onto);
    }
    done += s.count;
  }
}

}  // namespace

void scatter_onto(ScatterOp op, DType dtype, Cell* y, const Operand& x,
                  std::span<const Stretch> to) {
  if (op == ScatterOp::set) return take_all(y, x, to, [](Cell& old, Cell v) { old = v; });
  if (is_real(dtype)) {
    switch (op) {
      case ScatterOp::add:
        return take_all(y, x, to, [](Cell& old, Cell v) { old.real += v.real; });
      case ScatterOp::mul:
        return take_all(y, x, to, [](Cell& old, Cell v) { old.real *= v.real; });
      case ScatterOp::min:
        return take_all(y, x, to, take_extreme<true>);
      case ScatterOp::max:
        return take_all(y, x, to, take_extreme<false>);
      default:
        break;
    }
  }
  take_all(y, x, to, [&](Cell& old, Cell v) {
    old = cell_of(apply(op, number_of(old, dtype), number_of(v, dtype), dtype));
  });
}

}  // namespace mote::blocks
