#include "src/io/tflite_tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;

tl::unexpected<Error> bad(const TensorContext& context, std::string_view field,
                          std::string message) {
  return make_error(ErrorCode::kBadModel, fmt::format("{}, {}", context.where(), field),
                    std::move(message));
}

template <class To, class From>
Result<std::vector<To>> copy_vector(const fb::Vector<From>* from, const TensorContext& context,
                                    std::string_view field) {
  std::vector<To> to;
  if (from == nullptr) return to;
  if (!context.budget->take(from->size() * sizeof(To)))
    return bad(context, field, "shares its data with too many other tables; the file is damaged");
  if (!is_aligned(*from))
    return bad(context, field,
               fmt::format("is not aligned to {} bytes; the file is damaged", sizeof(From)));
  to.resize(from->size());
  for (fb::uoffset_t i = 0; i < from->size(); ++i) {
    if constexpr (std::is_same_v<To, std::byte>)
      to[i] = std::byte{from->Get(i)};
    else
      to[i] = static_cast<To>(from->Get(i));
  }
  return to;
}

DataType data_type(tflite::TensorType type) {
  const auto code = static_cast<int>(type);
  return code >= 0 && code <= static_cast<int>(tflite::TensorType::MAX)
             ? static_cast<DataType>(code)
             : DataType::kUnknown;
}

Status check_tensor_index(int32_t index, const TensorContext& context, std::string_view field) {
  if (index >= 0 && static_cast<size_t>(index) < context.tensor_count) return {};
  return bad(context, field,
             fmt::format("is tensor {}, but the subgraph has {}", index, context.tensor_count));
}

template <class Details>
Status read_blocks(const Details& details, const TensorContext& context, Quantization& to) {
  EDGESAGE_RETURN_IF_ERROR(check_tensor_index(details.scales(), context, "block scales"));
  to.block_scales = details.scales();
  to.block_size = details.block_size();
  // Tensor 0 cannot be told from "no zero points", which is the schema's default.
  if (details.zero_points() <= 0) return {};
  EDGESAGE_RETURN_IF_ERROR(check_tensor_index(details.zero_points(), context, "block zero points"));
  to.block_zero_points = details.zero_points();
  return {};
}

Status read_details(const tflite::QuantizationParameters& from, const TensorContext& context,
                    Quantization& to) {
  if (const auto* custom = from.details_as_CustomQuantization()) {
    EDGESAGE_ASSIGN_OR_RETURN(
        to.custom, copy_vector<std::byte>(custom->custom(), context, "custom quantization"));
  } else if (const auto* blocks = from.details_as_BlockwiseQuantization()) {
    EDGESAGE_RETURN_IF_ERROR(read_blocks(*blocks, context, to));
    EDGESAGE_ASSIGN_OR_RETURN(to.block_shape,
                              copy_vector<int32_t>(blocks->block_shape(), context, "block_shape"));
  } else if (const auto* axes = from.details_as_MultiAxisQuantization()) {
    EDGESAGE_RETURN_IF_ERROR(read_blocks(*axes, context, to));
    EDGESAGE_ASSIGN_OR_RETURN(to.block_axes, copy_vector<int32_t>(axes->quantized_dimensions(),
                                                                  context, "quantized_dimensions"));
  } else if (from.details_type() != tflite::QuantizationDetails::NONE) {
    context.warnings->add(fmt::format("{}: quantization of an unknown kind ({}) is left out",
                                      context.where(), static_cast<int>(from.details_type())));
  }
  return {};
}

