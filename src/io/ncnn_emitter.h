// What the ncnn reader builds a Graph with. Blobs become tensors: ncnn's (channels, height, width)
// is [1, height, width, channels], (height, width) is [1, height, width], (width) is [1, width].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/graph/shape_inference.h"
#include "src/io/ncnn_param.h"

namespace edgesage {

// Tensors of the main subgraph and the operators between them. Weights have no bytes: those lie in
// another file.
class NcnnEmitter {
 public:
  using Id = int32_t;

  // `int8`: activations are int8 until `leave_int8`.
  explicit NcnnEmitter(bool int8);

  [[nodiscard]] const Shape& shape(Id x) const {
    return graph_.main().tensors[static_cast<size_t>(x)].shape;
  }
  [[nodiscard]] DataType type(Id x) const {
    return graph_.main().tensors[static_cast<size_t>(x)].type;
  }
  // 0, 1, 2 of a blob to the dimension of its tensor; negative axes count from the end.
  // kBadModel-like nullopt is -1.
  [[nodiscard]] int64_t dimension(Id x, int64_t axis) const;

  Id input(std::string_view name, Shape shape);
  // A constant without bytes: float, or of the type of activations.
  Id constant(std::string_view name, Shape shape);
  Id ints(const std::vector<int64_t>& values);
  Id scalar(double value, DataType type);
  // An operator with one output of `shape`, typed as its first activation.
  Id add(Operator op, Shape shape);
  std::vector<Id> add(Operator op, const std::vector<Shape>& shapes);
  // A filter and its bias behind `x`; int8 filters have a scale a channel.
  Id weighted(Operator op, Id x, Shape filter, int64_t channels, bool has_bias, Shape shape);
  // x, or x as float32 behind a DEQUANTIZE.
  Id as_float(Id x);

  Id unary(OpKind kind, Id x);
  Id binary(OpKind kind, Id a, Id b, Shape shape);
  Id reshape(Id x, Shape shape);
  Id transpose(Id x, const std::vector<int64_t>& order);
  Id pad(Id x, const std::vector<int64_t>& pads);

  void rename(Id x, std::string_view name);
  void warn(std::string warning) { graph_.warnings.push_back(std::move(warning)); }
  [[nodiscard]] Graph& graph() { return graph_; }

 private:
  Id tensor(std::string_view name, DataType type, Shape shape);

  Graph graph_;
  DataType activations_;
};

}  // namespace edgesage
