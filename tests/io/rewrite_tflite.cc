// Helper of the tests that compare with other programs.
//   rewrite_tflite rewrite SOURCE TARGET SEED   read, unmap, shuffle buffers, drop names, write
//   rewrite_tflite dump SOURCE                  operators and tensors as one line of JSON
//   rewrite_tflite tables                       options table of each operator code, as JSON
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/io/options_codec.h"
#include "src/io/tflite_writer.h"

namespace edgesage {
namespace {

Json json_of(const Attribute::Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json json_of(const Operator& op) {
  Json options = Json::object();
  // With defaults, so that the other side need not know them.
  if (!op.omits_options)
    for (const OptionField& field : option_fields(options_table_of(op.kind))) {
      const std::string name(field.name);
      if (field.type == OptionField::Type::kInt) options[name] = field.default_int;
      if (field.type == OptionField::Type::kFloat) options[name] = 0.0;
    }
  for (const Attribute& attribute : op.attributes)
    options[attribute.name] = json_of(attribute.value);
  return {{"code", static_cast<int>(op.kind)},
          {"custom_code", op.custom_code},
          {"version", op.version},
          {"inputs", op.inputs},
          {"outputs", op.outputs},
          {"intermediates", op.intermediates},
          {"custom_options_bytes", op.custom_options.size()},
          {"options_table", op.omits_options
                                ? std::string()
                                : std::string(options_table_name(options_table_of(op.kind)))},
          {"options", options}};
}

Json json_of(const Graph& graph, const Tensor& tensor) {
  uint64_t sum = 0;  // of the constant's bytes
  for (const std::byte byte : graph.constant(tensor)) sum += static_cast<uint64_t>(byte);
  return {{"name", tensor.name},
          {"type", static_cast<int>(tensor.type)},
          {"shape", tensor.shape},
          {"shape_signature", tensor.shape_signature},
          {"has_rank", tensor.has_rank},
          {"is_variable", tensor.is_variable},
          {"bytes", graph.constant(tensor).size()},
          {"byte_sum", sum},
          {"scale", tensor.quantization.scale},
          {"zero_point", tensor.quantization.zero_point},
          {"axis", tensor.quantization.axis},
          {"block_size", tensor.quantization.block_size},
          {"block_scales", tensor.quantization.block_scales}};
}

std::string dump(const Graph& graph) {
  Json subgraphs = Json::array();
  for (const Subgraph& subgraph : graph.subgraphs) {
    Json tensors = Json::array();
    for (const Tensor& tensor : subgraph.tensors) tensors.push_back(json_of(graph, tensor));
    Json operators = Json::array();
    for (const Operator& op : subgraph.operators) operators.push_back(json_of(op));
    subgraphs.push_back({{"name", subgraph.name},
                         {"inputs", subgraph.inputs},
                         {"outputs", subgraph.outputs},
                         {"tensors", tensors},
                         {"operators", operators}});
  }
  Json signatures = Json::array();
  for (const Signature& signature : graph.signatures) {
    Json ports = Json::array();
    for (const auto* list : {&signature.inputs, &signature.outputs})
      for (const Signature::Port& port : *list) ports.push_back({port.name, port.tensor});
    signatures.push_back(
        {{"key", signature.key}, {"subgraph", signature.subgraph}, {"ports", ports}});
  }
  Json metadata = Json::array();
  for (const Metadata& entry : graph.metadata)
    metadata.push_back({entry.name, graph.buffers[static_cast<size_t>(entry.buffer)].data.size()});
  return to_text(Json{{"description", graph.description},
                      {"subgraphs", subgraphs},
                      {"signatures", signatures},
                      {"metadata", metadata}});
}

std::string tables() {
  Json names = Json::object();
  for (const OpInfo& info : op_table())
    names[std::to_string(static_cast<int>(info.kind))] =
        std::string(options_table_name(options_table_of(info.kind)));
  return to_text(names);
}

Status rewrite(std::string_view source, std::string_view target, std::string_view seed_text) {
  TfliteWriteOptions options{.keep_names = false, .shuffle_buffers = 0};
  std::from_chars(seed_text.data(), seed_text.data() + seed_text.size(), *options.shuffle_buffers);
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_model(source));
  graph.own_buffers();  // the last holder of the mapping lets go of it
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph, options));
  return write_file(target, bytes);
}

int run(int count, char** arguments) {
  const std::vector<std::string_view> words(arguments + 1, arguments + count);
  Error error{ErrorCode::kInvalidArgument, "rewrite_tflite", "see the head of its source"};
  if (words.size() == 4 && words[0] == "rewrite") {
    const Status status = rewrite(words[1], words[2], words[3]);
    if (status) return 0;
    error = status.error();
  } else if (words.size() == 1 && words[0] == "tables") {
    fmt::print("{}\n", tables());
    return 0;
  } else if (words.size() == 2 && words[0] == "dump") {
    const Result<Graph> graph = read_model(words[1]);
    if (graph) {
      fmt::print("{}\n", dump(*graph));
      return 0;
    }
    error = graph.error();
  }
  fmt::print(stderr, "{}\n", error.to_string());
  return static_cast<int>(error.code);
}

}  // namespace
}  // namespace edgesage

int main(int count, char** arguments) { return edgesage::run(count, arguments); }