// Runtimes refuse what does not pass here, and users of the graph index scales by channel.
Status check_channels(const Tensor& tensor, const TensorContext& context) {
  const Quantization& quantization = tensor.quantization;
  const size_t scales = quantization.scale.size();
  if (scales <= 1 || !tensor.has_rank) return {};
  if (quantization.axis < 0 || static_cast<size_t>(quantization.axis) >= tensor.shape.size())
    return bad(context, "quantized_dimension",
               fmt::format("is {}, but the shape has {} dimensions", quantization.axis,
                           tensor.shape.size()));
  const int64_t channels = tensor.shape[static_cast<size_t>(quantization.axis)];
  if (std::cmp_not_equal(scales, channels))
    return bad(context, "scale",
               fmt::format("has {} values for {} channels; 1 or {} are allowed", scales, channels,
                           channels));
  if (quantization.zero_point.size() > 1 && quantization.zero_point.size() != scales)
    return bad(context, "zero_point",
               fmt::format("has {} values for {} scales", quantization.zero_point.size(), scales));
  return {};
}

Status read_quantization(const tflite::QuantizationParameters& from, const TensorContext& context,
                         Tensor& tensor) {
  Quantization& to = tensor.quantization;
  EDGESAGE_ASSIGN_OR_RETURN(to.scale, copy_vector<float>(from.scale(), context, "scale"));
  EDGESAGE_ASSIGN_OR_RETURN(to.zero_point,
                            copy_vector<int64_t>(from.zero_point(), context, "zero_point"));
  EDGESAGE_ASSIGN_OR_RETURN(to.min, copy_vector<float>(from.min(), context, "min"));
  EDGESAGE_ASSIGN_OR_RETURN(to.max, copy_vector<float>(from.max(), context, "max"));
  to.axis = from.quantized_dimension();
  EDGESAGE_RETURN_IF_ERROR(read_details(from, context, to));
  return check_channels(tensor, context);
}

struct IndexVector {
  std::vector<int64_t> values;
  uint8_t width = 0;
};

Result<IndexVector> read_index_vector(tflite::SparseIndexVector type, const void* table,
                                      const TensorContext& context) {
  IndexVector result;
  if (table == nullptr) return result;
  const auto copy = [&](const auto* from, uint8_t width) -> Result<IndexVector> {
    EDGESAGE_ASSIGN_OR_RETURN(result.values,
                              copy_vector<int64_t>(from->values(), context, "sparsity"));
    result.width = width;
    return result;
  };
  switch (type) {
    case tflite::SparseIndexVector::Int32Vector:
      return copy(static_cast<const tflite::Int32Vector*>(table), 4);
    case tflite::SparseIndexVector::Uint16Vector:
      return copy(static_cast<const tflite::Uint16Vector*>(table), 2);
    case tflite::SparseIndexVector::Uint8Vector:
      return copy(static_cast<const tflite::Uint8Vector*>(table), 1);
    default:
      return bad(context, "sparsity",
                 fmt::format("indexes of an unknown kind ({})", static_cast<int>(type)));
  }
}

Result<Sparsity> read_sparsity(const tflite::SparsityParameters& from,
                               const TensorContext& context) {
  Sparsity to;
  EDGESAGE_ASSIGN_OR_RETURN(
      to.traversal_order, copy_vector<int32_t>(from.traversal_order(), context, "traversal_order"));
  EDGESAGE_ASSIGN_OR_RETURN(to.block_map,
                            copy_vector<int32_t>(from.block_map(), context, "block_map"));
  if (from.dim_metadata() == nullptr) return to;
  for (const tflite::DimensionMetadata* dimension : *from.dim_metadata()) {
    if (!context.budget->take(sizeof(SparseDimension)))
      return bad(context, "sparsity", "shares too many tables; the file is damaged");
    SparseDimension& added = to.dimensions.emplace_back();
    added.is_csr = dimension->format() == tflite::DimensionType::SPARSE_CSR;
    added.dense_size = dimension->dense_size();
    EDGESAGE_ASSIGN_OR_RETURN(
        IndexVector segments,
        read_index_vector(dimension->array_segments_type(), dimension->array_segments(), context));
    EDGESAGE_ASSIGN_OR_RETURN(
        IndexVector indices,
        read_index_vector(dimension->array_indices_type(), dimension->array_indices(), context));
    added.segments = std::move(segments.values);
    added.segments_width = segments.width;
    added.indices = std::move(indices.values);
    added.indices_width = indices.width;
  }
  return to;
}

