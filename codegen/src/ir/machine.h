// SPDX-License-Identifier: Apache-2.0
// Represents a loop program with its names resolved to slots, so that running it needs no lookup.
// Sizes and parameters are numbers here. In: a LoopProgram and its binding; out: code for
// interpret.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::machine {

struct IndexCode;

/// A variable, a div, mod, min or max, an element of a tensor, or a let. slot is the variable's,
/// the tensor's or the let's.
struct AtomCode {
  enum class Kind : std::uint8_t { variable, div, mod, min, max, load, let };
  Kind kind;
  int slot = -1;
  std::vector<IndexCode> args;
};
struct TermCode {
  std::int64_t coefficient;
  std::vector<AtomCode> atoms;
};
/// The index constant + Σ coefficient · Π atoms.
struct IndexCode {
  std::int64_t constant = 0;
  std::vector<TermCode> terms;
};
/// Compares the sides (ir/sides.h).
struct ConditionCode {
  Condition::Kind kind;
  IndexCode more, less;
  bool is_strict;
};

struct ValueCode {
  enum class Kind : std::uint8_t { constant, index, load, op, guard, accumulated, let };
  Kind kind = Kind::constant;
  DType dtype = DType::i64;
  DType arg_dtype = DType::i64;
  MapOp op = MapOp::add;
  int slot = -1;                 ///< slot of the tensor, accumulator or let
  Number number;                 ///< the constant; the guard's otherwise
  std::vector<IndexCode> index;  ///< the load's; the index value itself
  std::vector<ValueCode> args;   ///< the op's; the guard's then
  std::vector<ConditionCode> conditions;
};

struct AccumulatorCode {
  int slot;
  ReduceOp op;
  DType dtype;
};
struct StmtCode {
  enum class Kind : std::uint8_t {
    loop,
    branch,
    store,
    store_reduce,
    fold,
    let,
    barrier,
    wait,
    prefetch
  };
  Kind kind = Kind::loop;
  ReduceOp op = ReduceOp::sum;
  ScatterOp scatter = ScatterOp::set;
  DType dtype = DType::i64;  ///< dtype of the stored or folded value
  int slot = -1;             ///< slot of the variable, tensor, accumulator or let
  /// Begin, end and step, and then the values of the digits; the element; the position.
  std::vector<IndexCode> index;
  std::vector<int> digits;   ///< slots of a loop's digits
  std::vector<int> tensors;  ///< temporaries that each iteration of a loop has for itself
  bool is_ahead = false;     ///< what the loop stores is under way until a wait
  int pending = 0;           ///< the number of loops whose copies a wait leaves under way
  std::vector<ConditionCode> conditions;
  std::vector<AccumulatorCode>
      accumulators;  ///< for a branch, those of its loops, neutral if it is not taken
  ValueCode value;
  std::vector<StmtCode> body;
};

struct Code {
  std::vector<StmtCode> body;
  int variables = 0;
  int accumulators = 0;
  int lets = 0;
};

/// Resolves a program that verify() accepts; `binding` holds its sizes, including named ones, and
/// parameters. Slots of tensors are their positions in p.tensors.
Code resolve(const LoopProgram& p, const Binding& binding);

}  // namespace mote::machine
