#include "tests/predict/large_graphs.h"

#include <array>
#include <cstring>
#include <utility>

namespace edgesage::test {
namespace {

constexpr int64_t kSide = 4, kChannels = 8;

class Maker {
 public:
  Maker() {
    graph_.format = "tflite";
    graph_.buffers.resize(1);  // the format keeps the first empty
    graph_.subgraphs.resize(1);
    std::vector<std::byte> values(kChannels * kChannels * 9);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::byte>(static_cast<int8_t>(static_cast<int>(i % 37) - 18));
    conv_ = constant(DataType::kInt8, {kChannels, 1, 1, kChannels},
                     std::span(values).first(kChannels * kChannels));
    depthwise_ =
        constant(DataType::kInt8, {1, 3, 3, kChannels}, std::span(values).first(9 * kChannels));
    const std::vector<std::byte> zeros(4 * kChannels);
    bias_ = constant(DataType::kInt32, {kChannels}, zeros);
    shape_ = ints({1, kSide, kSide, kChannels});
    axis_ = ints({0});
  }

  int32_t input() {
    const int32_t id = tensor(DataType::kInt8, {1, kSide, kSide, kChannels});
    graph_.main().inputs.push_back(id);
    return id;
  }
  int32_t activation() { return tensor(DataType::kInt8, {1, kSide, kSide, kChannels}); }

  int32_t conv(int32_t x) { return append(OpKind::kConv2D, {x, conv_, bias_}); }
  int32_t depthwise(int32_t x) {
    return append(OpKind::kDepthwiseConv2D, {x, depthwise_, bias_}, {{"depth_multiplier", 1}});
  }
  int32_t add(int32_t a, int32_t b) { return append(OpKind::kAdd, {a, b}); }
  int32_t relu(int32_t x) { return append(OpKind::kRelu, {x}); }
  int32_t logistic(int32_t x) { return append(OpKind::kLogistic, {x}); }
  int32_t reshape(int32_t x) { return append(OpKind::kReshape, {x, shape_}); }

  int32_t concatenate(std::vector<int32_t> parts) {
    const int64_t channels = kChannels * static_cast<int64_t>(parts.size());
    const int32_t out = tensor(DataType::kInt8, {1, kSide, kSide, channels});
    operators().push_back(operator_of(OpKind::kConcatenation, std::move(parts), {out}));
    operators().back().set("axis", int64_t{3});
    return out;
  }

  std::vector<int32_t> split(int32_t count) {
    const int32_t whole = tensor(DataType::kInt8, {1, kSide, kSide, kChannels * int64_t{count}});
    graph_.main().inputs.push_back(whole);
    std::vector<int32_t> parts;
    for (int32_t i = 0; i < count; ++i) parts.push_back(activation());
    operators().push_back(operator_of(OpKind::kSplit, {axis_, whole}, parts));
    operators().back().set("num_splits", int64_t{count});
    return parts;
  }

  Graph finish(std::vector<int32_t> outputs) {
    graph_.main().outputs = std::move(outputs);
    return std::move(graph_);
  }

 private:
  std::vector<Operator>& operators() { return graph_.main().operators; }

  static Operator operator_of(OpKind kind, std::vector<int32_t> inputs,
                              std::vector<int32_t> outputs) {
    Operator op;
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    return op;
  }

  int32_t append(OpKind kind, std::vector<int32_t> inputs,
                 const std::vector<std::pair<std::string_view, int64_t>>& options = {}) {
    const int32_t out = activation();
    operators().push_back(operator_of(kind, std::move(inputs), {out}));
    for (const auto& [name, value] : options) operators().back().set(name, value);
    if (kind == OpKind::kConv2D || kind == OpKind::kDepthwiseConv2D)
      for (const char* stride : {"stride_h", "stride_w"})
        operators().back().set(stride, int64_t{1});
    return out;
  }