// Tensor and VariantSubType describe type and shape alike.
template <class From>
Status read_type_and_shape(const From& from, const TensorContext& context, Tensor& to) {
  to.type = data_type(from.type());
  if (to.type == DataType::kUnknown)
    context.warnings->add(fmt::format("{}: element type {} is unknown to this version",
                                      context.where(), static_cast<int>(from.type())));
  to.has_rank = from.shape() != nullptr || from.has_rank();
  EDGESAGE_ASSIGN_OR_RETURN(to.shape, copy_vector<int64_t>(from.shape(), context, "shape"));
  return {};
}

Status read_variants(const tflite::Tensor& from, const TensorContext& context, Tensor& to) {
  if (from.variant_tensors() == nullptr) return {};
  for (const tflite::VariantSubType* variant : *from.variant_tensors()) {
    if (!context.budget->take(sizeof(Tensor)))
      return bad(context, "variant_tensors", "share too many tables; the file is damaged");
    EDGESAGE_RETURN_IF_ERROR(
        read_type_and_shape(*variant, context, to.variant_tensors.emplace_back()));
  }
  return {};
}

Status read_buffer(const tflite::Tensor& from, const TensorContext& context, Tensor& to) {
  const uint32_t index = from.buffer();
  if (index == 0) return {};
  if (index >= context.buffers.size())
    return bad(context, "buffer",
               fmt::format("is {}, but the model has {} buffers", index, context.buffers.size()));
  const size_t bytes = context.buffers[index].data.size();
  if (bytes == 0) return {};
  to.buffer = static_cast<int32_t>(index);
  const std::optional<int64_t> needed = to.byte_size();
  if (!needed || to.sparsity || std::cmp_equal(bytes, *needed)) return {};
  if (std::cmp_less(bytes, *needed))
    return bad(
        context, "buffer",
        fmt::format("buffer {} has {} bytes, but shape and type need {}", index, bytes, *needed));
  context.warnings->add(fmt::format("{}: buffer {} has {} bytes, shape and type need {}",
                                    context.where(), index, bytes, *needed));
  return {};
}

}  // namespace

std::string TensorContext::where() const {
  return fmt::format("{}, subgraph {}, tensor {}", file, subgraph, tensor);
}

Result<Tensor> read_tensor(const tflite::Tensor& from, const TensorContext& context) {
  Tensor to;
  if (from.name() != nullptr) {
    if (!context.budget->take(from.name()->size()))
      return bad(context, "name", "is shared by too many tables; the file is damaged");
    to.name = from.name()->str();
  }
  EDGESAGE_RETURN_IF_ERROR(read_type_and_shape(from, context, to));
  EDGESAGE_ASSIGN_OR_RETURN(
      to.shape_signature, copy_vector<int64_t>(from.shape_signature(), context, "shape_signature"));
  if (!to.shape_signature.empty() && to.shape_signature.size() != to.shape.size()) {
    context.warnings->add(fmt::format(
        "{}: shape_signature of another rank than the shape is left out", context.where()));
    to.shape_signature.clear();
  }
  to.is_variable = from.is_variable();
  if (from.quantization() != nullptr)
    EDGESAGE_RETURN_IF_ERROR(read_quantization(*from.quantization(), context, to));
  if (from.sparsity() != nullptr) {
    EDGESAGE_ASSIGN_OR_RETURN(to.sparsity, read_sparsity(*from.sparsity(), context));
  }
  EDGESAGE_RETURN_IF_ERROR(read_variants(from, context, to));
  EDGESAGE_RETURN_IF_ERROR(read_buffer(from, context, to));
  return to;
}

}  // namespace edgesage
