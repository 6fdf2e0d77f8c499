#include "src/io/onnx/parsed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/io/onnx/tensor_parser.h"
#include "src/io/onnx/wire.h"

namespace edgesage::onnx {
namespace {

int64_t size_of(const auto& list) { return static_cast<int64_t>(list.size()); }

class FileParser {
 public:
  FileParser(Wire& wire, ExternalFiles& external, Oddities& oddities)
      : wire_(&wire), tensors_(external, oddities), oddities_(&oddities) {}

  ParsedFile parse(std::string_view file);

 private:
  // A graph whose text waits to be read. Functions' nodes are fields of the function itself.
  struct Waiting {
    std::string_view text;
    int32_t graph;
    int32_t origin;
  };

  void read_model(Message message);
  void read_graph(Message message, int32_t graph, int32_t origin);
  void read_function(Message message);
  void read_node(Message message, int32_t graph, int32_t origin);
  struct Members;
  void read_attribute(Message message, Attribute& attribute, int32_t graph, Wire::Origin origin);
  void read_number(Message& message, Attribute& attribute, Members& members);
  void read_member(Message& message, Members& members, int32_t graph, Wire::Origin origin);
  OperatorSet read_opset(Message message);
  Value read_value(Message message);
  std::pair<std::string_view, std::string_view> read_entry(Message message);

  int32_t add_graph(int32_t parent, int32_t function);
  // A graph found in an attribute: a new one (-1), or more of `graph`.
  int32_t wait_for(std::string_view text, int32_t graph, int32_t parent, Wire::Origin origin);
  GraphTable& graph_at(int32_t index) { return file_.graphs[static_cast<size_t>(index)]; }

  Wire* wire_;
  TensorParser tensors_;
  Oddities* oddities_;
  ParsedFile file_;
  std::vector<Waiting> waiting_;
};

ParsedFile FileParser::parse(std::string_view file) {
  add_graph(-1, -1);
  read_model(Message(*wire_, file, nullptr));
  while (!waiting_.empty() && wire_->good()) {
    const Waiting next = waiting_.back();
    waiting_.pop_back();
    read_graph(Message(*wire_, next.text, nullptr, next.origin), next.graph, next.origin);
  }
  return std::move(file_);
}

int32_t FileParser::add_graph(int32_t parent, int32_t function) {
  file_.graphs.emplace_back().parent = parent;
  file_.function_of.push_back(function);
  return static_cast<int32_t>(file_.graphs.size() - 1);
}

void FileParser::read_model(Message message) {
  Model& model = file_.model;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        model.ir_version = message.integer("ir_version");
        break;
      case 2:
        model.producer_name = message.bytes("producer_name");
        break;
      case 3:
        model.producer_version = message.bytes("producer_version");
        break;
      case 7: {
        const std::string_view text = message.bytes("graph");
        // Read at once, so that faults come in the order of the file; again where it is repeated.
        if (message.good()) {
          const int32_t origin = wire_->add_origin({.field = "graph"});
          read_graph(Message(*wire_, text, nullptr, origin), 0, origin);
        }
        file_.has_graph = true;
        break;
      }
      case 8:
        model.opsets.push_back(read_opset(message.message("opset_import", size_of(model.opsets))));
        break;
      case 14:
        model.metadata.push_back(
            read_entry(message.message("metadata_props", size_of(model.metadata))));
        break;
      case 25:
        read_function(message.message("functions", size_of(file_.functions)));
        break;
      default:
        break;
    }
  }
}

OperatorSet FileParser::read_opset(Message message) {
  OperatorSet opset;
  while (message.next()) {
    if (message.field() == 1) opset.domain = message.bytes("domain");
    if (message.field() == 2) opset.version = message.integer("version");
  }
  if (opset.domain == "ai.onnx") opset.domain = "";
  return opset;
}

std::pair<std::string_view, std::string_view> FileParser::read_entry(Message message) {
  std::pair<std::string_view, std::string_view> entry;
  while (message.next()) {
    if (message.field() == 1) entry.first = message.bytes("key");
    if (message.field() == 2) entry.second = message.bytes("value");
  }
  return entry;
}

Value FileParser::read_value(Message message) {
  Value value;
  while (message.next()) {
    if (message.field() == 1) value.name = message.bytes("name");
    if (message.field() == 2) read_type(message.message("type"), value.type);
  }
  return value;
}

void FileParser::read_graph(Message message, int32_t index, int32_t origin) {
  GraphTable& graph = graph_at(index);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        read_node(message.message("node", size_of(graph.nodes)), index, origin);
        break;
      case 2:
        graph.name = message.bytes("name");
        break;
      case 5: {
        TensorFields fields;
        tensors_.read(message.message("initializer", size_of(graph.initializers)), fields);
        if (message.good())
          graph.initializers.push_back(tensors_.finish(std::move(fields), message));
        break;
      }
      case 11:
        graph.inputs.push_back(read_value(message.message("input", size_of(graph.inputs))));
        break;
      case 12:
        graph.outputs.push_back(read_value(message.message("output", size_of(graph.outputs))));
        break;
      case 13:
        graph.value_info.push_back(
            read_value(message.message("value_info", size_of(graph.value_info))));
        break;
      case 15:
        graph.initializers.push_back(
            tensors_.read_sparse(message.message("sparse_initializer", -1)));
        break;
      default:
        break;
    }
  }
}

