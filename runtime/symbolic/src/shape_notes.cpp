// SPDX-License-Identifier: Apache-2.0
#include "shape_notes.h"

#include <algorithm>
#include <utility>

#include "mostly_one.h"

namespace mote {
namespace {

using Notes = MostlyOne<ShapeNote>;

constexpr SymbolAttribute<Notes> kShapeNotes{"shape notes", AttributeLife::graph};

void add(Notes& notes, const ShapeNote& note) {
  if (std::ranges::find(notes.all(), note) == notes.all().end()) notes.push_back(note);
}

}  // namespace

void AxisGroups::push_back(int begin, int count) {
  groups_.at(static_cast<std::size_t>(size_++)) = {static_cast<std::uint8_t>(begin),
                                                   static_cast<std::uint8_t>(count)};
}

AxisList AxisGroups::of(const AxisList& axes) const {
  AxisList shape;
  for (int k = 0; k < size_; ++k) {
    const auto [begin, count] = groups_.at(static_cast<std::size_t>(k));
    std::int64_t extent = 1;
    for (int axis = begin; axis < begin + count; ++axis) extent *= axes[axis];
    shape.push_back(extent);
  }
  return shape;
}

AxisGroups each_axis(int count) {
  AxisGroups groups;
  for (int axis = 0; axis < count; ++axis) groups.push_back(axis, 1);
  return groups;
}

bool has_shape_notes(const SymbolicGraph& graph) {
  return graph.attributes().has(kShapeNotes.name);
}

std::span<const ShapeNote> shape_notes(const SymbolicGraph& graph, std::uint32_t symbol) {
  const Notes* const notes = graph.attributes().find(graph.at(symbol), kShapeNotes);
  return notes == nullptr ? std::span<const ShapeNote>() : notes->all();
}

void note_shape(SymbolicGraph& graph, TensorSymbol symbol, const ShapeNote& note) {
  if (note.of == symbol.index) return;
  Notes notes;
  if (const Notes* const before = graph.attributes().find(symbol, kShapeNotes)) notes = *before;
  add(notes, note);
  graph.attributes().set(symbol, kShapeNotes, std::move(notes));
}

void replace_in_shape_notes(SymbolicGraph& graph,
                            const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) {
  if (!has_shape_notes(graph)) return;
  const auto now = [&](std::uint32_t symbol) {
    const auto found = by_index.find(symbol);
    return found == by_index.end() ? symbol : found->second;
  };
  std::vector<Notes> notes(graph.symbol_count());
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    if (graph.symbols()[k].removed) continue;
    for (ShapeNote note : shape_notes(graph, k)) {
      note.of = now(note.of);
      if (now(k) != k && note.kind == ShapeNoteKind::follows) note.kind = ShapeNoteKind::equals;
      if (note.of != now(k)) add(notes[now(k)], note);
    }
  }
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (!graph.symbols()[k].removed && (!notes[k].empty() || !shape_notes(graph, k).empty()))
      graph.attributes().set(graph.at(k), kShapeNotes, std::move(notes[k]));
}

}  // namespace mote
