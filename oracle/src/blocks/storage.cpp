// SPDX-License-Identifier: Apache-2.0
// Uses inputs in place if possible, and allocates memory for the rest.
#include "storage.h"

#include <algorithm>

#include "mote/uops/evaluate.h"

namespace mote::blocks {
namespace {

/// Stores integers, since compilers do not combine stores of a union.
void fill_cells(Cell* to, std::int64_t count, Cell value) {
  std::int64_t* const bits = &to->whole;
  const std::int64_t v = value.whole;
  for (std::int64_t k = 0; k < count; ++k) bits[k] = v;
}

Cells uninitialised(std::size_t count) {
  return Cells(static_cast<Cell*>(::operator new(count * sizeof(Cell), kCellAlignment)));
}

Cell as_cell(Cell c) { return c; }
Cell as_cell(float v) { return {.real = v}; }

/// Reads elements that are a step apart.
template <typename Element>
void read_line(const Element* from, std::int64_t step, std::int64_t count, Cell* to) {
  if (step == 0) {
    fill_cells(to, count, as_cell(*from));
  } else if (step == 1) {
    for (std::int64_t k = 0; k < count; ++k) to[k] = as_cell(from[k]);
  } else {
    for (std::int64_t k = 0; k < count; ++k) to[k] = as_cell(from[k * step]);
  }
}

/// Merges axes if the inner one ends where the outer one continues; the last is the row.
void merge_axes(Extents& shape, Extents& strides) {
  Extents extents{1};
  Extents steps{0};
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 1) continue;
    if (extents.back() != 1 && steps.back() != strides[k] * shape[k]) {
      extents.push_back(1);
      steps.push_back(0);
    }
    extents.back() *= shape[k];
    steps.back() = strides[k];
  }
  shape = std::move(extents);
  strides = std::move(steps);
}

/// Reads all elements, in row-major order, of a tensor with those strides.
template <typename Element>
void read_all(const Element* from, Extents shape, Extents strides, Cell* to) {
  merge_axes(shape, strides);
  const std::int64_t count = shape.back();
  const std::int64_t step = strides.back();
  if (count == 0) return;
  shape.pop_back();
  strides.pop_back();
  for_each_element(shape, strides, [&](std::int64_t row, std::int64_t at) {
    read_line(from + at, step, count, to + row * count);
  });
}

bool are_cells(DType dtype) { return dtype == DType::f64 || dtype == DType::i64; }

}  // namespace

Extents extents_of(const std::vector<Expr>& shape, const Sizes& sizes) {
  Extents extents;
  for (const Expr& e : shape) extents.push_back(std::max<std::int64_t>(evaluate(e, sizes), 0));
  return extents;
}

bool needs_copy(const ArrayPlan& a, const Case& c) {
  const DType dtype = a.node.dtype();
  return (!are_cells(dtype) && dtype != DType::f32) ||
         c.inputs[static_cast<std::size_t>(a.input)].shape !=
             extents_of(a.node.shape(), c.binding.values);
}

Storage::Storage(const Plan& plan, const Case& c, const std::vector<Dense>& inputs,
                 std::vector<Dense>& outputs)
    : plan_(plan), case_(c), arrays_(plan.arrays.size()) {
  for (const Uop& u : plan.constants) constants_.push_back(constant(u));
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    arrays_[k].count = element_count(extents_of(plan.arrays[k].node.shape(), c.binding.values));
    if (plan.arrays[k].input >= 0) read_input(k, inputs);
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Location& p = plan.outputs[k];
    if (p.kind != Location::Kind::array || !are_cells(outputs[k].dtype())) continue;
    Array& a = arrays_[static_cast<std::size_t>(p.at)];
    if (plan.arrays[static_cast<std::size_t>(p.at)].input < 0 && a.cells == nullptr)
      a.cells = static_cast<Cell*>(outputs[k].data());
  }
}

