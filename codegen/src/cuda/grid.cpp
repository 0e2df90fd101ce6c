// The body of a CUDA kernel, where it differs from that of a C function: loops whose rounds are
// shared become grid-stride loops, and memory for temporaries is given. In: a stage of a program.
#include <fmt/format.h>

#include <utility>

#include "../emit_c_writer.h"
#include "tile_text.h"

namespace mote::emit {

std::string Writer::kernel_body(bool by_block, const cuda::TileForm* tiles) {
  if (by_block) worker_ = "block";
  tiles_ = tiles;
  const Facts facts = base_facts(*p_.source);
  const std::string statements = this->statements(facts);
  scalars();
  const std::string opening = std::exchange(out_, "");
  return stride_definitions() + size_definitions(printer_, facts) + wanted_outputs(statements) +
         opening + unread_scalars(statements) + statements;
}

/// The variable strides over the grid.
void Writer::grid_loop(const Loop& loop, const Facts& facts) {
  const std::string& v = names_.symbol(loop.variable);
  const Text step = printer_.expr(loop.step, facts);
  const std::string scale = loop.step == Expr(1) ? "" : " * " + within(step, kUnary);
  const Text begin = printer_.expr(loop.begin, facts);
  const std::string offset = loop.begin == Expr(0) ? "" : within(begin, kSum) + " + ";
  const std::string end = limit(loop.end, v + "_end", facts);
  line(fmt::format("for (int64_t {0} = {1}mote_{4}(){2}; {0} < {3}; {0} += mote_{4}s(){2}) {{", v,
                   offset, scale, end, worker_));
}

/// The number of a round strides over the grid; the variables are its digits, the innermost loop's
/// the lowest.
void Writer::grid_digits(const std::vector<const Loop*>& chain, const Facts& facts) {
  std::vector<std::string> counts;
  std::string all;
  for (const Loop* loop : chain) {
    const Expr count = facts.simplify(max(0, ceil_div(loop->end - loop->begin, loop->step)));
    const std::string text = limit(count, names_.symbol(loop->variable) + "_count", facts);
    counts.push_back(text.find(' ') == std::string::npos ? text : "(" + text + ")");
    all += (all.empty() ? "" : " * ") + counts.back();
  }
  const std::string flat = names_.fresh("flat");
  line(fmt::format("for (int64_t {0} = mote_{2}(); {0} < {1}; {0} += mote_{2}s()) {{", flat, all,
                   worker_));
  ++indent_;
  std::string below;  // rounds of the loops further in
  for (std::size_t k = chain.size(); k-- > 0;) {
    const Loop& loop = *chain[k];
    const bool several = below.find(" * ") != std::string::npos;
    std::string digit = flat;
    if (!below.empty()) digit += " / " + (several ? "(" + below + ")" : below);
    if (k > 0) digit += " % " + counts[k];
    if (loop.step != Expr(1)) digit += " * " + within(printer_.expr(loop.step, facts), kUnary);
    if (loop.begin != Expr(0))
      digit = within(printer_.expr(loop.begin, facts), kSum) + " + " + digit;
    line(fmt::format("const int64_t {} = {};", names_.symbol(loop.variable), digit));
    below = counts[k] + (below.empty() ? "" : " * " + below);
  }
  --indent_;
}

void Writer::grid_loops(const Loop& first, const Facts& facts) {
  if (tiles_ != nullptr) {
    write_tiles(*this, facts);
    return;
  }
  const std::vector<const Loop*> chain = parallel_chain(first);
  std::set<Symbol> changing;
  for (const Loop* loop : chain) changing.insert(loop->variable);
  if (worker_ == "thread") limits_ahead(chain.back()->body, changing, facts);
  chain.size() == 1 ? grid_loop(first, facts) : grid_digits(chain, facts);
  Facts inside = facts;
  for (const Loop* loop : chain) inside.set_range(loop->variable, loop->begin, loop->end);
  ++indent_;
  open_scope(chain.back()->variable, inside);
  worker_ == "block" ? block_round(chain.back()->body, inside) : body(chain.back()->body, inside);
  --indent_;
  line("}");
}

}  // namespace mote::emit
