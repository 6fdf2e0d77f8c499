#include "src/io/tflite_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/graph/select_entry.h"
#include "src/io/file_kind.h"
#include "src/io/flatbuffer_damage.h"
#include "src/io/options_codec.h"
#include "src/io/tflite_tensor_reader.h"
#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;

struct OperatorCode {
  OpKind kind = OpKind::kUnknown;
  std::string custom_code;
  int32_t version = 1;
};

std::string_view view(const fb::String* text) {
  return text != nullptr ? std::string_view(text->c_str(), text->size()) : std::string_view();
}

template <class T>
size_t size_of(const fb::Vector<T>* vector) {
  return vector != nullptr ? vector->size() : 0;
}

class Reader {
 public:
  Reader(std::shared_ptr<const MappedFile> file, std::string_view name)
      : file_(std::move(file)), name_(name), budget_(file_->bytes().size()) {}

  Result<Graph> read() {
    EDGESAGE_RETURN_IF_ERROR(verify());
    graph_.format = "tflite";
    graph_.description = view(model_->description());
    if (model_->version() != 3)
      warnings_.add(
          fmt::format("schema version {}; this reader knows version 3", model_->version()));
    EDGESAGE_RETURN_IF_ERROR(read_buffers());
    EDGESAGE_RETURN_IF_ERROR(read_codes());
    EDGESAGE_RETURN_IF_ERROR(read_subgraphs());
    EDGESAGE_RETURN_IF_ERROR(read_signatures());
    EDGESAGE_RETURN_IF_ERROR(read_metadata());
    return std::move(graph_);
  }

 private:
  tl::unexpected<Error> bad(std::string_view place, std::string message) const {
    return make_error(ErrorCode::kBadModel,
                      place.empty() ? std::string(name_) : fmt::format("{}, {}", name_, place),
                      std::move(message));
  }
  tl::unexpected<Error> shares_too_much(std::string_view place) const {
    return bad(place, "shares its data with too many other tables; the file is damaged");
  }

  Status verify() {
    const std::span<const std::byte> bytes = file_->bytes();
    // Offsets of a FlatBuffer reach 2 GB; what lies behind is found by Buffer.offset.
    const size_t reach = std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    fb::Verifier::Options options;
    options.max_tables =
        static_cast<fb::uoffset_t>(std::max<size_t>(options.max_tables, reach / 8));
    fb::Verifier verifier(data, reach, options);
    if (!tflite::VerifyModelBuffer(verifier))
      return bad("", describe_damage(bytes.first(reach), *tflite::ModelTypeTable()));
    model_ = tflite::GetModel(data);
    return {};
  }

  // A range of the file outside of the FlatBuffer.
  Result<std::span<const std::byte>> outside(uint64_t offset, uint64_t size,
                                             std::string_view place) const {
    const std::span<const std::byte> bytes = file_->bytes();
    if (offset > bytes.size() || size > bytes.size() - offset)
      return bad(place, fmt::format("takes {} bytes from byte {}, but the file ends at byte {}; it "
                                    "is truncated or damaged; get it again",
                                    size, offset, bytes.size()));
    return bytes.subspan(offset, size);
  }

  Status read_buffers() {
    const auto* buffers = model_->buffers();
    graph_.buffers.resize(size_of(buffers));
    for (size_t i = 0; i < graph_.buffers.size(); ++i) {
      const tflite::Buffer& from = *buffers->Get(static_cast<fb::uoffset_t>(i));
      Buffer& to = graph_.buffers[i];
      if (size_of(from.data()) > 0) {
        to.data = std::as_bytes(std::span(from.data()->data(), from.data()->size()));
      } else if (from.offset() > 1) {  // writers put 1 as a placeholder
        EDGESAGE_ASSIGN_OR_RETURN(to.data,
                                  outside(from.offset(), from.size(), fmt::format("buffer {}", i)));
      }
      if (!to.data.empty()) to.storage = file_;
    }
    if (!graph_.buffers.empty() && !graph_.buffers.front().data.empty())
      warnings_.add("buffer 0 has data; the format keeps it empty, and tensors cannot use it");
    return {};
  }

