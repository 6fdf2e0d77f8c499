#include "src/io/tflite_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/base/rng.h"
#include "src/graph/op_registry.h"
#include "src/io/options_codec.h"
#include "src/io/tflite_tensor_writer.h"
#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;

constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();

class Writer {
 public:
  Writer(const Graph& graph, const TfliteWriteOptions& options)
      : graph_(graph), options_(options) {}

  Result<std::vector<std::byte>> write() {
    EDGESAGE_RETURN_IF_ERROR(collect_buffers());
    const uint64_t estimate = estimate_bytes();
    if (estimate > kMostBytes) return too_large(estimate);
    builder_ = fb::FlatBufferBuilder(estimate);
    write_buffers();
    std::vector<fb::Offset<tflite::SubGraph>> subgraphs;
    for (subgraph_ = 0; subgraph_ < graph_.subgraphs.size(); ++subgraph_) {
      EDGESAGE_ASSIGN_OR_RETURN(const auto written, write_subgraph(graph_.subgraphs[subgraph_]));
      subgraphs.push_back(written);
    }
    EDGESAGE_ASSIGN_OR_RETURN(const auto signatures, write_signatures());
    const auto metadata = write_metadata();
    const auto codes = write_codes();
    const auto buffers = builder_.CreateVector(buffers_);
    const auto written_subgraphs = builder_.CreateVector(subgraphs);
    const auto description = builder_.CreateString(graph_.description);
    constexpr uint32_t kSchemaVersion = 3;
    tflite::FinishModelBuffer(
        builder_, tflite::CreateModel(builder_, kSchemaVersion, codes, written_subgraphs,
                                      description, buffers, 0, metadata, signatures));
    if (builder_.GetSize() > kMostBytes) return too_large(builder_.GetSize());
    const auto* data = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
    return std::vector<std::byte>(data, data + builder_.GetSize());
  }

 private:
  using CodeKey = std::tuple<OpKind, std::string_view, int32_t>;

  static tl::unexpected<Error> too_large(uint64_t bytes) {
    return make_error(ErrorCode::kUnsupported, "the model",
                      fmt::format("would take about {} bytes; a .tflite is limited to {} (2 GB)",
                                  bytes, kMostBytes));
  }
  [[nodiscard]] std::string place(std::string_view what, size_t index) const {
    return fmt::format("subgraph {}, {} {}", subgraph_, what, index);
  }
  static tl::unexpected<Error> within(std::string place, Error error) {
    error.where =
        error.where.empty() ? std::move(place) : fmt::format("{}, {}", place, error.where);
    return tl::unexpected<Error>(std::move(error));
  }

  Status use_buffer(int32_t index, const std::string& user) {
    if (index < 0 || static_cast<size_t>(index) >= graph_.buffers.size())
      return make_error(
          ErrorCode::kInvalidArgument, user,
          fmt::format("names buffer {}, but the graph has {}", index, graph_.buffers.size()));
    if (file_index_[static_cast<size_t>(index)] != 0) return {};
    used_.push_back(index);
    file_index_[static_cast<size_t>(index)] = 1;
    return {};
  }