void FileParser::read_function(Message message) {
  const auto number = static_cast<int32_t>(file_.functions.size());
  Function function;
  function.graph = add_graph(-1, number);
  GraphTable& graph = graph_at(function.graph);
  const int32_t origin = wire_->add_origin({.field = "functions", .index = number});
  while (message.next()) {
    switch (message.field()) {
      case 1:
        function.name = message.bytes("name");
        break;
      case 4:
        graph.inputs.push_back({.name = message.bytes("input", size_of(graph.inputs))});
        break;
      case 5:
        graph.outputs.push_back({.name = message.bytes("output", size_of(graph.outputs))});
        break;
      case 6:
        function.attributes.push_back(message.bytes("attribute", size_of(function.attributes)));
        break;
      case 7:
        read_node(message.message("node", size_of(graph.nodes)), function.graph, origin);
        break;
      case 9:
        function.opsets.push_back(
            read_opset(message.message("opset_import", size_of(function.opsets))));
        break;
      case 10:
        function.domain = message.bytes("domain");
        break;
      case 11: {
        const int64_t index = size_of(function.defaults);
        read_attribute(message.message("attribute_proto", index), function.defaults.emplace_back(),
                       function.graph, {.parent = origin, .index = -1, .attribute = index});
        break;
      }
      case 12:
        graph.value_info.push_back(
            read_value(message.message("value_info", size_of(graph.value_info))));
        break;
      case 13:
        function.overload = message.bytes("overload");
        break;
      default:
        break;
    }
  }
  if (function.domain == "ai.onnx") function.domain = "";
  graph.name = function.name;
  file_.functions.push_back(std::move(function));
}

void FileParser::read_node(Message message, int32_t index, int32_t origin) {
  std::vector<Node>& nodes = graph_at(index).nodes;
  const int64_t number = size_of(nodes);
  Node& node = nodes.emplace_back();
  while (message.next()) {
    switch (message.field()) {
      case 1:
        node.inputs.push_back(message.bytes("input", size_of(node.inputs)));
        break;
      case 2:
        node.outputs.push_back(message.bytes("output", size_of(node.outputs)));
        break;
      case 3:
        node.name = message.bytes("name");
        break;
      case 4:
        node.op_type = message.bytes("op_type");
        break;
      case 5: {
        const int64_t at = size_of(node.attributes);
        read_attribute(message.message("attribute", at), node.attributes.emplace_back(), index,
                       {.parent = origin, .index = number, .attribute = at});
        if (node.attributes.back().name.empty()) {
          oddities_->note("{} attributes have no name; they are left out", node.op_type);
          node.attributes.pop_back();
        }
        break;
      }
      case 7:
        node.domain = message.bytes("domain");
        break;
      case 8:
        node.overload = message.bytes("overload");
        break;
      default:
        break;
    }
  }
  if (node.domain == "ai.onnx") node.domain = "";
  if (node.op_type.empty()) message.fail_whole("a node without an op_type");
}

int32_t FileParser::wait_for(std::string_view text, int32_t graph, int32_t parent,
                             Wire::Origin origin) {
  if (graph < 0) graph = add_graph(parent, file_.function_of[static_cast<size_t>(parent)]);
  waiting_.push_back({text, graph, wire_->add_origin(origin)});
  return graph;
}

// Every member that the message has, and which kind the last of them is of.
struct FileParser::Members {
  Attribute::Kind last = Attribute::Kind::kUndefined;
  std::optional<TensorFields> tensor;
  std::optional<Constant> sparse_tensor;
  std::vector<Constant> tensors, sparse_tensors;
  int32_t graph = -1;
  std::vector<int32_t> graphs;
  std::optional<ValueType> type;
  std::vector<ValueType> types;
};

