// SPDX-License-Identifier: Apache-2.0
// Reads models: graphs, nodes, attributes by ONNX's field numbers; unknown fields are skipped.
#include "model.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "mote/base/error.h"
#include "wire.h"

namespace mote::onnx {
namespace {

std::string text_of(const Field& field) { return std::string(bytes_of(field)); }

Attribute parse_attribute(std::string_view bytes, std::string& name) {
  Attribute a;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 1) name = text_of(field);
    if (field.number == 2) a.f = float_of(field);
    if (field.number == 3) a.i = integer_of(field);
    if (field.number == 4) a.s = text_of(field);
    if (field.number == 5) a.t = parse_tensor(bytes_of(field));
    if (field.number == 6 || field.number == 11) a.has_graph = true;
    if (field.number == 7) {
      std::vector<std::uint64_t> bits;
      append_fixed(field, WireType::fixed32, bits);
      for (const std::uint64_t b : bits) {
        a.floats.push_back(float_of({field.number, WireType::fixed32, b, {}}));
      }
    }
    if (field.number == 8) append_integers(field, a.ints);
    if (field.number == 9) a.strings.push_back(text_of(field));
  }
  return a;
}

Node parse_node(std::string_view bytes) {
  Node node;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 1) node.inputs.push_back(text_of(field));
    if (field.number == 2) node.outputs.push_back(text_of(field));
    if (field.number == 4) node.op_type = text_of(field);
    if (field.number == 5) {
      std::string name;
      Attribute attribute = parse_attribute(bytes_of(field), name);
      node.attributes[name] = std::move(attribute);
    }
    if (field.number == 7) node.domain = text_of(field);
  }
  return node;
}

ValueInfo parse_value_info(std::string_view bytes) {
  ValueInfo info;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 1) info.name = text_of(field);
    if (field.number != 2) continue;
    for (WireReader type(bytes_of(field)); !type.done();) {
      const Field kind = type.next();
      if (kind.number != 1) continue;
      info.is_tensor = true;
      for (WireReader tensor(bytes_of(kind)); !tensor.done();) {
        const Field part = tensor.next();
        if (part.number == 1) info.type = element_type(integer_of(part));
      }
    }
  }
  return info;
}

Graph parse_graph(std::string_view bytes) {
  Graph graph;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 1) graph.nodes.push_back(parse_node(bytes_of(field)));
    if (field.number == 5) graph.initializers.push_back(parse_tensor(bytes_of(field)));
    if (field.number == 11) graph.inputs.push_back(parse_value_info(bytes_of(field)));
    if (field.number == 12) graph.outputs.push_back(parse_value_info(bytes_of(field)));
  }
  return graph;
}

}  // namespace

Model parse_model(std::string_view bytes) {
  Model model;
  bool has_graph = false;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 7) {
      model.graph = parse_graph(bytes_of(field));
      has_graph = true;
    }
    if (field.number != 8) continue;
    std::string domain;
    std::int64_t version = 0;
    for (WireReader opset(bytes_of(field)); !opset.done();) {
      const Field part = opset.next();
      if (part.number == 1) domain = text_of(part);
      if (part.number == 2) version = integer_of(part);
    }
    model.opsets[domain] = version;
  }
  if (!has_graph) throw Error("onnx model: there is no graph in it");
  return model;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("{}: cannot be opened", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace mote::onnx
