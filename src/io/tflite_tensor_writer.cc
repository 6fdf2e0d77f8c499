#include "src/io/tflite_tensor_writer.h"

#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;
using Builder = fb::FlatBufferBuilder;

template <class T>
using VectorOffset = fb::Offset<fb::Vector<T>>;

// Empty vectors are left out, as the format's own writers do.
template <class T>
VectorOffset<T> write_unless_empty(const std::vector<T>& values, Builder& builder) {
  return values.empty() ? VectorOffset<T>() : builder.CreateVector(values);
}

template <class To>
Result<VectorOffset<To>> write_narrow(const std::vector<int64_t>& values, std::string_view field,
                                      Builder& builder) {
  std::vector<To> narrow(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::in_range<To>(values[i]))
      return make_error(
          ErrorCode::kInvalidArgument, std::string(field),
          fmt::format("{} does not fit the format's {} bits", values[i], 8 * sizeof(To)));
    narrow[i] = static_cast<To>(values[i]);
  }
  return builder.CreateVector(narrow);
}

bool is_tensor(int32_t index, const TensorPlace& place) {
  return index >= 0 && static_cast<size_t>(index) < place.tensor_count;
}

struct Details {
  tflite::QuantizationDetails type = tflite::QuantizationDetails::NONE;
  fb::Offset<void> table;
};

Result<Details> write_details(const Quantization& from, const TensorPlace& place,
                              Builder& builder) {
  if (!from.custom.empty()) {
    const auto bytes = builder.CreateVector(reinterpret_cast<const uint8_t*>(from.custom.data()),
                                            from.custom.size());
    return Details{tflite::QuantizationDetails::CustomQuantization,
                   tflite::CreateCustomQuantization(builder, bytes).Union()};
  }
  if (from.block_scales == kNoTensor) return Details{};
  const bool has_zero_points = from.block_zero_points != kNoTensor;
  if (!is_tensor(from.block_scales, place) ||
      (has_zero_points && !is_tensor(from.block_zero_points, place)))
    return make_error(
        ErrorCode::kInvalidArgument, "block scales or zero points",
        fmt::format("are no tensors of the subgraph, which has {}", place.tensor_count));
  const int32_t zero_points = has_zero_points ? from.block_zero_points : 0;
  if (!from.block_axes.empty()) {
    const auto axes = builder.CreateVector(from.block_axes);
    return Details{tflite::QuantizationDetails::MultiAxisQuantization,
                   tflite::CreateMultiAxisQuantization(builder, from.block_scales, zero_points,
                                                       from.block_size, axes)
                       .Union()};
  }
  const auto shape = write_unless_empty(from.block_shape, builder);
  return Details{tflite::QuantizationDetails::BlockwiseQuantization,
                 tflite::CreateBlockwiseQuantization(builder, from.block_scales, zero_points,
                                                     from.block_size, shape)
                     .Union()};
}

Result<fb::Offset<tflite::QuantizationParameters>> write_quantization(const Quantization& from,
                                                                      const TensorPlace& place,
                                                                      Builder& builder) {
  fb::Offset<tflite::QuantizationParameters> none;
  if (from.empty() && from.block_scales == kNoTensor && from.axis == 0) return none;
  EDGESAGE_ASSIGN_OR_RETURN(const Details details, write_details(from, place, builder));
  const auto min = write_unless_empty(from.min, builder);
  const auto max = write_unless_empty(from.max, builder);
  const auto scale = write_unless_empty(from.scale, builder);
  const auto zero_point = write_unless_empty(from.zero_point, builder);
  return tflite::CreateQuantizationParameters(builder, min, max, scale, zero_point, details.type,
                                              details.table, from.axis);
}

struct Indexes {
  tflite::SparseIndexVector type = tflite::SparseIndexVector::NONE;
  fb::Offset<void> table;
};