  int32_t tensor(DataType type, std::vector<int64_t> shape) {
    Tensor& made = graph_.main().tensors.emplace_back();
    made.type = type;
    made.shape = std::move(shape);
    made.quantization.scale = {0.05F};
    made.quantization.zero_point = {0};
    return static_cast<int32_t>(graph_.main().tensors.size()) - 1;
  }

  int32_t constant(DataType type, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
    const int32_t id = tensor(type, std::move(shape));
    graph_.main().tensors.back().buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back(make_buffer(bytes));
    return id;
  }

  int32_t ints(const std::vector<int32_t>& values) {
    return constant(DataType::kInt32, {static_cast<int64_t>(values.size())},
                    std::as_bytes(std::span(values)));
  }

  Graph graph_;
  int32_t conv_ = 0, depthwise_ = 0, bias_ = 0, shape_ = 0, axis_ = 0;
};

Graph chain(int32_t operators) {
  Maker make;
  int32_t x = make.input(), before = x;
  for (int32_t i = 0; i < operators; ++i) {
    const int32_t last = std::exchange(before, x);
    switch (i % 5) {
      case 0:
      case 1:
        x = make.conv(x);
        break;
      case 2:
        x = make.depthwise(x);
        break;
      case 3:
        x = make.add(x, last);
        break;
      default:
        x = make.logistic(x);
        break;
    }
  }
  return make.finish({x});
}

Graph wide(int32_t operators) {
  Maker make;
  const int32_t x = make.input();
  std::vector<int32_t> parts;
  for (int32_t i = 0; i < operators / 2; ++i) parts.push_back(make.conv(make.relu(x)));
  return make.finish({make.concatenate(std::move(parts))});
}

Graph branches(int32_t operators) {
  Maker make;
  int32_t x = make.input();
  for (int32_t i = 0; i < operators / 7; ++i) {
    const int32_t left = make.add(make.conv(x), make.depthwise(x));
    const int32_t right = make.add(make.relu(x), make.conv(x));
    x = make.add(left, right);
  }
  return make.finish({x});
}

Graph long_lived(int32_t operators) {
  Maker make;
  std::vector<int32_t> kept{make.input()};
  for (int32_t i = 0; i < operators / 2; ++i) kept.push_back(make.conv(kept.back()));
  int32_t x = kept.back();
  for (; !kept.empty(); kept.pop_back()) x = make.add(x, kept.back());
  return make.finish({x});
}

Graph split(int32_t operators) {
  Maker make;
  std::vector<int32_t> parts = make.split(operators);
  std::vector<int32_t> outputs(parts.begin(), parts.begin() + operators / 2);
  for (size_t i = outputs.size(); i < parts.size(); ++i) outputs.push_back(make.conv(parts[i]));
  return make.finish(std::move(outputs));
}

Graph inputs(int32_t operators) {
  Maker make;
  std::vector<int32_t> parts;
  for (int32_t i = 0; i < operators; ++i) parts.push_back(make.input());
  std::vector<int32_t> outputs;
  for (const int32_t part : parts) outputs.push_back(make.logistic(part));
  outputs.push_back(make.concatenate(std::move(parts)));
  return make.finish(std::move(outputs));
}

Graph reshapes(int32_t operators) {
  Maker make;
  const int32_t x = make.conv(make.input());
  std::vector<int32_t> outputs;
  for (int32_t i = 0; i < operators / 2; ++i) outputs.push_back(make.conv(make.reshape(x)));
  return make.finish(std::move(outputs));
}

struct Shape {
  std::string_view name;
  Graph (*make)(int32_t operators);
};
constexpr std::array<Shape, 7> kShapes{{{"chain", chain},
                                        {"wide", wide},
                                        {"branches", branches},
                                        {"long-lived", long_lived},
                                        {"split", split},
                                        {"inputs", inputs},
                                        {"reshapes", reshapes}}};

}  // namespace

std::string_view name_of(LargeGraph shape) { return kShapes[static_cast<size_t>(shape)].name; }

Graph large_graph(LargeGraph shape, int32_t operators) {
  return kShapes[static_cast<size_t>(shape)].make(operators);
}

}  // namespace edgesage::test
