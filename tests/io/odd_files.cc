#include "tests/io/odd_files.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstring>

#include "src/io/tflite_writer.h"
#include "tests/io/odd_bytes.h"

namespace edgesage::test {
namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

Bytes text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Operator op_of(OpKind kind, std::vector<Attribute> attributes = {}) {
  Operator op;
  op.kind = kind;
  op.attributes = std::move(attributes);
  return op;
}

Operator custom(std::string code, Bytes options = {}) {
  Operator op = op_of(OpKind::kCustom);
  op.custom_code = std::move(code);
  op.custom_options = std::move(options);
  return op;
}

Operator conv_op() {
  return op_of(OpKind::kConv2D,
               {{"padding", int64_t{1}}, {"stride_w", int64_t{1}}, {"stride_h", int64_t{1}}});
}

// A second operator behind the first: `op` reads the last output, and `constants` are its further
// inputs.
void append(Graph& graph, Operator op, std::vector<Tensor> constants, Tensor output) {
  Subgraph& main = graph.main();
  op.inputs = {main.outputs.front()};
  for (Tensor& constant : constants) {
    op.inputs.push_back(static_cast<int32_t>(main.tensors.size()));
    main.tensors.push_back(std::move(constant));
  }
  op.outputs = {static_cast<int32_t>(main.tensors.size())};
  main.tensors.push_back(std::move(output));
  main.outputs = op.outputs;
  main.operators.push_back(std::move(op));
}

Tensor int_constant(Graph& graph, std::string name, const std::vector<int32_t>& values) {
  Tensor tensor =
      plain_tensor(std::move(name), DataType::kInt32, {static_cast<int64_t>(values.size())});
  make_constant(graph, tensor, bytes_of(values));
  return tensor;
}

Graph dynamic_convolution() {
  Graph graph = convolution(1, 3, 4);
  for (const size_t tensor : {size_t{0}, graph.main().tensors.size() - 1}) {
    Tensor& open = graph.main().tensors[tensor];
    open.shape_signature = {1, -1, -1, open.shape.back()};
  }
  return graph;
}

Graph reshape_with_target(const std::vector<int32_t>& target) {
  Graph graph;
  Tensor shape = int_constant(graph, "target", target);
  Graph made = one_operator(op_of(OpKind::kReshape),
                            {plain_tensor("image", DataType::kFloat32, {1, 4, 4, 2}), shape},
                            {plain_tensor("flat", DataType::kFloat32, {1, 32})});
  made.buffers = graph.buffers;
  Tensor weights = plain_tensor("weights", DataType::kFloat32, {3, 32});
  make_constant(made, weights);
  append(made, op_of(OpKind::kFullyConnected), {weights},
         plain_tensor("scores", DataType::kFloat32, {1, 3}));
  return made;
}

Graph with_second_subgraph() {
  Graph graph = convolution(4, 3, 4);
  graph.subgraphs.emplace_back().name = "empty";
  return graph;
}

Graph without_outputs() {
  Graph graph = one_operator(op_of(OpKind::kAssignVariable),
                             {plain_tensor("handle", DataType::kResource, {1}),
                              plain_tensor("value", DataType::kFloat32, {4})},
                             {});
  graph.subgraphs.emplace_back().name = "init";
  Operator once = op_of(OpKind::kCallOnce, {{"init_subgraph_index", int64_t{1}}});
  graph.main().operators.push_back(once);
  return graph;
}

// WHILE whose body is a convolution of [1,4,4,3] to itself.
Graph loop() {
  Graph graph = one_operator(op_of(OpKind::kWhile, {{"cond_subgraph_index", int64_t{1}},
                                                    {"body_subgraph_index", int64_t{2}}}),
                             {plain_tensor("state", DataType::kInt8, {1, 4, 4, 3})},
                             {plain_tensor("last", DataType::kInt8, {1, 4, 4, 3})});
  Graph condition =
      one_operator(op_of(OpKind::kLess), {plain_tensor("a", DataType::kInt8, {1, 4, 4, 3})},
                   {plain_tensor("go", DataType::kBool, {1})});
  condition.main().operators[0].inputs = {0, 0};
  Graph body = convolution(4, 3, 3);
  for (Tensor& tensor : body.main().tensors)
    if (tensor.is_constant()) tensor.buffer += static_cast<int32_t>(graph.buffers.size());
  graph.buffers.insert(graph.buffers.end(), body.buffers.begin(), body.buffers.end());
  graph.subgraphs.push_back(condition.main());
  graph.subgraphs.push_back(body.main());
  return graph;
}

// An IF in the loop's body, whose branches are the convolution and nothing.
Graph nested_branch() {
  Graph graph = loop();
  const Subgraph convolves = graph.subgraphs[2];
  Subgraph branch = one_operator(op_of(OpKind::kIf, {{"then_subgraph_index", int64_t{3}},
                                                     {"else_subgraph_index", int64_t{4}}}),
                                 {plain_tensor("which", DataType::kBool, {1}),
                                  plain_tensor("x", DataType::kInt8, {1, 4, 4, 3})},
                                 {plain_tensor("y", DataType::kInt8, {1, 4, 4, 3})})
                        .main();
  branch.inputs = {1};
  graph.subgraphs[2] = branch;
  Subgraph nothing;
  nothing.tensors = {plain_tensor("same", DataType::kInt8, {1, 4, 4, 3})};
  nothing.inputs = nothing.outputs = {0};
  graph.subgraphs.push_back(nothing);
  graph.subgraphs.push_back(convolves);
  return graph;
}

Graph recursive_loop() {
  Graph graph = loop();
  Operator again = graph.main().operators[0];
  again.inputs = {0};
  again.outputs = {static_cast<int32_t>(graph.subgraphs[2].tensors.size()) - 1};
  graph.subgraphs[2].operators.push_back(again);
  return graph;
}

// A composite whose decomposition is the convolution, twice: read, and detached.
Graph composites() {
  Graph graph = loop();
  Operator composite =
      op_of(OpKind::kStablehloComposite,
            {{"name", std::string("odml.conv")}, {"decomposition_subgraph_index", int64_t{2}}});
  composite.inputs = {0};
  composite.outputs = {1};
  graph.main().operators = {composite};
  graph.main().tensors.push_back(plain_tensor("unread", DataType::kInt8, {1, 4, 4, 3}));
  composite.outputs = {2};
  graph.main().operators.push_back(composite);
  return graph;
}

// A 1x1 convolution of 3 to 3 channels in 4 bits: 9 weights in 5 bytes.
Graph four_bits() {
  Graph graph = convolution(4, 3, 3);
  Tensor& weights = graph.main().tensors[1];
  weights.type = DataType::kInt4;
  make_constant(graph, weights);
  return graph;
}

Graph compiled(std::string code, const std::string& metadata) {
  Graph graph = one_operator(custom(std::move(code), Bytes(64, std::byte{7})),
                             {plain_tensor("image", DataType::kInt8, {1, 96, 96, 3})},
                             {plain_tensor("scores", DataType::kInt8, {1, 10})});
  if (!metadata.empty()) {
    graph.metadata = {{"vela_version", static_cast<int32_t>(graph.buffers.size())}};
    graph.buffers.push_back(make_buffer(bytes_of(metadata)));
  }
  return graph;
}

Graph detection() {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("max_detections", 10);
    builder.Int("max_classes_per_detection", 1);
    builder.Int("num_classes", 90);
    builder.Float("y_scale", 10.0F);
  });
  builder.Finish();
  const std::vector<uint8_t>& options = builder.GetBuffer();
  const auto bytes = bytes_of(options);
  std::vector<Tensor> outputs;
  for (const char* name : {"boxes", "classes", "scores", "count"}) {
    outputs.push_back(plain_tensor(name, DataType::kFloat32, {}));
    outputs.back().has_rank = false;
  }
  return one_operator(custom("TFLite_Detection_PostProcess", Bytes(bytes.begin(), bytes.end())),
                      {plain_tensor("encodings", DataType::kFloat32, {1, 100, 4}),
                       plain_tensor("predictions", DataType::kFloat32, {1, 100, 91})},
                      std::move(outputs));
}

