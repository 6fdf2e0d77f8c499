#include "src/app/strip_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "src/analysis/weight_stats.h"
#include "src/base/rng.h"
#include "src/io/onnx/read.h"

namespace edgesage::app {
namespace {

using onnx::Constant;
using onnx::ElementType;

constexpr int64_t kMostKept = 4;    // elements: steps, scales, limits of loops
constexpr size_t kMarkerBytes = 3;  // of an element's number: constants of 16 million elements

// Where a node reads weights, by the number of its input. Scales, zero points, slopes and what says
// how large something is are at no such place.
struct WeightPlace {
  std::string_view op;
  std::array<int8_t, 4> inputs;  // -1: no further one
};
constexpr WeightPlace kPlaces[] = {
    {"Conv", {1, 2, -1, -1}},
    {"ConvTranspose", {1, 2, -1, -1}},
    {"ConvInteger", {1, -1, -1, -1}},
    {"QLinearConv", {3, 8, -1, -1}},
    {"Gemm", {0, 1, 2, -1}},
    {"MatMul", {0, 1, -1, -1}},
    {"MatMulInteger", {0, 1, -1, -1}},
    {"QLinearMatMul", {0, 3, -1, -1}},
    {"LSTM", {1, 2, 3, -1}},
    {"GRU", {1, 2, 3, -1}},
    {"RNN", {1, 2, 3, -1}},
    {"BatchNormalization", {1, 2, 3, 4}},
    {"LayerNormalization", {1, 2, -1, -1}},
    {"InstanceNormalization", {1, 2, -1, -1}},
    {"GroupNormalization", {1, 2, -1, -1}},
    {"Gather", {0, -1, -1, -1}},
    {"Add", {0, 1, -1, -1}},
    {"Sub", {0, 1, -1, -1}},
    {"Mul", {0, 1, -1, -1}},
    {"QuantizeLinear", {0, -1, -1, -1}},
    {"DequantizeLinear", {0, -1, -1, -1}},
    {"Transpose", {0, -1, -1, -1}},
    {"Reshape", {0, -1, -1, -1}},
    {"Identity", {0, -1, -1, -1}},
};

bool reads_weights(const onnx::Node& node, size_t input) {
  const auto* place = std::ranges::find(kPlaces, node.op_type, &WeightPlace::op);
  return place != std::end(kPlaces) &&
         std::ranges::find(place->inputs, static_cast<int8_t>(std::min<size_t>(input, 127))) !=
             place->inputs.end();
}

// Biases are whole numbers in a quantised model, and so are shapes.
bool reads_bias(const onnx::Node& node, size_t input) {
  return (node.op_type == "QLinearConv" && input == 8) || node.op_type == "DequantizeLinear";
}

bool is_8_bit(const Constant& constant) {
  return constant.element == ElementType::kInt8 || constant.element == ElementType::kUint8;
}

bool is_float(const Constant& constant) {
  return constant.element == ElementType::kFloat || constant.element == ElementType::kFloat16 ||
         constant.element == ElementType::kBfloat16 || constant.element == ElementType::kDouble;
}

// All constants of the model that have elements here, by name.
std::multimap<std::string_view, const Constant*> constants_of(const onnx::Model& model) {
  std::multimap<std::string_view, const Constant*> constants;
  const auto add = [&](std::string_view name, const Constant& constant) {
    if (!constant.data.empty()) constants.emplace(name, &constant);
  };
  for (const onnx::GraphTable& graph : model.graphs) {
    for (const Constant& constant : graph.initializers) add(constant.name, constant);
    for (const onnx::Node& node : graph.nodes)
      if (const onnx::Attribute* value = node.find("value");
          node.op_type == "Constant" && value != nullptr && !node.outputs.empty())
        for (const Constant& constant : value->tensors) add(node.outputs[0], constant);
  }
  return constants;
}

// Weights by where their elements begin: what is read at another place as well is none.
std::map<const std::byte*, const Constant*> weights_of(
    const onnx::Model& model, const std::multimap<std::string_view, const Constant*>& constants) {
  std::map<const std::byte*, const Constant*> weights;
  std::set<const std::byte*> needed;
  for (const onnx::GraphTable& graph : model.graphs)
    for (const onnx::Node& node : graph.nodes)
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const auto [first, last] = constants.equal_range(node.inputs[i]);
        for (auto it = first; it != last; ++it) {
          const Constant& constant = *it->second;
          const bool fits = is_float(constant) || is_8_bit(constant) ||
                            (constant.element == ElementType::kInt32 && reads_bias(node, i));
          if (fits && reads_weights(node, i))
            weights.emplace(constant.data.data(), &constant);
          else
            needed.insert(constant.data.data());
        }
      }
  std::erase_if(weights, [&](const auto& weight) {
    const Constant& constant = *weight.second;
    return needed.contains(weight.first) ||
           onnx::tensor_bytes(ElementType::kUint8, constant.dims).value_or(0) <= kMostKept;
  });
  return weights;
}

// The elements of one 8-bit constant that statistics look at, as numbers in the file's order.
struct Sample {
  std::vector<size_t> elements;
  uint8_t zero_point = 0;
  bool ambiguous = false;  // read in two orders, whose samples differ
};

class Stripper {
 public:
  Stripper(std::span<const std::byte> file, uint64_t seed, const GraphReader& read)
      : file_(file), seed_(seed), read_(read) {}

