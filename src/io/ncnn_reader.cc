#include "src/io/ncnn_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/io/ncnn_layers.h"

namespace edgesage {
namespace {

constexpr int64_t kMostSide = int64_t{1} << 31;
constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr size_t kMostTensors = 20'000'000;
constexpr int kHint = 30;  // the parameter that gives the shapes of the outputs

bool has_int8_weights(const std::vector<NcnnLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const NcnnLayer& layer) {
    return layer.integer(8, 0) != 0 &&
           (layer.type == "Convolution" || layer.type == "ConvolutionDepthWise" ||
            layer.type == "InnerProduct");
  });
}

// Rank, then width, height and channels, as a shape of ours.
std::optional<Shape> shape_of_sides(int64_t rank, int64_t w, int64_t h, int64_t c) {
  const auto fits = [](int64_t side) { return side > 0 && side <= kMostSide; };
  if (rank == 1 && fits(w)) return Shape{1, w};
  if (rank == 2 && fits(w) && fits(h)) return Shape{1, h, w};
  if (rank == 3 && fits(w) && fits(h) && fits(c)) return Shape{1, h, w, c};
  return std::nullopt;
}

std::optional<Shape> hinted_shape(const NcnnLayer& layer, size_t output) {
  const std::vector<int64_t> hints = layer.integers(kHint);
  const size_t at = 4 * output;
  if (hints.size() < at + 4) return std::nullopt;
  return shape_of_sides(hints[at], hints[at + 1], hints[at + 2], hints[at + 3]);
}

class Reader {
 public:
  Reader(std::string_view where, const NcnnInputShapes& shapes, bool int8)
      : where_(where), given_(shapes), net_(int8) {}

