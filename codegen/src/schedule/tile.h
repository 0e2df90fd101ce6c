// SPDX-License-Identifier: Apache-2.0
// Tiles loops of a nest: each statement in the nest gets loops of its own over a tile, inside the
// loops that it holds.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// An exception for loops that cannot be tiled; steps of a schedule catch it.
struct CannotTile {
  std::string why;
};

/// Adds the demands that not every call meets. Throws CannotTile if no call meets one of them.
void add_demands(Conditions& all, const Conditions& more);

/// A loop of step 1 whose iterations are taken by tiles.
struct TileAxis {
  Symbol variable;
  Expr begin, end;
  std::int64_t amount;
  Symbol start;  ///< variable of the loop over tiles
  Expr first;    ///< the iteration that element 0 of a tile's arrays stands for
  /// What fills arrays fills them all, from `first` on, so that its loops have constant limits.
  bool is_whole = false;
};

/// Distributes the body of the innermost loop of a nest over tiles of its loops, the axes,
/// outermost first. Scalars
/// that live in an iteration become arrays with an element for each iteration of a tile; they are
/// added to the program.
class Tiler {
 public:
  /// `own` are the temporaries that each iteration fills before it reads them; no name in `used` is
  /// given to anything; the loop over tiles of axis `innermost` lies in those of the others. Throws
  /// CannotTile if one of `own` is no scalar.
  Tiler(LoopProgram& p, const Body& body, std::vector<TileAxis> axes,
        const std::set<std::string>& own, std::set<std::string> used = {},
        std::size_t innermost = 0);
  virtual ~Tiler() = default;
  Tiler(const Tiler&) = delete;
  Tiler& operator=(const Tiler&) = delete;

  /// Returns the statements for one tile. Throws CannotTile for limits that depend on an axis,
  /// accumulators that remember a position, and arrays of an iteration.
  Body distributed() { return distributed(body_); }
  /// Returns the arrays, as a step prints them.
  std::string arrays() const;

 protected:
  /// Appends the loop with the tile inside.
  virtual void move_loop(const Loop& loop, Body& out);
  Body distributed(const Body& body);
  /// Returns a loop variable of a new name like the hint.
  Symbol symbol(const std::string& hint) { return fresh_variable(p_, hint, used_); }
  /// Returns the array that holds the scalar's elements, integers in that number of bits.
  const std::string& array_for(const std::string& name, DType dtype, int integer_bits = 64);
  /// Returns the body in loops over the tile.
  Stmt over_tile(Body body);
  /// Returns the position in an array of the iterations of the axes.
  std::vector<Expr> position() const;
  std::vector<Expr> amounts() const;
  bool mentions_axis(const Expr& e) const;
  /// Returns the variable of the loop in each of whose iterations the arrays are new.
  Symbol per() const { return axes_[innermost_].start; }
  const std::vector<TileAxis>& axes() const { return axes_; }
  LoopProgram& program() { return p_; }
  const LoopProgram& program() const { return p_; }
  const Body& body() const { return body_; }

 public:
  /// Returns a symbol for a loop like the hint, which p does not use and which is not in `used`;
  /// adds it there.
  static Symbol fresh_variable(const LoopProgram& p, const std::string& hint,
                               std::set<std::string>& used);

 private:
  void close(Body& group, Body& out);
  Value on_arrays(const Value& v) const;
  Stmt on_arrays(const Stmt& s) const;
  bool stores_arrays_only(const Body& body) const;
  bool is_still(const If& branch) const;
  If moved(const If& branch);

  LoopProgram& p_;
  const Body body_;
  const std::vector<TileAxis> axes_;
  const std::size_t innermost_;
  std::set<std::string> used_;
  std::map<std::string, std::string> arrays_;  ///< arrays of accumulators, names and scalars
};

}  // namespace mote
