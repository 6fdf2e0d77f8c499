// An ONNX file as plain tables, as the file has them: what the wire reader makes, shape inference
// completes and the converter turns into a Graph.
//
// Names and bytes are views: into the file's mapping, or into `Model::names` and `Model::bytes`
// where they were made here (inlined functions, folded constants). Graphs lie in one flat list, an
// attribute that holds a graph holds its index: nothing here needs recursion, however deep a file
// nests. A Model may be moved, not copied. Not synchronised: concurrent const use is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgesage::onnx {

// TensorProto.DataType, by its numbers in the format; values beyond the last are kept as they came.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

// Bits of an element; 0 for text and for types that are not known.
[[nodiscard]] int element_bits(ElementType type);
// "float16", "int4"; "type 77" where it is not known.
[[nodiscard]] std::string element_name(ElementType type);
// Bytes of a tensor as raw_data holds it (elements of less than a byte are packed); nullopt for
// text, types that are not known, negative dimensions, and what does not fit in 63 bits.
[[nodiscard]] std::optional<int64_t> tensor_bytes(ElementType type, std::span<const int64_t> dims);

// One dimension: a number, a name ("batch", "N"), or neither.
struct Dimension {
  int64_t value = -1;       // -1: not a number
  std::string_view symbol;  // empty: no name
  [[nodiscard]] bool known() const { return value >= 0; }
  bool operator==(const Dimension&) const = default;
};

// What is known about a value. A tensor's shape may be unknown altogether, or in some dimensions.
struct ValueType {
  enum class Kind : uint8_t { kUnknown, kTensor, kSparseTensor, kSequence, kMap, kOptional };
  Kind kind = Kind::kUnknown;
  ElementType element = ElementType::kUndefined;
  bool has_shape = false;
  std::vector<Dimension> shape;
  // What a sequence or an optional holds, a map maps to. Shared, never changed.
  std::shared_ptr<const ValueType> inner;
};

struct Value {
  std::string_view name;
  ValueType type;
};

// An initialiser or a tensor attribute. `data` holds the elements little endian, as raw_data would
// (packed 2-, 4- and 6-bit values included); values that the file gives in int32_data and the like
// are converted. Empty with `data_missing` where the bytes lie in a file that is not there.
struct Constant {
  std::string_view name;
  ElementType element = ElementType::kUndefined;
  std::vector<int64_t> dims;
  std::span<const std::byte> data;
  std::shared_ptr<const void> storage;    // keeps `data` alive; null: the model's mapping does
  std::vector<std::string_view> strings;  // of a string tensor
  bool data_missing = false;
  bool is_sparse = false;  // only `dims` and `element` are kept of a sparse initialiser
};

struct Attribute {
  // AttributeProto.AttributeType.
  enum class Kind : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kSparseTensors = 12,
    kTypeProto = 13,
    kTypeProtos = 14,
  };
  std::string_view name;
  Kind kind = Kind::kUndefined;
  std::string_view reference;  // inside a function: the attribute of the call that gives the value
  double f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Constant> tensors;  // one for kTensor and kSparseTensor
  std::vector<int32_t> graphs;    // indexes into Model::graphs; one for kGraph
  std::vector<ValueType> types;   // one for kTypeProto
};

struct Node {
  std::string_view op_type;
  std::string_view domain;  // "" is ai.onnx
  std::string_view overload;
  std::string_view name;
  std::vector<std::string_view> inputs;  // "": left out
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
  int64_t since = 0;  // version of the domain's operator set that is imported where it stands

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  [[nodiscard]] int64_t attr_int(std::string_view attribute, int64_t otherwise) const;
  [[nodiscard]] double attr_float(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::string_view attr_string(std::string_view attribute,
                                             std::string_view otherwise) const;
  // Empty where it is absent.
  [[nodiscard]] std::span<const int64_t> attr_ints(std::string_view attribute) const;
  // The graph of an attribute, or -1.
  [[nodiscard]] int32_t attr_graph(std::string_view attribute) const;
};

// The graphs that a node's attributes hold, in the order of the attributes.
[[nodiscard]] std::vector<int32_t> bodies_of(const Node& node);

// A graph, or the body of an attribute (If, Loop, Scan). Nodes are in an order in which every value
// is made before it is read. Names that a body does not define are those of the graphs around it;
// no name is defined in a graph and again in a graph inside it.
struct GraphTable {
  std::string_view name;
  int32_t parent = -1;  // the graph in which the node stands that holds this one
  std::vector<Node> nodes;
  std::vector<Constant> initializers;
  std::vector<Value> inputs;  // of the main graph those that a caller gives, no initialisers
  std::vector<Value> outputs;
  std::vector<Value> value_info;
};

struct OperatorSet {
  std::string_view domain;
  int64_t version = 0;
};

struct Model {
  int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::vector<OperatorSet> opsets;
  std::vector<GraphTable> graphs;  // 0 is the main graph
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<std::string> warnings;  // what was odd, one line each

  std::shared_ptr<const void> storage;       // the file's mapping
  std::deque<std::string> names;             // text that is in no file
  std::deque<std::vector<std::byte>> bytes;  // made, or copied from between the weights

  Model() = default;
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // A view of `text` that lives as long as the model.
  std::string_view keep(std::string text);
};

}  // namespace edgesage::onnx
