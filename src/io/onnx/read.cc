#include "src/io/onnx/read.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "src/io/file_kind.h"
#include "src/io/onnx/external_data.h"
#include "src/io/onnx/functions.h"
#include "src/io/onnx/names.h"
#include "src/io/onnx/parsed_file.h"
#include "src/io/onnx/versions.h"

namespace edgesage::onnx {
namespace {

constexpr size_t kMaxLine = 1000;
constexpr size_t kMaxFileBytes = size_t{1} << 32;  // every count fits in 32 bits

// Names in messages come from the file: what would break a line or a terminal is made visible.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kMaxLine)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return text.size() > kMaxLine ? line + "..." : line;
}

// The graphs that are in use: those of functions and of replaced attributes stay behind.
void gather_graphs(ParsedFile& file) {
  std::vector<GraphTable>& graphs = file.model.graphs;
  std::vector<int32_t> sources = {0};
  std::vector<int32_t> parents = {-1};
  for (size_t i = 0; i < sources.size(); ++i) {
    GraphTable& graph =
        graphs.emplace_back(std::move(file.graphs[static_cast<size_t>(sources[i])]));
    graph.parent = parents[i];
    for (Node& node : graph.nodes)
      for (Attribute& attribute : node.attributes)
        for (int32_t& body : attribute.graphs) {
          sources.push_back(body);
          parents.push_back(static_cast<int32_t>(i));
          body = static_cast<int32_t>(sources.size() - 1);
        }
  }
}

Result<Model> read(std::span<const std::byte> bytes, const std::string& name,
                   const ReadOptions& options, const OpenFile* open) {
  if (bytes.size() >= kMaxFileBytes)
    return make_error(ErrorCode::kBadModel, name,
                      fmt::format("has {} bytes, where an ONNX file may have 2 GB; its weights "
                                  "belong into external data",
                                  bytes.size()));
  if (!looks_like_onnx(bytes))
    return make_error(ErrorCode::kBadModel, name, describe_foreign_file(bytes));
  ExternalFiles external(options.model_path);
  Oddities oddities;
  EDGESAGE_ASSIGN_OR_RETURN(ParsedFile file, parse_file(bytes, name, external, oddities, open));
  if (!file.has_graph) return make_error(ErrorCode::kBadModel, name, describe_foreign_file(bytes));
  set_versions(file, oddities);
  FreshNames fresh(file);
  EDGESAGE_RETURN_IF_ERROR(settle_names(file, fresh, oddities, name));
  EDGESAGE_RETURN_IF_ERROR(
      inline_functions(file, fresh, oddities, options.limits.inlined_bytes, name));
  gather_graphs(file);
  Model model = std::move(file.model);
  model.warnings = external.warnings();
  oddities.append_to(model.warnings);
  for (std::string& warning : model.warnings) warning = one_line(warning);
  return model;
}

Result<Model> read_named(std::span<const std::byte> bytes, std::shared_ptr<const void> storage,
                         const std::string& name, const ReadOptions& options,
                         const OpenFile* open) {
  Result<Model> model = read(bytes, name, options, open);
  if (!model) return make_error(model.error().code, name, one_line(model.error().message));
  model->storage = std::move(storage);
  return model;
}

}  // namespace

Result<Model> read_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> storage,
                        const std::string& name, const ReadOptions& options) {
  return read_named(bytes, std::move(storage), name, options, nullptr);
}

Result<Model> read_onnx(std::shared_ptr<const MappedFile> file, const std::string& name,
                        const ReadOptions& options, const OpenFile* open) {
  const std::span<const std::byte> bytes = file->bytes();
  if (!file->is_mapped()) open = nullptr;
  return read_named(bytes, std::move(file), name, options, open);
}

}  // namespace edgesage::onnx