Result<Indexes> write_indexes(const std::vector<int64_t>& values, uint8_t width, Builder& builder) {
  switch (width) {
    case 0:
      return Indexes{};
    case 1: {
      EDGESAGE_ASSIGN_OR_RETURN(const auto vector,
                                write_narrow<uint8_t>(values, "sparsity", builder));
      return Indexes{tflite::SparseIndexVector::Uint8Vector,
                     tflite::CreateUint8Vector(builder, vector).Union()};
    }
    case 2: {
      EDGESAGE_ASSIGN_OR_RETURN(const auto vector,
                                write_narrow<uint16_t>(values, "sparsity", builder));
      return Indexes{tflite::SparseIndexVector::Uint16Vector,
                     tflite::CreateUint16Vector(builder, vector).Union()};
    }
    case 4: {
      EDGESAGE_ASSIGN_OR_RETURN(const auto vector,
                                write_narrow<int32_t>(values, "sparsity", builder));
      return Indexes{tflite::SparseIndexVector::Int32Vector,
                     tflite::CreateInt32Vector(builder, vector).Union()};
    }
    default:
      return make_error(ErrorCode::kInvalidArgument, "sparsity",
                        fmt::format("indexes of {} bytes; 1, 2 and 4 are allowed", width));
  }
}

Result<fb::Offset<tflite::SparsityParameters>> write_sparsity(const Sparsity& from,
                                                              Builder& builder) {
  std::vector<fb::Offset<tflite::DimensionMetadata>> dimensions;
  for (const SparseDimension& dimension : from.dimensions) {
    EDGESAGE_ASSIGN_OR_RETURN(const Indexes segments,
                              write_indexes(dimension.segments, dimension.segments_width, builder));
    EDGESAGE_ASSIGN_OR_RETURN(const Indexes indices,
                              write_indexes(dimension.indices, dimension.indices_width, builder));
    dimensions.push_back(tflite::CreateDimensionMetadata(
        builder,
        dimension.is_csr ? tflite::DimensionType::SPARSE_CSR : tflite::DimensionType::DENSE,
        dimension.dense_size, segments.type, segments.table, indices.type, indices.table));
  }
  const auto order = write_unless_empty(from.traversal_order, builder);
  const auto block_map = write_unless_empty(from.block_map, builder);
  const auto metadata = write_unless_empty(dimensions, builder);
  return tflite::CreateSparsityParameters(builder, order, block_map, metadata);
}

Result<tflite::TensorType> stored_type(const Tensor& tensor) {
  if (tensor.type == DataType::kUnknown)
    return make_error(ErrorCode::kUnsupported, "type", "is unknown, so it cannot be written");
  return static_cast<tflite::TensorType>(tensor.type);
}

// Without a rank there is no vector, not an empty one.
Result<VectorOffset<int32_t>> write_shape(const Tensor& tensor, Builder& builder) {
  if (!tensor.has_rank) return VectorOffset<int32_t>();
  return write_narrow<int32_t>(tensor.shape, "shape", builder);
}

Result<VectorOffset<fb::Offset<tflite::VariantSubType>>> write_variants(const Tensor& tensor,
                                                                        Builder& builder) {
  std::vector<fb::Offset<tflite::VariantSubType>> variants;
  for (const Tensor& variant : tensor.variant_tensors) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto shape, write_shape(variant, builder));
    EDGESAGE_ASSIGN_OR_RETURN(const tflite::TensorType type, stored_type(variant));
    variants.push_back(tflite::CreateVariantSubType(builder, shape, type, variant.has_rank));
  }
  return write_unless_empty(variants, builder);
}

}  // namespace

Result<fb::Offset<tflite::Tensor>> write_tensor(const Tensor& tensor, const TensorPlace& place,
                                                Builder& builder) {
  EDGESAGE_ASSIGN_OR_RETURN(const tflite::TensorType type, stored_type(tensor));
  EDGESAGE_ASSIGN_OR_RETURN(const auto shape, write_shape(tensor, builder));
  VectorOffset<int32_t> signature;
  if (!tensor.shape_signature.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(
        signature, write_narrow<int32_t>(tensor.shape_signature, "shape_signature", builder));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const auto quantization,
                            write_quantization(tensor.quantization, place, builder));
  fb::Offset<tflite::SparsityParameters> sparsity;
  if (tensor.sparsity) {
    EDGESAGE_ASSIGN_OR_RETURN(sparsity, write_sparsity(*tensor.sparsity, builder));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const auto variants, write_variants(tensor, builder));
  // Never null: some tools insist on a name.
  const auto name = builder.CreateSharedString(place.name.data(), place.name.size());
  return tflite::CreateTensor(builder, shape, type, place.buffer, name, quantization,
                              tensor.is_variable, sparsity, signature, tensor.has_rank, variants);
}

}  // namespace edgesage