// TensorFlow's filters are height, width, in, out.
Graph flex() {
  Graph graph;
  Tensor filter = plain_tensor("filter", DataType::kFloat32, {3, 3, 2, 5});
  make_constant(graph, filter);
  Graph made = one_operator(custom("FlexConv2D", text_bytes("Conv2D")),
                            {plain_tensor("image", DataType::kFloat32, {1, 8, 8, 2}), filter},
                            {plain_tensor("map", DataType::kFloat32, {1, 8, 8, 5})});
  made.buffers = graph.buffers;
  append(made, custom("FlexErf"), {}, plain_tensor("erf", DataType::kFloat32, {1, 8, 8, 5}));
  append(made, custom("FlexMystery"), {}, plain_tensor("end", DataType::kFloat32, {1, 8, 8, 5}));
  return made;
}

// A convolution whose float weights come from half-precision constants.
Graph half_weights() {
  Graph graph = convolution(4, 3, 4);
  Subgraph& main = graph.main();
  for (Tensor& tensor : main.tensors) {
    tensor.type = DataType::kFloat32;
    tensor.quantization = {};
  }
  const auto half = static_cast<int32_t>(main.tensors.size());
  main.tensors.push_back(plain_tensor("half", DataType::kFloat16, main.tensors[1].shape));
  make_constant(graph, main.tensors.back());
  main.tensors[1].buffer = kNoBuffer;
  Operator unpack = op_of(OpKind::kDequantize);
  unpack.inputs = {half};
  unpack.outputs = {1};
  main.operators.insert(main.operators.begin(), unpack);
  return graph;
}