Cell Storage::constant(const Uop& u) const {
  if (const auto* s = std::get_if<uop::Scalar>(&u.node().kind)) return cell_of(s->value);
  const Number& n = case_.params.at(std::get<uop::Param>(u.node().kind).name);
  const DType wide = is_real(u.dtype()) ? DType::f64 : DType::i64;  // not rounded before its use
  return cell_of(store_as(n, u.dtype() == DType::boolean ? u.dtype() : wide));
}

void Storage::read_input(std::size_t array, const std::vector<Dense>& inputs) {
  const ArrayPlan& plan = plan_.arrays[array];
  const Dense& from = inputs[static_cast<std::size_t>(plan.input)];
  Array& to = arrays_[array];
  if (needs_copy(plan, case_)) return copy_input(plan, from, to);
  if (from.dtype() == DType::f32) {
    to.floats = static_cast<const float*>(from.data());
  } else {
    to.cells = const_cast<Cell*>(static_cast<const Cell*>(from.data()));  // never written to
  }
}

/// Copies the input in its full extents: an axis of extent 1 repeats.
void Storage::copy_input(const ArrayPlan& plan, const Dense& from, Array& to) {
  const auto& in = std::get<uop::Input>(plan.node.node().kind);
  const Extents& given = case_.inputs[static_cast<std::size_t>(plan.input)].shape;
  const Extents full = extents_of(plan.node.shape(), case_.binding.values);
  Extents strides(full.size(), 0);
  const std::size_t missing = full.size() - given.size();
  std::int64_t stride = 1;
  for (std::size_t k = given.size(); k-- > 0; stride *= given[k])
    if (!in.broadcast[k + missing] || given[k] != 1) strides[k + missing] = stride;
  Cell* const cells = allocate(to);
  if (from.dtype() == DType::f32)
    return read_all(static_cast<const float*>(from.data()), full, strides, cells);
  if (are_cells(from.dtype()))
    return read_all(static_cast<const Cell*>(from.data()), full, strides, cells);
  for_each_element(full, strides, [&](std::int64_t linear, std::int64_t at) {
    cells[linear] = cell_of(from.at(at));
  });
}

Cell* Storage::allocate(Array& a) {
  a.own = uninitialised(static_cast<std::size_t>(a.count));
  return a.cells = a.own.get();
}

void Storage::make(const Location& p) {
  Array& a = arrays_[static_cast<std::size_t>(p.at)];
  if (a.cells == nullptr) allocate(a);
}

Operand Storage::read(const Location& p, std::int64_t first, std::int64_t count,
                      std::size_t number) {
  const auto at = static_cast<std::size_t>(p.at);
  if (p.kind == Location::Kind::constant) return {&constants_[at], true};
  if (p.kind == Location::Kind::block) return {blocks_.get() + at * block_length_, false};
  const Array& a = arrays_[at];
  if (a.floats == nullptr) return {a.cells + (p.single ? 0 : first), p.single};
  const float* const floats = a.floats + (p.single ? 0 : first);
  Cell* const to = converted_[number].data();
  for (std::int64_t k = 0; k < (p.single ? 1 : count); ++k) to[k].real = floats[k];
  return {to, p.single};
}

const Cell* Storage::read_each(const Location& p, std::int64_t first, std::int64_t count,
                               std::size_t number) {
  const Operand x = read(p, first, count, number);
  if (!x.single) return x.at;
  const auto is_known = [&](const Spread& s) { return s.value == x.at->whole; };
  auto known = std::ranges::find_if(spread_, is_known);
  if (known == spread_.end()) {
    spread_.push_back({x.at->whole, 0, uninitialised(kBlock)});
    known = spread_.end() - 1;
  }
  if (known->count < count) {
    fill_cells(known->cells.get(), count, *x.at);
    known->count = count;
  }
  return known->cells.get();
}