  Result<Graph> run(const std::vector<NcnnLayer>& layers) {
    for (const NcnnLayer& layer : layers) {
      EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int32_t> outputs, read_layer(layer));
      EDGESAGE_RETURN_IF_ERROR(enter(layer, outputs));
    }
    for (const auto& [name, shape] : given_)
      if (!used_.contains(name))
        return make_error(
            ErrorCode::kInvalidArgument, std::string(where_),
            fmt::format("no input is called {}; there are {}", name, fmt::join(inputs_, ", ")));
    Graph& graph = net_.graph();
    add_outputs(layers);
    if (graph.main().outputs.empty())
      return make_error(ErrorCode::kBadModel, std::string(where_), "computes nothing");
    for (const auto& [type, count] : unknown_)
      net_.warn(fmt::format("layer {} ({} times) is not known or has no counterpart", type, count));
    net_.warn(
        "weights lie in the .bin file beside it and are not read; sizes follow from the shapes");
    return std::move(graph);
  }

 private:
  Result<std::vector<int32_t>> read_layer(const NcnnLayer& layer) {
    std::vector<int32_t> in;
    for (const std::string& blob : layer.inputs) in.push_back(blobs_.at(blob));
    const NcnnCall call{layer, in, net_, where_};
    if (layer.type == "Input") return read_input(call);
    const std::optional<NcnnRule> rule = ncnn_rule(layer.type);
    if (!rule) return read_unknown(call);
    if (in.size() < rule->least_inputs)
      return call.bad(fmt::format("has {} inputs; {} are needed", in.size(), rule->least_inputs));
    return rule->apply(call);
  }

  Result<std::vector<int32_t>> read_input(const NcnnCall& call) {
    if (call.layer.outputs.size() != 1) return call.bad("has not one output");
    const std::string& name = call.layer.outputs.front();
    inputs_.push_back(name);
    const int64_t w = call.layer.integer(0, 0), h = call.layer.integer(1, 0);
    const int64_t c = call.layer.integer(2, 0);
    std::optional<Shape> shape;
    if (const auto it = given_.find(name); it != given_.end()) {
      used_.insert(name);
      EDGESAGE_ASSIGN_OR_RETURN(shape, given_shape(call, it->second));
    } else {
      shape = shape_of_sides(c > 0 ? 3 : h > 0 ? 2 : 1, w, h, c);
      if (!shape) shape = hinted_shape(call.layer, 0);
    }
    if (!shape)
      return make_error(ErrorCode::kInvalidArgument,
                        fmt::format("{}: line {}", where_, call.layer.line),
                        fmt::format("input {} has no shape in the file; give it, as in --shape "
                                    "{}:3x224x224 (channels, height, width)",
                                    name, name));
    return std::vector{net_.input(name, *shape)};
  }

  static Result<std::optional<Shape>> given_shape(const NcnnCall& call,
                                                  std::vector<int64_t> sides) {
    if (sides.size() == 4 && sides.front() == 1) sides.erase(sides.begin());
    std::reverse(sides.begin(), sides.end());
    const auto rank = static_cast<int64_t>(sides.size());
    sides.resize(3, 0);
    const auto shape = shape_of_sides(rank, sides[0], sides[1], sides[2]);
    if (!shape) {
      return make_error(ErrorCode::kInvalidArgument, std::string(call.where),
                        fmt::format("the shape given for input {} is not one to three positive "
                                    "sizes (channels, height, width), with a batch of 1 or without",
                                    call.layer.outputs.front()));
    }
    return shape;
  }

  Result<std::vector<int32_t>> read_unknown(const NcnnCall& call) {
    ++unknown_[call.layer.type];
    std::vector<Shape> shapes;
    for (size_t i = 0; i < call.layer.outputs.size(); ++i) {
      std::optional<Shape> shape = hinted_shape(call.layer, i);
      if (!shape && !call.in.empty()) shape = call.shape();
      if (!shape)
        return call.bad("is not known, and the file does not say the shape of its output");
      shapes.push_back(*shape);
    }
    if (shapes.empty()) return std::vector<int32_t>{};
    Operator op;
    op.kind = OpKind::kUnknown;
    op.custom_code = call.layer.type;
    op.inputs = call.in;
    return net_.add(std::move(op), shapes);
  }

  Status enter(const NcnnLayer& layer, const std::vector<int32_t>& outputs) {
    const NcnnCall call{layer, outputs, net_, where_};
    if (outputs.size() < layer.outputs.size())
      return call.bad(
          fmt::format("has {} outputs where {} are made", layer.outputs.size(), outputs.size()));
    for (size_t i = 0; i < layer.outputs.size(); ++i) {
      net_.rename(outputs[i], layer.outputs[i]);
      blobs_[layer.outputs[i]] = outputs[i];
    }
    const auto& tensors = net_.graph().main().tensors;
    if (tensors.size() > kMostTensors)
      return call.bad("is beyond the number of tensors that is read");
    for (; checked_ < tensors.size(); ++checked_) {
      if (tensors[checked_].element_count() > kMostElements)
        return call.bad(fmt::format("makes a tensor of more than 2^40 elements ([{}])",
                                    fmt::join(tensors[checked_].shape, ",")));
    }
    return {};
  }

  // Blobs that nothing reads.
  void add_outputs(const std::vector<NcnnLayer>& layers) {
    std::set<int32_t> read;
    for (const Operator& op : net_.graph().main().operators)
      read.insert(op.inputs.begin(), op.inputs.end());
    std::set<int32_t> added;
    Subgraph& main = net_.graph().main();
    for (const NcnnLayer& layer : layers) {
      for (const std::string& blob : layer.outputs) {
        const int32_t id = blobs_.at(blob);
        const Tensor& tensor = main.tensors[static_cast<size_t>(id)];
        if (!read.contains(id) && !tensor.is_constant() && layer.type != "Input" &&
            added.insert(id).second)
          main.outputs.push_back(id);
      }
    }
  }

  std::string_view where_;
  const NcnnInputShapes& given_;
  std::set<std::string> used_;  // of the given shapes
  NcnnEmitter net_;
  std::map<std::string, int32_t> blobs_;
  std::vector<std::string> inputs_;
  std::map<std::string, int> unknown_;
  size_t checked_ = 0;  // tensors whose size is fine
};

}  // namespace

Result<Graph> read_ncnn(std::string_view text, std::string_view where,
                        const NcnnInputShapes& shapes) {
  EDGESAGE_ASSIGN_OR_RETURN(const NcnnParam file, parse_ncnn_param(text, where));
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph,
                            Reader(where, shapes, has_int8_weights(file.layers)).run(file.layers));
  if (file.ignored_lines > 0)
    graph.warnings.push_back(fmt::format(
        "{} lines behind the {} layers that line 2 gives are not read, as ncnn does not",
        file.ignored_lines, file.layers.size()));
  return graph;
}

}  // namespace edgesage