Graph strings() {
  return one_operator(
      op_of(OpKind::kHashtableLookup),
      {plain_tensor("words", DataType::kString, {3}), plain_tensor("keys", DataType::kString, {5}),
       plain_tensor("values", DataType::kFloat32, {5, 2})},
      {plain_tensor("found", DataType::kFloat32, {3, 2}),
       plain_tensor("hits", DataType::kUInt8, {3})});
}

// A left-out bias (-1), a MUL of a tensor with itself, and no options at all.
Graph sparse_operands() {
  Graph graph = convolution(4, 3, 4);
  graph.main().operators[0].inputs.push_back(kNoTensor);
  Operator square = op_of(OpKind::kMul);
  square.omits_options = true;
  append(graph, square, {}, plain_tensor("squares", DataType::kInt8, {1, 4, 4, 4}));
  graph.main().operators.back().inputs.push_back(graph.main().operators.back().inputs[0]);
  return graph;
}

Graph wrong_concatenation() {
  return one_operator(op_of(OpKind::kConcatenation, {{"axis", int64_t{3}}}),
                      {plain_tensor("a", DataType::kFloat32, {1, 4, 4, 2}),
                       plain_tensor("b", DataType::kFloat32, {1, 4, 5, 2})},
                      {plain_tensor("c", DataType::kFloat32, {1, 4, 4, 4})});
}

Graph wrong_split() {
  Graph graph;
  Tensor axis = int_constant(graph, "axis", {3});
  Graph made = one_operator(op_of(OpKind::kSplit, {{"num_splits", int64_t{3}}}),
                            {axis, plain_tensor("x", DataType::kFloat32, {1, 2, 2, 4})},
                            {plain_tensor("a", DataType::kFloat32, {1, 2, 2, 2}),
                             plain_tensor("b", DataType::kFloat32, {1, 2, 2, 2})});
  made.buffers = graph.buffers;
  return made;
}

// Channels first, turned by a TRANSPOSE in front of the convolution.
Graph channels_first() {
  Graph graph = convolution(8, 3, 4);
  Subgraph& main = graph.main();
  const auto input = static_cast<int32_t>(main.tensors.size());
  main.tensors.push_back(plain_tensor("image", DataType::kInt8, {1, 3, 8, 8}));
  main.tensors.push_back(int_constant(graph, "order", {0, 2, 3, 1}));
  main.tensors[0].name = "turned";
  Operator turn = op_of(OpKind::kTranspose);
  turn.inputs = {input, input + 1};
  turn.outputs = {0};
  main.operators.insert(main.operators.begin(), turn);
  main.inputs = {input};
  return graph;
}

Graph wrong_product() {
  Graph graph;
  Tensor weights = plain_tensor("weights", DataType::kFloat32, {3, 7});
  make_constant(graph, weights);
  Graph made = one_operator(op_of(OpKind::kFullyConnected),
                            {plain_tensor("x", DataType::kFloat32, {1, 32}), weights},
                            {plain_tensor("y", DataType::kFloat32, {1, 3})});
  made.buffers = graph.buffers;
  return made;
}

Graph two_entries() {
  Graph graph = convolution(4, 3, 4);
  const Graph other = convolution(8, 3, 4);
  graph.subgraphs.push_back(other.main());
  graph.signatures = {{"small", 0, {{"image", 0}}, {}}, {"large", 1, {{"image", 0}}, {}}};
  return graph;
}

