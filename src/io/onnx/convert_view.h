// How the elements of a Graph's tensor make up an ONNX value: the algebra by which Transpose,
// Reshape, Flatten, Squeeze and Unsqueeze cost nothing until somebody wants another order.
//
// The elements of a tensor are numbered by factors of their index ("atoms"), outermost first, none
// of them 1. A dimension of the ONNX value is a product of atoms. An image [1,3,8,8] that lies as
// NHWC has the atoms 8 (rows), 8 (columns), 3 (channels), and the dimensions {}, {2}, {0}, {1}.
// Transposing permutes the dimensions, reshaping groups and splits atoms; what has to be done to
// the data follows when the value is needed in some order (`plan_move`), and is often nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/graph/shape_inference.h"

namespace edgesage::onnx::convert {

inline constexpr int32_t kNoDim = -1;  // in an order: a stored side of 1 that no ONNX dimension is

// Of each stored dimension the ONNX dimension that it holds.
using DimOrder = std::vector<int32_t>;

// 0, 1, 2, ...: as ONNX has it.
[[nodiscard]] DimOrder plain_order(size_t rank);
// Channels last, batch first: {0, 2, 3, 1} at rank 4. Rank 3 becomes an image of one row:
// {0, -1, 2, 1}.
[[nodiscard]] DimOrder image_order(size_t rank);

class View {
 public:
  View() = default;
  // A value of the ONNX shape `shape` that is stored in `order`.
  View(const Shape& shape, const DimOrder& order);
  static View plain(const Shape& shape);

  [[nodiscard]] size_t rank() const { return ends_.size(); }
  // Sizes of the ONNX value.
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] Shape stored_shape(const DimOrder& order) const;

  // Dimension i of the result is dimension order[i] of this.
  [[nodiscard]] View transposed(std::span<const int64_t> order) const;
  // nullopt where the new dimensions cannot be had without bringing the elements in order first.
  [[nodiscard]] std::optional<View> reshaped(const Shape& shape) const;
  // The elements lie in the order in which ONNX has them.
  [[nodiscard]] bool is_plain() const;
  // The order in which a tensor of shape `stored` holds this view: every ONNX dimension is one
  // stored dimension; further ones are 1. nullopt where dimensions are mixed or missing.
  [[nodiscard]] std::optional<DimOrder> order_in(const Shape& stored) const;

  // What brings a tensor of shape `stored` into `order`, each step a no-op if empty: give it the
  // shape `split`, transpose by `permutation`, give it the shape `target`.
  struct Move {
    Shape split;
    std::vector<int64_t> permutation;
    Shape target;
  };
  [[nodiscard]] Move plan_move(const Shape& stored, const DimOrder& order) const;
  // The same for ONNX dimensions merged into groups, one stored dimension each.
  [[nodiscard]] Move plan_move(const Shape& stored, std::span<const DimOrder> groups) const;

  // Whether the atoms of the first `count` dimensions come first and in order, so that the rest can
  // be taken for one dimension whose elements lie in another order.
  [[nodiscard]] bool leads_with(size_t count) const;
  // Moves the last dimension's atoms into the order in which they are stored: the value whose
  // elements were renumbered like this needs no moving.
  [[nodiscard]] View with_tail_as_stored() const;

  [[nodiscard]] std::span<const int64_t> atoms() const { return atoms_; }
  // All dimensions' atoms one after another, as ONNX numbers the elements.
  [[nodiscard]] std::span<const int32_t> sequence() const { return sequence_; }

  // Of one ONNX dimension, outermost first.
  [[nodiscard]] std::span<const int32_t> atoms_of(size_t i) const {
    const int32_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(sequence_).subspan(static_cast<size_t>(begin),
                                        static_cast<size_t>(ends_[i] - begin));
  }

 private:
  std::vector<int64_t> atoms_;     // in stored order
  std::vector<int32_t> sequence_;  // atoms in ONNX order
  std::vector<int32_t> ends_;      // of each ONNX dimension, where it ends in `sequence_`
};

}  // namespace edgesage::onnx::convert