  Status read_codes() {
    if (model_->operator_codes() == nullptr) return {};
    for (const tflite::OperatorCode* from : *model_->operator_codes()) {
      const int32_t code = std::max<int32_t>(from->deprecated_builtin_code(),
                                             static_cast<int32_t>(from->builtin_code()));
      const std::string_view custom_code = view(from->custom_code());
      if (!budget_.take(sizeof(OperatorCode) + custom_code.size()))
        return shares_too_much("operator_codes");
      if (code < 0)
        return bad(fmt::format("operator code {}", codes_.size()),
                   fmt::format("is {}; operators count from 0", code));
      OperatorCode& to = codes_.emplace_back();
      to.kind = op_kind_from_code(code);
      to.version = from->version();
      // A name beside a builtin operator says nothing: runtimes pass over it, so does this.
      if (to.kind == OpKind::kCustom) to.custom_code = custom_code;
      if (to.kind == OpKind::kUnknown) {
        to.custom_code = fmt::format("BUILTIN_{}", code);
        warnings_.add(fmt::format("operator code {} is unknown to this version", code));
      }
      if (to.kind == OpKind::kCustom && to.custom_code.empty())
        warnings_.add(
            fmt::format("operator code {}: a custom operator without a name", codes_.size() - 1));
    }
    return {};
  }

  Status read_subgraphs() {
    const size_t count = size_of(model_->subgraphs());
    if (count == 0) warnings_.add("the model has no subgraphs; it computes nothing");
    for (size_t i = 0; i < count; ++i) {
      if (!budget_.take(sizeof(Subgraph))) return shares_too_much("subgraphs");
      const tflite::SubGraph& from = *model_->subgraphs()->Get(static_cast<fb::uoffset_t>(i));
      subgraph_ = i;
      Subgraph& to = graph_.subgraphs.emplace_back();
      if (!budget_.take(view(from.name()).size())) return shares_too_much("subgraph names");
      to.name = view(from.name());
      EDGESAGE_RETURN_IF_ERROR(read_tensors(from, to));
      const std::string place = fmt::format("subgraph {}", i);
      EDGESAGE_RETURN_IF_ERROR(read_indexes(from.inputs(), false, place, "input", to.inputs));
      EDGESAGE_RETURN_IF_ERROR(read_indexes(from.outputs(), false, place, "output", to.outputs));
      EDGESAGE_RETURN_IF_ERROR(read_operators(from, to));
      mark_constants(from, to);
    }
    return {};
  }

  Status read_tensors(const tflite::SubGraph& from, Subgraph& to) {
    TensorContext context;
    context.file = name_;
    context.subgraph = subgraph_;
    context.buffers = graph_.buffers;
    context.tensor_count = size_of(from.tensors());
    context.budget = &budget_;
    context.warnings = &warnings_;
    if (!budget_.take(context.tensor_count * sizeof(Tensor))) return shares_too_much("tensors");
    to.tensors.reserve(context.tensor_count);
    for (; context.tensor < context.tensor_count; ++context.tensor) {
      EDGESAGE_ASSIGN_OR_RETURN(
          Tensor tensor,
          read_tensor(*from.tensors()->Get(static_cast<fb::uoffset_t>(context.tensor)), context));
      to.tensors.push_back(std::move(tensor));
    }
    return {};
  }