  // Which buffers are referred to, and where each one goes.
  Status collect_buffers() {
    file_index_.assign(graph_.buffers.size(), 0);
    for (subgraph_ = 0; subgraph_ < graph_.subgraphs.size(); ++subgraph_) {
      const std::vector<Tensor>& tensors = graph_.subgraphs[subgraph_].tensors;
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].is_constant()) continue;
        EDGESAGE_RETURN_IF_ERROR(use_buffer(tensors[i].buffer, place("tensor", i)));
        EDGESAGE_RETURN_IF_ERROR(check_constant(tensors[i], i));
      }
    }
    for (const Metadata& entry : graph_.metadata)
      EDGESAGE_RETURN_IF_ERROR(use_buffer(entry.buffer, "metadata " + entry.name));
    std::sort(used_.begin(), used_.end());
    if (options_.shuffle_buffers) Rng(*options_.shuffle_buffers, "buffers").shuffle(used_);
    for (size_t i = 0; i < used_.size(); ++i)
      file_index_[static_cast<size_t>(used_[i])] = static_cast<uint32_t>(i + 1);
    return {};
  }

  Status check_constant(const Tensor& tensor, size_t index) const {
    const size_t bytes = graph_.constant(tensor).size();
    const std::optional<int64_t> needed = tensor.byte_size();
    if (bytes == 0 && tensor.element_count() != 0)
      return make_error(ErrorCode::kUnsupported, place("tensor", index),
                        "is a constant whose data are not in the graph; give it its bytes");
    if (needed && !tensor.sparsity && std::cmp_less(bytes, *needed))
      return make_error(
          ErrorCode::kInvalidArgument, place("tensor", index),
          fmt::format("has {} bytes of data, but shape and type need {}", bytes, *needed));
    return {};
  }

  // A little more than the file will take, so that the builder does not grow.
  [[nodiscard]] uint64_t estimate_bytes() const {
    constexpr uint64_t kPerTable = 160;
    uint64_t bytes = 4096 + graph_.description.size();
    for (const int32_t index : used_)
      bytes += graph_.buffers[static_cast<size_t>(index)].data.size() + kPerTable;
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const Tensor& tensor : subgraph.tensors)
        bytes += kPerTable + tensor.name.size() + 8 * tensor.shape.size() +
                 20 * tensor.quantization.scale.size();
      for (const Operator& op : subgraph.operators)
        bytes += kPerTable + 4 * (op.inputs.size() + op.outputs.size()) + op.custom_options.size();
    }
    return bytes;
  }

  void write_buffers() {
    constexpr size_t kAlignment = 16;
    buffers_.push_back(tflite::CreateBuffer(builder_));
    for (const int32_t index : used_) {
      const std::span<const std::byte> data = graph_.buffers[static_cast<size_t>(index)].data;
      fb::Offset<fb::Vector<uint8_t>> vector;
      if (!data.empty()) {
        builder_.ForceVectorAlignment(data.size(), 1, kAlignment);
        vector = builder_.CreateVector(reinterpret_cast<const uint8_t*>(data.data()), data.size());
      }
      buffers_.push_back(tflite::CreateBuffer(builder_, vector));
    }
  }

  Status check_indexes(const std::vector<int32_t>& indexes, bool may_be_left_out,
                       const Subgraph& subgraph, const std::string& where) const {
    for (const int32_t index : indexes) {
      if (index == kNoTensor && may_be_left_out) continue;
      if (index < 0 || static_cast<size_t>(index) >= subgraph.tensors.size())
        return make_error(ErrorCode::kInvalidArgument, where,
                          fmt::format("names tensor {}, but the subgraph has {}", index,
                                      subgraph.tensors.size()));
    }
    return {};
  }

  Result<fb::Offset<tflite::SubGraph>> write_subgraph(const Subgraph& from) {
    const std::string where = fmt::format("subgraph {}", subgraph_);
    EDGESAGE_RETURN_IF_ERROR(check_indexes(from.inputs, false, from, where + ", inputs"));
    EDGESAGE_RETURN_IF_ERROR(check_indexes(from.outputs, false, from, where + ", outputs"));
    std::vector<fb::Offset<tflite::Tensor>> tensors;
    tensors.reserve(from.tensors.size());
    for (size_t i = 0; i < from.tensors.size(); ++i) {
      const Tensor& tensor = from.tensors[i];
      const uint32_t buffer =
          tensor.is_constant() ? file_index_[static_cast<size_t>(tensor.buffer)] : 0;
      const TensorPlace tensor_place{options_.keep_names ? std::string_view(tensor.name) : "",
                                     buffer, from.tensors.size()};
      auto written = write_tensor(tensor, tensor_place, builder_);
      if (!written) return within(place("tensor", i), std::move(written).error());
      tensors.push_back(*written);
    }
    std::vector<fb::Offset<tflite::Operator>> operators;
    operators.reserve(from.operators.size());
    for (size_t i = 0; i < from.operators.size(); ++i) {
      const Operator& op = from.operators[i];
      const std::string op_place = fmt::format("{} ({})", place("operator", i), op_name(op.kind));
      auto written = write_operator(op, from, op_place);
      if (!written) return tl::unexpected<Error>(std::move(written).error());
      operators.push_back(*written);
    }
    const auto written_tensors = builder_.CreateVector(tensors);
    const auto inputs = builder_.CreateVector(from.inputs);
    const auto outputs = builder_.CreateVector(from.outputs);
    const auto written_operators = builder_.CreateVector(operators);
    const auto name = builder_.CreateString(options_.keep_names ? from.name : std::string());
    return tflite::CreateSubGraph(builder_, written_tensors, inputs, outputs, written_operators,
                                  name);
  }

  uint32_t code_index(const Operator& op) {
    const bool named = op.kind == OpKind::kCustom;
    const CodeKey key(op.kind, named ? std::string_view(op.custom_code) : "", op.version);
    const auto [at, added] = code_indexes_.try_emplace(key, static_cast<uint32_t>(codes_.size()));
    if (added) codes_.push_back(key);
    return at->second;
  }

  struct Options {
    OptionsTable table;
    fb::Offset<void> written;
  };
  Result<Options> write_builtin_options(const Operator& op, const std::string& where) {
    const OptionsTable table = options_table_of(op.kind);
    // What is known of a loop beside the file has no place in it.
    std::vector<Attribute> attributes;
    std::ranges::copy_if(op.attributes, std::back_inserter(attributes),
                         [](const Attribute& a) { return a.name != "trip_count"; });
    if (table.union_number == 0 && !attributes.empty())
      return make_error(ErrorCode::kInvalidArgument, where,
                        fmt::format("has the attribute '{}', but operators of this kind have none",
                                    attributes.front().name));
    if (table.union_number == 0 || (op.omits_options && attributes.empty())) return Options{};
    auto written = write_options(table, attributes, builder_);
    if (!written) return within(where, std::move(written).error());
    return Options{table, *written};
  }

  Result<fb::Offset<tflite::Operator>> write_operator(const Operator& op, const Subgraph& subgraph,
                                                      const std::string& where) {
    if (op.has_unknown_options || op.kind == OpKind::kUnknown)
      return make_error(ErrorCode::kUnsupported, where,
                        "is newer than this version, which would lose its options; it cannot be "
                        "written");
    for (const auto* operands : {&op.inputs, &op.outputs, &op.intermediates})
      EDGESAGE_RETURN_IF_ERROR(check_indexes(*operands, true, subgraph, where));
    EDGESAGE_ASSIGN_OR_RETURN(const Options options, write_builtin_options(op, where));
    const auto inputs = builder_.CreateVector(op.inputs);
    const auto outputs = builder_.CreateVector(op.outputs);
    fb::Offset<fb::Vector<uint8_t>> custom_options;
    if (!op.custom_options.empty())
      custom_options = builder_.CreateVector(
          reinterpret_cast<const uint8_t*>(op.custom_options.data()), op.custom_options.size());
    fb::Offset<fb::Vector<uint8_t>> mutating;
    if (!op.mutating_variable_inputs.empty())
      mutating = builder_.CreateVector(op.mutating_variable_inputs);
    fb::Offset<fb::Vector<int32_t>> intermediates;
    if (!op.intermediates.empty()) intermediates = builder_.CreateVector(op.intermediates);

    tflite::OperatorBuilder to(builder_);
    to.add_opcode_index(code_index(op));
    to.add_inputs(inputs);
    to.add_outputs(outputs);
    to.add_custom_options(custom_options);
    to.add_mutating_variable_inputs(mutating);
    to.add_intermediates(intermediates);
    if (options.table.union_number == 1) {
      to.add_builtin_options_type(static_cast<tflite::BuiltinOptions>(options.table.id));
      to.add_builtin_options(options.written);
    } else if (options.table.union_number == 2) {
      to.add_builtin_options_2_type(static_cast<tflite::BuiltinOptions2>(options.table.id));
      to.add_builtin_options_2(options.written);
    }
    return to.Finish();
  }

  fb::Offset<fb::Vector<fb::Offset<tflite::OperatorCode>>> write_codes() {
    std::vector<fb::Offset<tflite::OperatorCode>> written;
    for (const auto& [kind, custom_code, version] : codes_) {
      const auto code = static_cast<tflite::BuiltinOperator>(kind);
      const auto old_code =
          std::min(code, tflite::BuiltinOperator::PLACEHOLDER_FOR_GREATER_OP_CODES);
      fb::Offset<fb::String> name;
      if (kind == OpKind::kCustom)
        name = builder_.CreateString(custom_code.data(), custom_code.size());
      written.push_back(
          tflite::CreateOperatorCode(builder_, static_cast<int8_t>(old_code), name, version, code));
    }
    return builder_.CreateVector(written);
  }

  Result<fb::Offset<fb::Vector<fb::Offset<tflite::TensorMap>>>> write_ports(
      const std::vector<Signature::Port>& ports, const Signature& signature) {
    const Subgraph& subgraph = graph_.subgraphs[static_cast<size_t>(signature.subgraph)];
    std::vector<fb::Offset<tflite::TensorMap>> written;
    for (const Signature::Port& port : ports) {
      EDGESAGE_RETURN_IF_ERROR(
          check_indexes({port.tensor}, false, subgraph,
                        fmt::format("signature '{}', '{}'", signature.key, port.name)));
      const auto name = builder_.CreateString(port.name);
      written.push_back(
          tflite::CreateTensorMap(builder_, name, static_cast<uint32_t>(port.tensor)));
    }
    return builder_.CreateVector(written);
  }

  Result<fb::Offset<fb::Vector<fb::Offset<tflite::SignatureDef>>>> write_signatures() {
    fb::Offset<fb::Vector<fb::Offset<tflite::SignatureDef>>> none;
    if (graph_.signatures.empty()) return none;
    std::vector<fb::Offset<tflite::SignatureDef>> written;
    for (const Signature& signature : graph_.signatures) {
      if (signature.subgraph < 0 ||
          static_cast<size_t>(signature.subgraph) >= graph_.subgraphs.size())
        return make_error(ErrorCode::kInvalidArgument, fmt::format("signature '{}'", signature.key),
                          fmt::format("names subgraph {}, but the graph has {}", signature.subgraph,
                                      graph_.subgraphs.size()));
      EDGESAGE_ASSIGN_OR_RETURN(const auto inputs, write_ports(signature.inputs, signature));
      EDGESAGE_ASSIGN_OR_RETURN(const auto outputs, write_ports(signature.outputs, signature));
      const auto key = builder_.CreateString(signature.key);
      written.push_back(tflite::CreateSignatureDef(builder_, inputs, outputs, key, 0,
                                                   static_cast<uint32_t>(signature.subgraph)));
    }
    return builder_.CreateVector(written);
  }

  fb::Offset<fb::Vector<fb::Offset<tflite::Metadata>>> write_metadata() {
    if (graph_.metadata.empty()) return 0;
    std::vector<fb::Offset<tflite::Metadata>> written;
    for (const Metadata& entry : graph_.metadata) {
      const auto name = builder_.CreateString(entry.name);
      written.push_back(
          tflite::CreateMetadata(builder_, name, file_index_[static_cast<size_t>(entry.buffer)]));
    }
    return builder_.CreateVector(written);
  }

  const Graph& graph_;
  const TfliteWriteOptions& options_;
  fb::FlatBufferBuilder builder_;
  std::vector<int32_t> used_;         // buffers of the graph in the file's order, from 1
  std::vector<uint32_t> file_index_;  // by buffer of the graph; 0: not written
  std::vector<fb::Offset<tflite::Buffer>> buffers_;
  std::map<CodeKey, uint32_t> code_indexes_;
  std::vector<CodeKey> codes_;
  size_t subgraph_ = 0;  // being written, for messages
};

}  // namespace

Result<std::vector<std::byte>> write_tflite(const Graph& graph, const TfliteWriteOptions& options) {
  return Writer(graph, options).write();
}

}  // namespace edgesage
