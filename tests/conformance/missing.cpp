// SPDX-License-Identifier: Apache-2.0
// The reasons why some operators that the tests use have no adapter.
#include <vector>

#include "graph.h"

namespace mote::onnx {
namespace {

struct Group {
  const char* reason;
  std::vector<const char*> ops;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"control flow belongs to the graph layers", {"If", "Loop", "Scan"}},
      {"sequences and optionals belong to the graph layers",
       {"SequenceConstruct", "SplitToSequence", "ConcatFromSequence", "SequenceInsert",
        "SequenceMap", "SequenceEmpty", "SequenceLength", "SequenceAt", "OptionalHasElement",
        "OptionalGetElement"}},
      {"the gradient of a part of the graph belongs to the graph layers", {"Gradient"}},
      {"strings",
       {"StringNormalizer", "TfIdfVectorizer", "StringConcat", "StringSplit", "RegexFullMatch",
        "LabelEncoder"}},
      {"op rope makes its angles itself, where the node is given cosines and sines",
       {"RotaryEmbedding"}},
      {"the extent of the result depends on the elements of a tensor",
       {"NonZero", "Unique", "Compress", "NonMaxSuppression"}},
      {"random numbers: the test's data come from another generator",
       {"Bernoulli", "RandomUniformLike"}},
      {"no op sorts", {"TopK"}},
      {"no op interpolates", {"GridSample", "RoiAlign"}},
      {"no op decomposes a matrix", {"Det"}},
      {"no Fourier transform", {"DFT", "STFT"}},
      {"no op makes a bank of mel filters", {"MelWeightMatrix"}}};
  return all;
}

}  // namespace

std::string why_missing(const std::string& op_type) {
  for (const Group& group : groups()) {
    for (const char* op : group.ops) {
      if (op_type == op) return group.reason;
    }
  }
  return "no op " + op_type + " here";
}

}  // namespace mote::onnx
