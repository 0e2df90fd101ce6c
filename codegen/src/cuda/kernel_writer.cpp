// SPDX-License-Identifier: Apache-2.0
// Writes loops whose iterations threads or blocks share as loops that stride over the grid. In: a
// stage of a program; out: the body of a kernel.
#include "kernel_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "block_loops.h"
#include "ir/dependence.h"
#include "passes/conditions.h"

namespace mote::emit {

namespace {

/// Returns true if a thread runs several loops one after the other in the iterations of a loop, as
/// attention does for a head: unrolled, the values hoisted out of all of them need more registers
/// than a thread has.
bool holds_several_loops(const Body& b) {
  return std::ranges::any_of(loops_in(b), [](const Loop* loop) {
    if (loop->kind == LoopKind::threads)
      return holds_several_loops(threads_chain(*loop).back()->body);
    return loops_in(loop->body).size() > 1 || holds_several_loops(loop->body);
  });
}

}  // namespace

std::string KernelWriter::kernel_body() {
  rolled_ = p_.native && holds_several_loops(p_.body);
  const Facts facts = base_facts(*p_.source);
  opening(facts);
  const std::string statements = this->statements(facts);
  const std::string unread = unread_scalars();
  scalars();
  const std::string opening = std::exchange(out_, "");
  const std::string sizes = size_definitions(printer_, facts);
  const std::string strides = stride_definitions();
  return strides + sizes + wanted_outputs() + opening + unread + statements;
}

void KernelWriter::loop_pragmas(const Loop& l) {
  if (rolled_ && loops_in(l.body).empty()) out_ += "#pragma unroll 1\n";
}

/// Writes a loop whose variable strides over the grid.
void KernelWriter::grid_loop(const Loop& loop, const Share& share, const Facts& facts) {
  const std::string& v = names_.symbol(loop.variable);
  const Text step = printer_.expr(loop.step, facts);
  const std::string scale = loop.step == Expr(1) ? "" : " * " + within(step, kUnary);
  const Text begin = printer_.expr(loop.begin, facts);
  const std::string offset = loop.begin == Expr(0) ? "" : within(begin, kSum) + " + ";
  const std::string end = limit(loop.end, v + "_end", facts).text;
  line(fmt::format("for (int64_t {0} = {1}{4}{2}; {0} < {3}; {0} += {5}{2}) {{", v, offset, scale,
                   end, share.who, share.count));
}

std::vector<std::string> KernelWriter::extents(const std::vector<LoopDigit>& axes,
                                               const Facts& facts) {
  std::vector<std::string> all;
  for (const LoopDigit& a : axes) {
    const Expr count = facts.simplify(count_of(a));
    all.push_back(within(limit(count, names_.symbol(a.variable) + "_count", facts), kUnary));
  }
  return all;
}

std::vector<std::string> KernelWriter::digits(const std::vector<LoopDigit>& axes,
                                              const std::vector<std::string>& extents,
                                              const std::string& flat, const Facts& facts) const {
  std::vector<std::string> values(axes.size());
  std::string below;  // iterations of the loops further in
  for (std::size_t k = axes.size(); k-- > 0;) {
    const LoopDigit& a = axes[k];
    const bool is_product = k + 2 < axes.size();
    std::string digit = flat;
    if (!below.empty()) digit += " / " + (is_product ? "(" + below + ")" : below);
    if (k > 0) digit += " % " + extents[k];
    if (a.step != Expr(1)) digit += " * " + within(printer_.expr(a.step, facts), kUnary);
    if (a.begin != Expr(0)) digit = within(printer_.expr(a.begin, facts), kSum) + " + " + digit;
    values[k] = digit;
    below = extents[k] + (below.empty() ? "" : " * " + below);
  }
  return values;
}

std::string KernelWriter::distance(const std::string& tensor, const std::vector<Expr>& index,
                                   Symbol variable, const Facts& facts) const {
  std::string all;
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (!index[k].mentions(variable)) continue;
    const auto linear = linear_in(index[k], variable);
    if (!linear || is_moving(linear->factor)) return "";
    all += all.empty() ? "" : " + ";
    if (linear->factor != Expr(1))
      all += within(printer_.expr(linear->factor, facts), kUnary) + " * ";
    all += printer_.named_stride(tensor, k);
  }
  return all.empty() ? "0" : all;
}

/// Writes a loop in which the number of an iteration, whose digits are the variables, strides over
/// the grid.
void KernelWriter::grid_digits(const std::vector<const Loop*>& chain, const Share& share,
                               const Facts& facts) {
  std::vector<LoopDigit> axes;
  for (const Loop* loop : chain)
    axes.push_back({loop->variable, loop->begin, loop->end, loop->step});
  const std::vector<std::string> counts = extents(axes, facts);
  const std::string flat = names_.fresh("flat");
  line(fmt::format("for (int64_t {0} = {2}; {0} < {1}; {0} += {3}) {{", flat,
                   fmt::join(counts, " * "), share.who, share.count));
  ++indent_;
  const std::vector<std::string> values = digits(axes, counts, flat, facts);
  for (std::size_t k = axes.size(); k-- > 0;)
    line(fmt::format("const int64_t {} = {};", names_.symbol(axes[k].variable), values[k]));
  --indent_;
}

/// Writes a loop of kind threads or grid, and those of its kind directly below it, as one.
void KernelWriter::grid_loops(const Loop& first, const Share& share, const Facts& facts) {
  const std::vector<const Loop*> chain = threads_chain(first);
  chain.size() == 1 ? grid_loop(first, share, facts) : grid_digits(chain, share, facts);
  Facts inside = facts;
  for (const Loop* loop : chain) inside.set_range(loop->variable, loop->begin, loop->end);
  ++indent_;
  for (const Loop* loop : chain) open_scope(loop->variable, inside);
  if (first.kind == LoopKind::grid) open_iteration(chain, inside);
  body(chain.back()->body, inside);
  --indent_;
  line("}");
}

void KernelWriter::threads_loops(const Loop& first, const Facts& facts) {
  const Share share = {"mote_thread()", "mote_threads()"};
  if (simd_loop_of(first) != nullptr) {
    shared_loop(first, share, facts);
    return;
  }
  const std::vector<const Loop*> chain = threads_chain(first);
  std::set<Symbol> changing;
  for (const Loop* loop : chain) changing.insert(loop->variable);
  limits_ahead(chain.back()->body, changing, facts);
  grid_loops(first, share, facts);
}

void KernelWriter::loop(const Loop& l, const Facts& facts) {
  if (l.kind == LoopKind::grid)
    grid_loops(l, {"mote_block()", "mote_blocks()"}, facts);
  else if (is_shared_within_block(l))
    block_loop(l, facts);
  else
    Writer::loop(l, facts);
}

}  // namespace mote::emit
