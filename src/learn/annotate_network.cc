#include "src/learn/annotate_network.h"

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp

#include <fstream>
#include <system_error>

#include "src/analysis/row_costs.h"
#include "src/graph/graph_hash.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

Result<Graph> build_by_name(const std::string& name) {
  EDGESAGE_ASSIGN_OR_RETURN(const NetworkName network, NetworkName::parse(name));
  return build_network(network);
}

}  // namespace

Result<std::unique_ptr<WorkDir>> WorkDir::make(fs::path parent) {
  std::error_code error;
  if (parent.empty()) parent = fs::temp_directory_path(error);
  fs::create_directories(parent, error);
  std::string pattern = (parent / "edgesage-annotate-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return make_error(ErrorCode::kInvalidArgument, parent.string(),
                      "no directory can be made here; give another work directory");
  return std::unique_ptr<WorkDir>(new WorkDir(pattern));
}

WorkDir::~WorkDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<fs::path> WorkDir::write(std::string network, std::span<const std::byte> bytes) const {
  for (char& c : network)
    if (c == '/') c = '-';
  fs::path path = path_ / (network + ".tflite");
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    return make_error(ErrorCode::kInvalidArgument, path.string(),
                      "cannot be written; make room, or give another work directory");
  return path;
}

Result<BuiltNetwork> build_network_file(const std::string& name, const AnnotateOptions& options,
                                        const WorkDir& dir) {
  BuiltNetwork built;
  built.record.name = name;
  auto graph = options.build ? options.build(name) : build_by_name(name);
  if (!graph && graph.error().code == ErrorCode::kInvalidArgument)
    return tl::unexpected(graph.error());
  if (graph && options.accept && !options.accept(*graph)) {
    built.passed_over = true;
    return built;
  }
  const auto failed = [&](const Error& error) {
    // A hash of its own, so that no other network passes for its duplicate.
    built.record.graph_hash = "unbuilt " + name;
    built.failure = "cannot be built: " + error.to_string();
    return built;
  };
  if (!graph) return failed(graph.error());
  if (options.file) built.file = options.file(name);
  if (built.file.empty()) {
    const auto bytes = write_tflite(*graph);
    if (!bytes) return failed(bytes.error());
    EDGESAGE_ASSIGN_OR_RETURN(built.file, dir.write(name, *bytes));
    built.is_temporary = true;
  }
  built.record.graph_hash = graph_hash(*graph);
  built.record.weights_hash = weights_hash(*graph);
  built.record.macs = graph_totals(*graph).macs;
  std::error_code ignored;
  const auto size = fs::file_size(built.file, ignored);
  if (!ignored) built.record.file_bytes = static_cast<int64_t>(size);
  return built;
}

Result<NetworkIndex> NetworkIndex::load(Store& store) {
  NetworkIndex index(store);
  EDGESAGE_ASSIGN_OR_RETURN(const auto networks, store.networks());
  for (const NetworkRecord& network : networks)
    if (network.file_name.empty()) index.add(network);
  return index;
}

const NetworkRecord* NetworkIndex::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &it->second;
}

Result<NetworkRecord> NetworkIndex::enter(NetworkRecord network) {
  if (const NetworkRecord* known = find(network.name)) {
    EDGESAGE_RETURN_IF_ERROR(check_same(*known, network));
    return *known;
  }
  if (const auto it = by_graph_.find(network.graph_hash); it != by_graph_.end())
    network.duplicate_of = it->second;
  EDGESAGE_ASSIGN_OR_RETURN(network.id, store_->add_network(network));
  add(network);
  return network;
}

Status NetworkIndex::check_same(const NetworkRecord& known, const NetworkRecord& built) const {
  if (known.graph_hash == built.graph_hash && known.weights_hash == built.weights_hash) return {};
  return make_error(
      ErrorCode::kBadStore, store_->path().string(),
      fmt::format("{} was stored as graph {}, weights {} and is built as {}, {} now: the "
                  "store is of another build of its space; use a new one",
                  known.name, known.graph_hash, known.weights_hash, built.graph_hash,
                  built.weights_hash));
}

void NetworkIndex::add(const NetworkRecord& network) {
  by_name_[network.name] = network;
  if (!network.duplicate_of) by_graph_.emplace(network.graph_hash, network.id);
}

}  // namespace edgesage