namespace {

/// Calls take(its first element, how many, where to) for each piece.
template <typename Element, typename Take>
void for_each_piece(const Element* from, const Stretch& s, Cell* to, const Take& take) {
  std::int64_t skipped = s.skipped;
  const std::int64_t* offset = s.offsets;
  for (std::int64_t done = 0; done < s.count; ++offset) {
    const std::int64_t n = std::min(s.piece - skipped, s.count - done);
    take(from + *offset + skipped * s.step, n, to + done);
    done += n;
    skipped = 0;
  }
}

/// Reads pieces, which are short: the loop is chosen once for all.
template <typename Element>
void read_pieces(const Element* from, const Stretch& s, Cell* to) {
  const std::int64_t step = s.step;
  if (step == 0) {
    for_each_piece(from, s, to, [](const Element* x, std::int64_t count, Cell* y) {
      fill_cells(y, count, as_cell(*x));
    });
  } else if (step == 1) {
    for_each_piece(from, s, to, [](const Element* x, std::int64_t count, Cell* y) {
      for (std::int64_t k = 0; k < count; ++k) y[k] = as_cell(x[k]);
    });
  } else {
    for_each_piece(from, s, to, [step](const Element* x, std::int64_t count, Cell* y) {
      for (std::int64_t k = 0; k < count; ++k) y[k] = as_cell(x[k * step]);
    });
  }
}

template <typename Element>
Cell* read_stretch(const Element* from, const Stretch& s, Cell fill, Cell* to) {
  const Element* const base = from + s.base;
  if (!s.inside) {
    for (std::int64_t k = 0; k < s.count; ++k)
      to[k] = s.offsets[k] >= 0 ? as_cell(base[s.offsets[k]]) : fill;
  } else if (s.piece > 0) {
    read_pieces(base, s, to);
  } else if (s.offsets != nullptr) {
    for (std::int64_t k = 0; k < s.count; ++k) to[k] = as_cell(base[s.offsets[k]]);
  } else {
    read_line(base, s.step, s.count, to);
  }
  return to + s.count;
}

}  // namespace

void Storage::read_into(const Location& p, std::int64_t first, std::int64_t count, Cell* to) const {
  const Stretch all{count, p.single ? 0 : first, p.single ? 0 : 1, nullptr, true};
  read_at(p, {&all, 1}, {}, to);
}

void Storage::read_at(const Location& p, std::span<const Stretch> at, Cell fill, Cell* to) const {
  const auto number = static_cast<std::size_t>(p.at);
  if (p.kind == Location::Kind::array && arrays_[number].floats != nullptr) {
    for (const Stretch& s : at) to = read_stretch(arrays_[number].floats, s, fill, to);
  } else if (p.kind == Location::Kind::array) {
    for (const Stretch& s : at) to = read_stretch(arrays_[number].cells, s, fill, to);
  } else {  // a constant, which has one position
    for (const Stretch& s : at) to = read_stretch(&constants_[number], s, fill, to);
  }
}

void Storage::copy(const Location& from, const Location& to) {
  const std::int64_t count = this->count(to);
  Cell* const y = result(to, 0);
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t n = std::min(kBlock, count - first);
    const Operand x = read(from, first, n, 0);
    if (x.single) return fill_cells(y, count, *x.at);
    std::copy_n(x.at, n, y + first);
  }
}

void Storage::make_blocks(int count, std::int64_t length) {
  constexpr std::size_t kAligned = 8;
  block_length_ = (static_cast<std::size_t>(length) + kAligned - 1) / kAligned * kAligned;
  const std::size_t cells = static_cast<std::size_t>(count) * block_length_;
  if (cells <= block_cells_) return;
  blocks_ = uninitialised(cells);
  block_cells_ = cells;
}

Cell* Storage::result(const Location& p, std::int64_t first) {
  const auto at = static_cast<std::size_t>(p.at);
  return p.kind == Location::Kind::block ? blocks_.get() + at * block_length_
                                         : arrays_[at].cells + first;
}

std::int64_t Storage::count(const Location& p) const {
  return arrays_[static_cast<std::size_t>(p.at)].count;
}

}  // namespace mote::blocks