std::vector<OddFile> make_all() {
  std::vector<OddFile> files;
  const auto add = [&files](std::string name, Bytes bytes) {
    files.push_back({std::move(name), std::move(bytes)});
  };
  const auto add_graph = [&add](std::string name, const Graph& graph) {
    auto written = write_tflite(graph);
    add(std::move(name), written ? *std::move(written) : Bytes());
  };
  const Bytes whole = *write_tflite(convolution(4, 3, 4));
  add_graph("T01_open_sizes", dynamic_convolution());
  add_graph("T02_constant_target", reshape_with_target({1, 32}));
  add_graph("T02_stretching_target", reshape_with_target({-1, 32}));
  add("T03_old_field", with_codes(3, 0));
  add("T03_new_field", with_codes(127, 150));
  add("T03_only_new", with_codes(0, 3));
  add("T03_both_absent", with_codes(0, 0, true));
  const std::pair<const char*, size_t> cuts[] = {{"T04_cut_to_a_hundredth", whole.size() / 100},
                                                 {"T04_cut_to_half", whole.size() / 2},
                                                 {"T04_cut_by_84", whole.size() - 84},
                                                 {"T04_cut_by_1", whole.size() - 1}};
  for (const auto& [name, size] : cuts)
    add(name, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  add("T05_eight_bytes", text_bytes(std::string_view("\x18\0\0\0TFL3", 8)));
  add("T07_lfs_pointer",
      text_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff"
                 "69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"));
  add("T08_zip", text_bytes(std::string_view("PK\x03\x04\x14\0\0\0\x08\0", 10)));
  add("T08_gzip", text_bytes(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10)));
  add("T08_html", text_bytes("<!DOCTYPE html>\n<html><head><title>Sign in</title>"));
  add("T08_empty", {});
  add("T08_graph_def", text_bytes(std::string_view("\x0a\x0c\x0a\x01x\x12\x07"
                                                   "Identit",
                                                   14)));
  add("T08_noise", text_bytes("\x91\xe3\x07\xb8\xf0\x5d\xc2\x6a\x13\xde\xad\xbe\xef\x99\x80\xff"));
  add("T09_no_operators", without_operators());
  add_graph("T10_empty_second", with_second_subgraph());
  add_graph("T11_no_outputs", without_outputs());
  add_graph("T12_loop", loop());
  add_graph("T12_nested", nested_branch());
  add_graph("T12_recursive", recursive_loop());
  add_graph("T13_composites", composites());
  add_graph("T14_int4", four_bits());
  add_graph("T17_edge_tpu", compiled("edgetpu-custom-op", ""));
  add_graph("T18_vela", compiled("ethos-u", "3.11.0"));
  add_graph("T19_detection", detection());
  add_graph("T20_flex", flex());
  add_graph("T22_half_weights", half_weights());
  const std::vector<int32_t> scalar, empty = {0}, hollow = {1, 0, 3, 4};
  add("T23_null", with_shape(nullptr));
  add("T23_scalar", with_shape(&scalar));
  add("T23_empty", with_shape(&empty));
  add("T24_hollow", with_shape(&hollow));
  add_graph("T25_strings", strings());
  add("T26_types", all_types(false));
  add("T26_unknown_type", all_types(true));
  add_graph("T28_left_out", sparse_operands());
  add_graph("T29_reshape", reshape_with_target({1, 31}));
  add_graph("T29_concatenation", wrong_concatenation());
  add_graph("T29_split", wrong_split());
  add_graph("T31_channels_first", channels_first());
  add_graph("T32_wrong_product", wrong_product());
  add_graph("entries", two_entries());
  return files;
}

}  // namespace

Tensor plain_tensor(std::string name, DataType type, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  if (type == DataType::kInt8) {
    tensor.quantization.scale = {0.5F};
    tensor.quantization.zero_point = {0};
  }
  return tensor;
}

Graph one_operator(Operator op, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  Graph graph;
  Subgraph& main = graph.subgraphs.emplace_back();
  main.name = "main";
  for (auto [from, operands, ends] : {std::tuple(&inputs, &op.inputs, &main.inputs),
                                      std::tuple(&outputs, &op.outputs, &main.outputs)}) {
    for (Tensor& tensor : *from) {
      operands->push_back(static_cast<int32_t>(main.tensors.size()));
      if (!tensor.is_constant()) ends->push_back(operands->back());
      main.tensors.push_back(std::move(tensor));
    }
  }
  main.operators.push_back(std::move(op));
  return graph;
}

void make_constant(Graph& graph, Tensor& tensor, std::span<const std::byte> bytes) {
  const std::vector<std::byte> zeros(static_cast<size_t>(tensor.byte_size().value_or(0)));
  tensor.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(bytes.empty() ? std::span(zeros) : bytes));
}

Graph convolution(int64_t side, int64_t channels, int64_t filters) {
  Graph constants;
  Tensor weights = plain_tensor("weights", DataType::kInt8, {filters, 1, 1, channels});
  make_constant(constants, weights);
  Graph graph = one_operator(
      conv_op(),
      {plain_tensor("image", DataType::kInt8, {1, side, side, channels}), std::move(weights)},
      {plain_tensor("map", DataType::kInt8, {1, side, side, filters})});
  graph.buffers = constants.buffers;
  return graph;
}

const std::vector<OddFile>& odd_files() {
  static const std::vector<OddFile> files = make_all();
  return files;
}

std::vector<std::byte> odd_file(std::string_view name) {
  const auto found = std::ranges::find(odd_files(), name, &OddFile::name);
  return found == odd_files().end() ? std::vector<std::byte>() : found->bytes;
}

}  // namespace edgesage::test