  Status read_indexes(const fb::Vector<int32_t>* from, bool may_be_left_out, std::string_view place,
                      std::string_view field, std::vector<int32_t>& to) {
    if (from == nullptr) return {};
    if (!budget_.take(from->size() * sizeof(int32_t))) return shares_too_much(place);
    const size_t tensors = graph_.subgraphs.back().tensors.size();
    to.assign(from->begin(), from->end());
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] == kNoTensor && may_be_left_out) continue;
      if (to[i] < 0 || static_cast<size_t>(to[i]) >= tensors)
        return bad(fmt::format("{}, {} {}", place, field, i),
                   fmt::format("is tensor {}, but the subgraph has {}", to[i], tensors));
    }
    return {};
  }

  Status read_operators(const tflite::SubGraph& from, Subgraph& to) {
    const size_t count = size_of(from.operators());
    if (!budget_.take(count * sizeof(Operator))) return shares_too_much("operators");
    to.operators.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      operator_ = i;
      const tflite::Operator& op = *from.operators()->Get(static_cast<fb::uoffset_t>(i));
      EDGESAGE_RETURN_IF_ERROR(read_operator(op, to.operators.emplace_back()));
    }
    return {};
  }

  [[nodiscard]] std::string operator_place() const {
    return fmt::format("subgraph {}, operator {}", subgraph_, operator_);
  }

  Status read_operator(const tflite::Operator& from, Operator& to) {
    if (from.opcode_index() >= codes_.size())
      return bad(operator_place(),
                 fmt::format("opcode_index is {}, but the model has {} operator codes",
                             from.opcode_index(), codes_.size()));
    const OperatorCode& code = codes_[from.opcode_index()];
    if (!budget_.take(code.custom_code.size())) return shares_too_much(operator_place());
    to.kind = code.kind;
    to.custom_code = code.custom_code;
    to.version = code.version;
    EDGESAGE_RETURN_IF_ERROR(read_operands(from, to));
    if (const auto* mutated = from.mutating_variable_inputs()) {
      if (!budget_.take(mutated->size())) return shares_too_much(operator_place());
      to.mutating_variable_inputs.assign(mutated->begin(), mutated->end());
    }
    EDGESAGE_RETURN_IF_ERROR(read_custom_options(from, to));
    EDGESAGE_RETURN_IF_ERROR(read_builtin_options(from, to));
    return check_subgraph_references(to);
  }

  Status read_operands(const tflite::Operator& from, Operator& to) {
    struct Operands {
      const fb::Vector<int32_t>* from;
      std::string_view field;
      std::vector<int32_t>* to;
    };
    for (const auto& [indexes, field, target] :
         {Operands{from.inputs(), "input", &to.inputs},
          Operands{from.outputs(), "output", &to.outputs},
          Operands{from.intermediates(), "intermediate", &to.intermediates}}) {
      if (indexes == nullptr) continue;
      if (Status status = read_indexes(indexes, true, operator_place(), field, *target); !status)
        return status;
    }
    return {};
  }

  Status read_custom_options(const tflite::Operator& from, Operator& to) {
    std::span<const std::byte> bytes;
    if (const auto* inside = from.custom_options(); size_of(inside) > 0) {
      bytes = std::as_bytes(std::span(inside->data(), inside->size()));
    } else if (from.large_custom_options_offset() > 1) {
      EDGESAGE_ASSIGN_OR_RETURN(
          bytes, outside(from.large_custom_options_offset(), from.large_custom_options_size(),
                         operator_place() + ", custom options"));
    }
    if (!budget_.take(bytes.size())) return shares_too_much(operator_place());
    to.custom_options.assign(bytes.begin(), bytes.end());
    return {};
  }

  Status read_builtin_options(const tflite::Operator& from, Operator& to) {
    struct Candidate {
      OptionsTable table;
      const void* options;
    };
    const Candidate candidates[] = {
        {{1, static_cast<uint8_t>(from.builtin_options_type())}, from.builtin_options()},
        {{2, static_cast<uint8_t>(from.builtin_options_2_type())}, from.builtin_options_2()}};
    const OptionsTable expected = options_table_of(to.kind);
    to.omits_options = expected.union_number != 0;
    for (const auto& [table, options] : candidates) {
      if (options == nullptr || table.id == 0) continue;
      if (!is_known(table)) {
        to.has_unknown_options = true;
        warnings_.add(fmt::format("{}: options {} of union {} are unknown to this version",
                                  operator_place(), table.id, table.union_number));
      } else if (to.kind == OpKind::kUnknown) {
        to.has_unknown_options = true;
      } else if (table != expected) {
        warnings_.add(fmt::format("{}: {} does not use {}; runtimes pass over them, so does this",
                                  operator_place(), op_name(to.kind), options_table_name(table)));
      } else {
        to.omits_options = false;
        const auto* stored = static_cast<const fb::Table*>(options);
        EDGESAGE_RETURN_IF_ERROR(check_options(table, *stored));
        read_options(table, *stored, to.attributes);
      }
    }
    return {};
  }

  // What the verifier does not look at: memory that the attributes will take, and alignment.
  Status check_options(OptionsTable table, const fb::Table& options) {
    for (const OptionField& field : option_fields(table)) {
      const uint8_t* at = options.GetAddressOf(field.slot);
      if (at == nullptr) continue;
      size_t bytes = sizeof(Attribute);
      if (field.type != OptionField::Type::kInt && field.type != OptionField::Type::kFloat) {
        const auto& vector =
            *reinterpret_cast<const fb::Vector<int64_t>*>(at + fb::ReadScalar<fb::uoffset_t>(at));
        bytes += vector.size() * sizeof(int64_t);
        if (field.stored == fb::ET_LONG && !is_aligned(vector))
          return bad(fmt::format("{}, {}", operator_place(), field.name),
                     "is not aligned to 8 bytes; the file is damaged");
      }
      if (!budget_.take(bytes)) return shares_too_much(operator_place());
    }
    return {};
  }

  Status check_subgraph(std::string_view attribute, int64_t index) const {
    const size_t count = size_of(model_->subgraphs());
    if (index >= 0 && std::cmp_less(index, count)) return {};
    return bad(fmt::format("{}, {}", operator_place(), attribute),
               fmt::format("is subgraph {}, but the model has {}", index, count));
  }

  // Control flow, reductions and composites name subgraphs in their options.
  Status check_subgraph_references(const Operator& op) const {
    for (const Attribute& attribute : op.attributes) {
      const std::string_view name = attribute.name;
      if (!names_subgraphs(op, name)) continue;
      if (const auto* index = std::get_if<int64_t>(&attribute.value))
        EDGESAGE_RETURN_IF_ERROR(check_subgraph(name, *index));
      if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value))
        for (const int64_t index : *list) EDGESAGE_RETURN_IF_ERROR(check_subgraph(name, index));
    }
    return {};
  }

  // Constants without bytes in this file, which need the whole subgraph to be seen.
  void mark_constants(const tflite::SubGraph& from, Subgraph& to) {
    std::vector<uint8_t> made(to.tensors.size(), 0);
    for (const Operator& op : to.operators) {
      for (const int32_t output : op.outputs) {
        if (output == kNoTensor) continue;
        uint8_t& seen = made[static_cast<size_t>(output)];
        if (seen != 0)
          warnings_.add(fmt::format("subgraph {}: more than one operator makes tensor {}",
                                    subgraph_, output));
        seen = 1;
      }
    }
    for (const int32_t input : to.inputs) made[static_cast<size_t>(input)] = 1;
    for (size_t i = 0; i < to.tensors.size(); ++i) {
      Tensor& tensor = to.tensors[i];
      const tflite::Tensor& stored = *from.tensors()->Get(static_cast<fb::uoffset_t>(i));
      if (tensor.is_constant()) {
        if (made[i] != 0)
          warnings_.add(
              fmt::format("subgraph {}: tensor {} has constant data, but is an input or "
                          "made by an operator",
                          subgraph_, i));
      } else if (tensor.element_count() == 0) {
        // Needs no data, wherever they are said to be.
        if (made[i] == 0 && stored.buffer() != 0)
          tensor.buffer = static_cast<int32_t>(stored.buffer());
        else if (made[i] == 0 && stored.external_buffer() != 0)
          mark_external(stored, i, tensor);
      } else if (stored.external_buffer() != 0) {
        mark_external(stored, i, tensor);
      }
    }
  }

  void mark_external(const tflite::Tensor& stored, size_t index, Tensor& tensor) {
    tensor.buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.emplace_back();
    warnings_.add(fmt::format(
        "subgraph {}: the data of tensor {} are in another file (external buffer {}) and not read",
        subgraph_, index, stored.external_buffer()));
  }

  Status read_ports(const fb::Vector<fb::Offset<tflite::TensorMap>>* from, std::string_view place,
                    const Signature& signature, std::vector<Signature::Port>& to) {
    if (from == nullptr) return {};
    const size_t tensors = graph_.subgraphs[static_cast<size_t>(signature.subgraph)].tensors.size();
    for (const tflite::TensorMap* port : *from) {
      const std::string_view port_name = view(port->name());
      if (!budget_.take(sizeof(Signature::Port) + port_name.size())) return shares_too_much(place);
      if (port->tensor_index() >= tensors)
        return bad(place, fmt::format("'{}' is tensor {}, but the subgraph has {}", port_name,
                                      port->tensor_index(), tensors));
      to.push_back({std::string(port_name), static_cast<int32_t>(port->tensor_index())});
    }
    return {};
  }

  Status read_signatures() {
    if (model_->signature_defs() == nullptr) return {};
    for (const tflite::SignatureDef* from : *model_->signature_defs()) {
      const std::string place = fmt::format("signature {}", graph_.signatures.size());
      const std::string_view key = view(from->signature_key());
      if (!budget_.take(sizeof(Signature) + key.size())) return shares_too_much(place);
      if (from->subgraph_index() >= graph_.subgraphs.size())
        return bad(place, fmt::format("is subgraph {}, but the model has {}",
                                      from->subgraph_index(), graph_.subgraphs.size()));
      Signature& to = graph_.signatures.emplace_back();
      to.key = key;
      to.subgraph = static_cast<int32_t>(from->subgraph_index());
      EDGESAGE_RETURN_IF_ERROR(read_ports(from->inputs(), place + ", input", to, to.inputs));
      EDGESAGE_RETURN_IF_ERROR(read_ports(from->outputs(), place + ", output", to, to.outputs));
    }
    return {};
  }

  Status read_metadata() {
    if (model_->metadata() == nullptr) return {};
    const size_t buffers = size_of(model_->buffers());
    for (const tflite::Metadata* from : *model_->metadata()) {
      const std::string_view entry = view(from->name());
      if (!budget_.take(sizeof(Metadata) + entry.size())) return shares_too_much("metadata");
      if (from->buffer() >= buffers)
        return bad(fmt::format("metadata {}", graph_.metadata.size()),
                   fmt::format("is buffer {}, but the model has {}", from->buffer(), buffers));
      graph_.metadata.push_back({std::string(entry), static_cast<int32_t>(from->buffer())});
    }
    return {};
  }

  std::shared_ptr<const MappedFile> file_;
  std::string_view name_;
  ReadBudget budget_;
  const tflite::Model* model_ = nullptr;
  Graph graph_;
  ReadWarnings warnings_{&graph_.warnings};
  std::vector<OperatorCode> codes_;
  size_t subgraph_ = 0;  // being read, for messages
  size_t operator_ = 0;
};

}  // namespace

Result<Graph> read_tflite(std::shared_ptr<const MappedFile> file, std::string_view name) {
  if (!looks_like_tflite(file->bytes()))
    return make_error(ErrorCode::kBadModel, std::string(name),
                      "is no TensorFlow Lite model: bytes 4 to 7 must be TFL3");
  return Reader(std::move(file), name).read();
}

}  // namespace edgesage
