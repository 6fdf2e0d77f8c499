// Who makes and who reads each value of one ONNX graph, and what can be known of a value from its
// readers: whether it is needed, whether it will be read as an image, whether it will be quantised.
// Built in two passes over the nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/io/onnx/model.h"
#include "src/io/onnx/shapes.h"

namespace edgesage::onnx::convert {

// For each graph of a model the names that it, or a graph inside it, reads from graphs around it;
// in the order of their first use. Time is linear in the file and in the answer.
[[nodiscard]] std::vector<std::vector<std::string_view>> captured_names(const Model& model);

class GraphUses {
 public:
  // `captured`: of `captured_names`.
  GraphUses(const Model& model, const Inferred& inferred, int32_t graph,
            std::span<const std::vector<std::string_view>> captured);

  // Values are numbered; -1 for a name that the graph neither makes nor reads.
  [[nodiscard]] int32_t id(std::string_view name) const;
  [[nodiscard]] size_t size() const { return names_.size(); }
  [[nodiscard]] std::string_view name(int32_t value) const { return names_[at(value)]; }
  // What inference says; null for values that it does not know.
  [[nodiscard]] const InferredValue* inferred(int32_t value) const { return known_[at(value)]; }
  // The node's own inputs, then the names that its bodies capture; -1 where one is left out.
  [[nodiscard]] std::span<const int32_t> inputs(size_t node) const {
    return range(inputs_, input_ends_, node);
  }
  [[nodiscard]] std::span<const int32_t> outputs(size_t node) const {
    return range(outputs_, output_ends_, node);
  }
  [[nodiscard]] bool is_constant(int32_t value) const;
  [[nodiscard]] bool is_output(int32_t value) const { return is_output_[at(value)] != 0; }
  // Some output depends on the node, other than through a value that is constant; or nothing reads
  // it at all, so that it runs for nothing.
  [[nodiscard]] bool is_needed(size_t node) const { return needed_[node] != 0; }
  // How many inputs of needed nodes read the value; being an output of the graph counts as one.
  [[nodiscard]] int32_t reads(int32_t value) const { return reads_[at(value)]; }
  // A reader takes the value for an image (a convolution or pooling does, or what passes an image
  // on to one).
  [[nodiscard]] bool wants_image(int32_t value) const { return wants_image_[at(value)] != 0; }
  // The QuantizeLinear node that reads the value, perhaps behind nodes that keep its values or are
  // fused into what makes it; -1 if there is none.
  [[nodiscard]] int32_t quantizer(int32_t value) const { return quantizer_[at(value)]; }
  // The one needed node that reads the value, -1 if there are none or several.
  [[nodiscard]] int32_t only_reader(int32_t value) const {
    return reads(value) == 1 ? reader_[at(value)] : -1;
  }
  [[nodiscard]] int32_t producer(int32_t value) const { return producer_[at(value)]; }

 private:
  [[nodiscard]] static size_t at(int32_t value) { return static_cast<size_t>(value); }
  [[nodiscard]] static std::span<const int32_t> range(const std::vector<int32_t>& list,
                                                      const std::vector<int32_t>& ends, size_t i) {
    const int32_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(list).subspan(static_cast<size_t>(begin),
                                   static_cast<size_t>(ends[i] - begin));
  }
  int32_t number(std::string_view name);
  [[nodiscard]] int64_t rank(int32_t value) const;
  void read_backwards(const GraphTable& graph, size_t node);
  void pass_back(const Node& node, size_t index);

  std::unordered_map<std::string_view, int32_t> ids_;
  std::vector<std::string_view> names_;
  std::vector<const InferredValue*> known_;
  std::vector<int32_t> inputs_, input_ends_, outputs_, output_ends_;
  std::vector<uint8_t> is_output_, needed_, mentioned_, wants_image_;
  std::vector<int32_t> reads_, reader_, quantizer_, producer_;
};

}  // namespace edgesage::onnx::convert