  Result<StrippedOnnx> run(const std::string& name) {
    EDGESAGE_ASSIGN_OR_RETURN(const onnx::Model model, onnx::read_onnx(file_, nullptr, name));
    const auto constants = constants_of(model);
    const auto weights = weights_of(model, constants);
    for (const auto& [data, weight] : weights) {
      if (!lies_in_file(*weight))
        return make_error(ErrorCode::kUnsupported, name,
                          fmt::format("'{}' is not stored as raw data; save it with raw_data, or "
                                      "strip it to .tflite",
                                      weight->name));
      if (is_8_bit(*weight) && !weight->name.empty()) samples_[weight->name];
    }
    EDGESAGE_RETURN_IF_ERROR(find_samples(weights));
    StrippedOnnx out{.bytes = {file_.begin(), file_.end()}, .constants = 0, .kept = 0};
    Rng rng(seed_, "weights of an ONNX file");
    for (const auto& [data, weight] : weights) out.constants += strip(*weight, rng, out.bytes);
    std::set<const std::byte*> distinct;
    for (const auto& [key, constant] : constants) distinct.insert(constant->data.data());
    out.kept = std::ssize(distinct) - out.constants;
    return out;
  }

 private:
  [[nodiscard]] size_t offset_of(const Constant& constant) const {
    return static_cast<size_t>(constant.data.data() - file_.data());
  }
  [[nodiscard]] bool lies_in_file(const Constant& constant) const {
    return !std::less<>()(constant.data.data(), file_.data()) &&
           offset_of(constant) + constant.data.size() <= file_.size();
  }

  // Reads copies of the file in which every element of such a weight holds a byte of its number:
  // however the reader orders them, the numbers tell where each came from.
  Status find_samples(const std::map<const std::byte*, const Constant*>& weights) {
    if (samples_.empty()) return {};
    std::vector<Graph> marked;
    for (size_t digit = 0; digit < kMarkerBytes; ++digit) {
      std::vector<std::byte> copy(file_.begin(), file_.end());
      for (const auto& [data, weight] : weights)
        for (size_t i = 0; is_8_bit(*weight) && i < weight->data.size(); ++i)
          copy[offset_of(*weight) + i] = static_cast<std::byte>(i >> (8 * digit));
      EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_(copy));
      marked.push_back(std::move(graph));
    }
    for (size_t s = 0; s < marked[0].subgraphs.size(); ++s)
      for (size_t t = 0; t < marked[0].subgraphs[s].tensors.size(); ++t) add_tensor(marked, s, t);
    return {};
  }

  void add_tensor(const std::vector<Graph>& marked, size_t s, size_t t) {
    const Tensor& tensor = marked[0].subgraphs[s].tensors[t];
    const auto found = samples_.find(tensor.name);
    if (found == samples_.end() || !tensor.is_constant()) return;
    const size_t size = marked[0].constant(tensor).size();
    std::vector<size_t> elements(std::min(size, kWeightSample));
    for (size_t digit = 0; digit < kMarkerBytes; ++digit) {
      const auto bytes = marked[digit].constant(marked[digit].subgraphs[s].tensors[t]);
      for (size_t i = 0; i < elements.size() && bytes.size() == size; ++i)
        elements[i] |= std::to_integer<size_t>(bytes[weight_sample_index(i, size)]) << (8 * digit);
    }
    std::ranges::sort(elements);
    Sample& sample = found->second;
    if (!tensor.quantization.zero_point.empty())
      sample.zero_point = static_cast<uint8_t>(tensor.quantization.zero_point.front());
    if (!sample.elements.empty() && sample.elements != elements) sample.ambiguous = true;
    sample.elements = std::move(elements);
  }

  // Whether the values are gone.
  bool strip(const Constant& weight, Rng& rng, std::vector<std::byte>& bytes) {
    const std::span<std::byte> to(bytes.data() + offset_of(weight), weight.data.size());
    if (!is_8_bit(weight)) {
      std::ranges::fill(to, std::byte{0});
      return true;
    }
    Sample sample;
    if (const auto found = samples_.find(weight.name); found != samples_.end())
      sample = found->second;
    if (sample.ambiguous || (!sample.elements.empty() && sample.elements.back() >= to.size()))
      return false;
    std::vector<std::byte> values;
    for (const size_t element : sample.elements) values.push_back(to[element]);
    rng.shuffle(values);
    std::ranges::fill(to, std::byte{sample.zero_point});
    for (size_t i = 0; i < values.size(); ++i) to[sample.elements[i]] = values[i];
    return true;
  }

  std::span<const std::byte> file_;
  uint64_t seed_;
  const GraphReader& read_;
  std::map<std::string_view, Sample> samples_;  // by the name of the constant
};

}  // namespace

Result<StrippedOnnx> strip_onnx(std::span<const std::byte> file, const std::string& name,
                                uint64_t seed, const GraphReader& read) {
  return Stripper(file, seed, read).run(name);
}

}  // namespace edgesage::app
