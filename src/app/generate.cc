#include "src/app/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/analysis/row_costs.h"
#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/parallel.h"
#include "src/base/text.h"
#include "src/graph/graph_hash.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"

namespace edgesage::app {
namespace {

// Codes have characters that files should not have.
std::string file_name(const NetworkName& name) {
  if (name.code.empty()) return fmt::format("{}-{}-{}.tflite", name.space, name.version, name.seed);
  Hasher hasher;
  hasher.add(name.code);
  return fmt::format("{}-{:016x}.tflite", name.space, hasher.low64());
}

Result<std::vector<NetworkName>> wanted_networks(const GenerateRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const NetworkName first, newest_network(request.space, request.seed));
  std::vector<std::string> codes = request.codes;
  if (!request.code_file.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::string csv,
                              read_text(request.code_file, ErrorCode::kInvalidArgument));
    EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                              parse_csv(csv, request.code_file, ErrorCode::kInvalidArgument));
    const auto column = table.column(request.code_column);
    if (!column)
      return make_error(ErrorCode::kInvalidArgument, request.code_file,
                        fmt::format("no column \"{}\"; there are {}", request.code_column,
                                    join(table.columns, ", ")));
    for (const auto& row : table.rows) codes.push_back(row[*column]);
  }
  std::vector<NetworkName> networks;
  for (const std::string& code : codes) {
    EDGESAGE_ASSIGN_OR_RETURN(std::string canonical, canonical_code(request.space, code));
    networks.push_back({request.space, first.version, 0, std::move(canonical)});
  }
  const bool sampled = request.codes.empty() && request.code_file.empty();
  for (int64_t i = 0; sampled && i < request.count; ++i) {
    networks.push_back(first);
    networks.back().seed += static_cast<uint64_t>(i);
  }
  return networks;
}

Result<GeneratedNetwork> write_network(const NetworkName& name,
                                       const std::filesystem::path& directory) {
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, build_network(name));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
  GeneratedNetwork out;
  const auto path = directory / file_name(name);
  EDGESAGE_RETURN_IF_ERROR(write_file(path, bytes));
  const GraphTotals totals = graph_totals(graph);
  out.file = path.string();
  out.name = name.to_string();
  out.graph_hash = graph_hash(graph);
  out.file_bytes = static_cast<int64_t>(bytes.size());
  out.macs = totals.macs;
  out.weights_bytes = totals.weights_bytes;
  out.operators = static_cast<int64_t>(graph.main().operators.size());
  return out;
}

}  // namespace

Result<std::vector<GeneratedNetwork>> generate(const Context& context,
                                               const GenerateRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<NetworkName> names, wanted_networks(request));
  const auto count = static_cast<int64_t>(names.size());
  std::error_code error;
  std::filesystem::create_directories(request.directory, error);
  if (error)
    return make_error(ErrorCode::kInvalidArgument, request.directory,
                      fmt::format("cannot make the directory: {}", error.message()));
  const int threads = request.threads > 0 ? request.threads : hardware_threads();
  std::vector<GeneratedNetwork> networks;
  // In batches, so that progress is shown and an interruption loses little.
  const int64_t batch = int64_t{4} * threads;
  for (int64_t begin = 0; begin < count && !context.stop_wanted(); begin += batch) {
    context.report(begin, count, request.space);
    const int64_t size = std::min(batch, count - begin);
    std::vector<Result<GeneratedNetwork>> written(static_cast<size_t>(size));
    parallel_for(size, threads, [&](int64_t i) {
      written[static_cast<size_t>(i)] =
          write_network(names[static_cast<size_t>(begin + i)], request.directory);
    });
    for (auto& network : written) {
      if (!network) {
        Error failed = network.error();
        if (failed.code == ErrorCode::kInternal) failed.code = ErrorCode::kInvalidArgument;
        return tl::unexpected(std::move(failed));
      }
      networks.push_back(std::move(*network));
    }
  }
  return networks;
}

std::vector<SearchSpace> search_spaces() {
  std::vector<SearchSpace> out;
  for (const SpaceInfo& space : all_spaces())
    out.push_back({std::string(space.name), space.version, std::string(space.description)});
  return out;
}

}  // namespace edgesage::app