void FileParser::read_attribute(Message message, Attribute& attribute, int32_t graph,
                                Wire::Origin origin) {
  using Kind = Attribute::Kind;
  Members members;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        attribute.name = message.bytes("name");
        break;
      case 20:
        attribute.kind = static_cast<Kind>(message.integer("type"));
        break;
      case 21:
        attribute.reference = message.bytes("ref_attr_name");
        break;
      default:
        read_number(message, attribute, members);
        read_member(message, members, graph, origin);
    }
  }
  if (!message.good()) return;
  // Files of the first versions say no type.
  if (attribute.kind == Kind::kUndefined) attribute.kind = members.last;
  switch (attribute.kind) {
    case Kind::kTensor:
      if (members.tensor)
        attribute.tensors.push_back(tensors_.finish(std::move(*members.tensor), message));
      break;
    case Kind::kSparseTensor:
      if (members.sparse_tensor) attribute.tensors.push_back(std::move(*members.sparse_tensor));
      break;
    case Kind::kTensors:
      attribute.tensors = std::move(members.tensors);
      break;
    case Kind::kSparseTensors:
      attribute.tensors = std::move(members.sparse_tensors);
      break;
    case Kind::kGraph:
      if (members.graph >= 0) attribute.graphs.push_back(members.graph);
      break;
    case Kind::kGraphs:
      attribute.graphs = std::move(members.graphs);
      break;
    case Kind::kTypeProto:
      if (members.type) attribute.types.push_back(std::move(*members.type));
      break;
    case Kind::kTypeProtos:
      attribute.types = std::move(members.types);
      break;
    default:
      break;
  }
  const bool empty = (attribute.kind == Kind::kTensor || attribute.kind == Kind::kSparseTensor)
                         ? attribute.tensors.empty()
                         : attribute.kind == Kind::kGraph && attribute.graphs.empty();
  if (empty && attribute.reference.empty())
    message.fail_whole(fmt::format("attribute '{}' says that it holds a {} and does not",
                                   attribute.name,
                                   attribute.kind == Kind::kGraph ? "graph" : "tensor"));
}

void FileParser::read_number(Message& message, Attribute& attribute, Members& members) {
  using Kind = Attribute::Kind;
  switch (message.field()) {
    case 2:
      attribute.f = static_cast<double>(message.float32("f"));
      members.last = Kind::kFloat;
      break;
    case 3:
      attribute.i = message.integer("i");
      members.last = Kind::kInt;
      break;
    case 4:
      attribute.s = message.bytes("s");
      members.last = Kind::kString;
      break;
    case 7:
      message.floats("floats", attribute.floats);
      members.last = Kind::kFloats;
      break;
    case 8:
      message.integers("ints", attribute.ints);
      members.last = Kind::kInts;
      break;
    case 9:
      attribute.strings.push_back(message.bytes("strings", size_of(attribute.strings)));
      members.last = Kind::kStrings;
      break;
    default:
      break;
  }
}

void FileParser::read_member(Message& message, Members& members, int32_t graph,
                             Wire::Origin origin) {
  using Kind = Attribute::Kind;
  switch (message.field()) {
    case 5:
      if (!members.tensor) members.tensor.emplace();
      tensors_.read(message.message("t"), *members.tensor);
      members.last = Kind::kTensor;
      break;
    case 6: {
      const std::string_view text = message.bytes("g");
      origin.field = "g";
      if (message.good()) members.graph = wait_for(text, members.graph, graph, origin);
      members.last = Kind::kGraph;
      break;
    }
    case 10: {
      TensorFields fields;
      tensors_.read(message.message("tensors", size_of(members.tensors)), fields);
      if (message.good()) members.tensors.push_back(tensors_.finish(std::move(fields), message));
      members.last = Kind::kTensors;
      break;
    }
    case 11: {
      const std::string_view text = message.bytes("graphs", size_of(members.graphs));
      origin.field = "graphs";
      if (message.good()) members.graphs.push_back(wait_for(text, -1, graph, origin));
      members.last = Kind::kGraphs;
      break;
    }
    case 14:
      if (!members.type) members.type.emplace();
      read_type(message.message("tp"), *members.type);
      members.last = Kind::kTypeProto;
      break;
    case 15:
      read_type(message.message("type_protos", size_of(members.types)),
                members.types.emplace_back());
      members.last = Kind::kTypeProtos;
      break;
    case 22:
      members.sparse_tensor = tensors_.read_sparse(message.message("sparse_tensor"));
      members.last = Kind::kSparseTensor;
      break;
    case 23:
      members.sparse_tensors.push_back(
          tensors_.read_sparse(message.message("sparse_tensors", size_of(members.sparse_tensors))));
      members.last = Kind::kSparseTensors;
      break;
    default:
      break;
  }
}

}  // namespace

void Oddities::note(std::string_view what, std::string_view example) {
  const auto found = std::ranges::find(kinds_, what, &Kind::what);
  Kind& kind =
      found == kinds_.end() ? kinds_.emplace_back(Kind{what, std::string(example), 0}) : *found;
  ++kind.count;
}

void Oddities::append_to(std::vector<std::string>& warnings) const {
  for (const Kind& kind : kinds_) {
    std::string line = fmt::format(fmt::runtime(kind.what), kind.count);
    if (!kind.example.empty())
      line += fmt::format(" ({}{})", kind.count > 1 ? "first: " : "", kind.example);
    warnings.push_back(std::move(line));
  }
}

Result<ParsedFile> parse_file(std::span<const std::byte> bytes, const std::string& name,
                              ExternalFiles& external, Oddities& oddities, const OpenFile* open) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Wire wire(text, open);
  ParsedFile file = FileParser(wire, external, oddities).parse(text);
  file.model.bytes = wire.heads().take_copies();
  if (wire.good()) return file;
  const WireFault& fault = wire.fault();
  return make_error(ErrorCode::kBadModel, name,
                    fmt::format("byte {}{}{}: {}", fault.offset, fault.path.empty() ? "" : ", ",
                                fault.path, fault.message));
}

}  // namespace edgesage::onnx
