// SPDX-License-Identifier: Apache-2.0
// Makes the loops over tiles of one nest: panels, sums in registers, and the rest of the body in
// loops over each tile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/tile.h"
#include "schedule/tiles/panels.h"
#include "schedule/tiles/row_ranges.h"
#include "schedule/tiles/window.h"

namespace mote {

struct TileAmounts {
  std::int64_t height, width;
};
/// Returns the rows and columns of a tile of that shape: fewer rows where several sums share the
/// registers. Throws CannotTile if some sums are kept in float, others in double.
TileAmounts amounts_of(const std::map<Symbol, TiledReduction>& reductions,
                       const RegisterShape& shape);
/// Returns the loop over the tiles of an axis, with `before` ahead of the statements of a tile.
Body tiles(const TileAxis& axis, Body before, Body inner);
/// Returns what greatest_extent() does. Throws CannotTile if no sizes bound the range.
Expr extent_of(const LoopRange& range);
/// Returns the number of sums in a vector. Throws CannotTile as amounts_of() does.
std::int64_t lanes_of(const std::map<Symbol, TiledReduction>& reductions, int vector_bytes);

class NestTiler : public Tiler {
 public:
  /// `reductions` are loops of the chain's innermost body by their variables, at least one. Throws
  /// CannotTile.
  NestTiler(LoopProgram& p, const SharedLoops& chain,
            const std::map<Symbol, TiledReduction>& reductions, const TileOfNest& tile);

  /// Returns the statements that take the nest's place; adds its tensors to p. Throws CannotTile.
  Body run();
  /// Returns the nest for one tile of rows, for a loop over tiles of rows that the caller makes: a
  /// tile of vectors is left out unless the conditions hold for it, which may name the variable
  /// that vector_start() returns. Appends to `ahead` what is to stand ahead of that loop.
  Body run_for_rows(const Conditions& of_tile, Body& ahead);
  Symbol vector_start() const { return vector().start; }
  std::int64_t width() const { return vector().amount; }
  Conditions demands() const;
  bool multiplies_padding() const;
  /// Returns the panels, as a step prints them.
  std::string effect() const;

 protected:
  void move_loop(const Loop& loop, Body& out) override;

 private:
  const TileAxis& rows() const { return axes()[0]; }
  const TileAxis& vector() const { return axes()[1]; }
  /// The number of rows whose tiles share panels of windows.
  std::int64_t rows_of_block() const { return tile_.tiles * rows().amount; }
  NestTiler(LoopProgram& p, const SharedLoops& chain,
            const std::map<Symbol, TiledReduction>& reductions, const TileOfNest& tile,
            const std::optional<Symbol>& block_of_rows);
  Body in_own_loops(const std::vector<LoopRange>& loops, Body body);
  Stmt over_registers(Body body, Conditions guard = {});
  std::optional<RowRanges> ranges_of(const TiledReduction& r) const;
  Stmt terms_of_some(const TiledReduction& r, const RowRanges& ranges, const Body& terms);
  struct NewTensor {
    DType dtype;
    std::vector<Expr> shape;
    std::optional<Symbol> per;
    TensorMemory memory;
    int integer_bits;
    std::optional<AxesOfInput> ordered_like = {};
  };
  /// Adds a temporary with a name like the hint, and returns its name.
  std::string add_tensor(const std::string& hint, NewTensor t);
  bool is_ahead(const TiledReduction& r, const SharedOperand& o) const;
  std::optional<Symbol> loop_of_panel(const TiledReduction& r) const;
  Expr rows_of_first_block() const;
  /// The loops of a reduction in the order in which a tile runs them.
  struct BlockedLoops {
    /// Loops over blocks of the sums, around the tiles of rows; none: a tile has its sums at once.
    std::vector<Loop> blocks;
    std::vector<LoopRange> inner;
    std::vector<Expr> extents;  ///< the greatest numbers of iterations of the inner loops
    /// The loops over blocks lie around all loops of the nest, whose tiles share copies.
    bool are_around_nest;
  };
  BlockedLoops blocked_loops(const TiledReduction& r);
  bool share_copies_of_blocks(const TiledReduction& r, const std::vector<LoopRange>& inner) const;
  std::vector<Window> windows_of(const TiledReduction& r, const SharedOperand& o) const;
  /// The loops whose elements of an operand are copied, and the bodies that copies for a tile are
  /// added to.
  struct CopyLocations {
    const BlockedLoops& loops;
    Body& columns;  ///< of a tile of columns, or of a block of the sums
    Body& rows;     ///< of a tile of rows
  };
  struct CopyRanges {
    std::vector<LoopRange> all, filled;
    Conditions conditions;
  };
  struct PanelAxes;
  struct NewPanel {
    std::string hint;
    std::optional<Symbol> per;
    std::string when;  ///< for the step's effect
    Conditions conditions;
    Value element;
    bool clears;  ///< the panel has 0 where the conditions do not hold
    Body& location;
    std::optional<AxesOfInput> ordered_like = {};
  };
  Value filled_panel(const TiledReduction& r, const SharedOperand& o, PanelAxes axes,
                     const NewPanel& panel);
  void demand_few_positions(const Window& window, const Expr& outer, const Expr& inner);
  void add_copy(const TiledReduction& r, const CopyRanges& ranges, const Store& store, bool clears,
                Body& location);
  std::optional<AxesOfInput> order_of(const TiledReduction& r, const SharedOperand& o,
                                      const Window& window,
                                      const std::vector<LoopRange>& loops) const;
  Value copied_window(const TiledReduction& r, const SharedOperand& o, const BlockedLoops& loops);
  Value copied(const TiledReduction& r, const SharedOperand& o, const CopyLocations& locations);
  static Value term_of(const TiledReduction& r, std::size_t k,
                       const std::map<std::string, Value>& operands);
  bool skips_terms(const TiledReduction& r) const;
  struct TileSums;
  TileSums start_sums(const BlockedLoops& loops);
  void add_sums(const TiledReduction& r, Body& out);
  void add_statements(const TiledReduction& r, const std::map<std::string, Value>& operands,
                      TileSums& sums, Body& out);
  Body tile_of_sums(const TiledReduction& r, const BlockedLoops& loops,
                    const std::optional<RowRanges>& ranges, TileSums& sums);
  void add_blocks(const BlockedLoops& loops, TileSums sums, Body of_tile, Body block);
  Body in_tiles_of_columns(Body body);

  /// The row and the lane of a tile, until a loop over them gives them a name.
  inline static const Symbol kRow{SymbolKind::loop, "tile row"};
  inline static const Symbol kLane{SymbolKind::loop, "tile lane"};

  const SharedLoops& chain_;
  const std::map<Symbol, TiledReduction> reductions_;
  const TileOfNest tile_;
  /// The tiles of columns lie in the loop over tiles of rows, which share the panels of rows;
  /// otherwise it is the other way round, as in a block of rows whose tiles share panels of
  /// windows.
  const bool rows_outside_;
  Body ahead_;           ///< fills panels for the whole nest
  Body before_rows_;     ///< fills panels for a tile of columns
  Body before_vectors_;  ///< fills panels for a tile of rows
  Body before_tiles_;    ///< fills panels for a block of tiles of rows
  /// The variable of the loop over blocks of rows, if tiles of rows share panels of windows.
  const std::optional<Symbol> block_of_rows_;
  TileAxis all_rows_;  ///< the axis of the rows with all of them, not those of a block
  std::vector<std::string> panels_;
  Conditions demands_;  ///< of windows
};

}  // namespace mote
