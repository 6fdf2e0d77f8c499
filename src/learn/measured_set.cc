#include "src/learn/measured_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/parallel.h"
#include "src/base/text.h"
#include "src/graph/graph_hash.h"
#include "src/learn/published_codes.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One network, built once.
struct Built {
  std::string graph_hash;
  bool constant = false;
  Example example;
  FewShotNetwork network;
};

Built build(const Graph& graph, const std::string& name, const std::string& space,
            const Target& target, Quantity quantity) {
  const Lowering lowering = lower(graph, target);
  const std::array quantities{quantity};
  Built built;
  built.graph_hash = graph_hash(graph);
  built.example.name = name;
  built.example.space = space;
  built.example.graph_hash = built.graph_hash;
  built.example.operator_signatures = operator_signatures(graph);
  built.example.tensors = extract_features(graph, lowering, quantities);
  built.example.labels.assign(1, kNaN);
  built.example.operator_labels.resize(1);
  built.network = make_few_shot_network(graph, lowering, quantity);
  return built;
}

// Calls make(i) for all i in parallel, with progress, and keeps the first error.
Result<std::vector<Built>> build_all(size_t count, int threads, const SetProgress& progress,
                                     const std::function<Result<Built>(size_t)>& make) {
  std::vector<Built> all(count);
  std::mutex mutex;
  std::optional<Error> error;
  int64_t done = 0;
  parallel_for(static_cast<int64_t>(count), threads, [&](int64_t i) {
    auto built = make(static_cast<size_t>(i));
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(done, static_cast<int64_t>(count));
    if (built)
      all[static_cast<size_t>(i)] = std::move(*built);
    else if (!error)
      error = std::move(built).error();
  });
  if (error) return tl::unexpected(*error);
  return all;
}

// Distinct networks by graph hash, in the order of their first row.
void add_networks(std::vector<Built> built, std::span<const std::string> names,
                  std::span<const std::string> groups, MeasuredSet& set,
                  std::vector<size_t>& row_of_source) {
  std::unordered_map<std::string, size_t> by_hash, by_group;
  for (size_t i = 0; i < built.size(); ++i) {
    if (built[i].constant) {
      ++set.constant;
      continue;
    }
    const auto [place, fresh] = by_hash.emplace(built[i].graph_hash, set.dataset.examples.size());
    if (fresh) {
      set.dataset.examples.push_back(std::move(built[i].example));
      set.networks.add(std::move(built[i].network));
    }
    const size_t group = by_group.emplace(groups[i], by_group.size()).first->second;
    set.rows.push_back({names[i], place->second, group});
    row_of_source.push_back(i);
  }
}

Result<CsvTable> read_table(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(path, ErrorCode::kInvalidArgument));
  return parse_csv(text, path.string(), ErrorCode::kBadStore);
}

Result<size_t> column_of(const CsvTable& table, std::string_view name,
                         const std::filesystem::path& path) {
  if (const auto column = table.column(name)) return *column;
  return make_error(ErrorCode::kBadStore, path.string(),
                    fmt::format("there is no column {}: not the published file", name));
}

// Empty cells were not measured.
double label_of(const std::string& cell, const BoardColumn& board, int64_t& below) {
  if (cell.empty()) return kNaN;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end) * board.to_unit;
  if (*end != '\0' || !std::isfinite(value) || value <= 0) return kNaN;
  if (value < board.resolution) {
    ++below;
    return kNaN;
  }
  return value;
}

}  // namespace

std::span<const PublishedSetInfo> published_sets() {
  static const std::vector<PublishedSetInfo> kInfos = [] {
    std::vector<PublishedSetInfo> infos;
    for (const PublishedCodes& codes : published_codes())
      infos.push_back({codes.id, codes.description});
    return infos;
  }();
  return kInfos;
}

Result<MeasuredSet> load_published_set(std::string_view id, const std::filesystem::path& directory,
                                       int threads, size_t most_rows, const SetProgress& progress) {
  const auto all = published_codes();
  const auto codes = std::find_if(all.begin(), all.end(),
                                  [&](const PublishedCodes& entry) { return entry.id == id; });
  if (codes == all.end()) {
    std::vector<std::string_view> ids;
    for (const PublishedCodes& entry : all) ids.push_back(entry.id);
    return make_error(ErrorCode::kInvalidArgument, std::string(id),
                      fmt::format("not a published set; one of {}", fmt::join(ids, ", ")));
  }
  const std::filesystem::path path = directory / codes->file;
  EDGESAGE_ASSIGN_OR_RETURN(CsvTable table, read_table(path));
  if (most_rows > 0 && table.rows.size() > most_rows) {
    std::vector<std::vector<std::string>> some;
    for (size_t i = 0; i < most_rows; ++i)
      some.push_back(std::move(table.rows[i * table.rows.size() / most_rows]));
    table.rows = std::move(some);
  }

  std::vector<std::string> names, groups;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    auto code = codes->code(table, row);
    if (!code)
      return make_error(ErrorCode::kBadStore, fmt::format("{}:{}", path.string(), row + 2),
                        code.error().to_string());
    groups.push_back(codes->group ? codes->group(table, row, *code) : *code);
    names.push_back(std::move(*code));
  }

  MeasuredSet set;
  set.id = codes->id;
  EDGESAGE_ASSIGN_OR_RETURN(set.dataset.target, target_from_name("generic"));
  set.dataset.quantities = {Quantity::kLatencyMs};
  const auto make = [&](size_t i) -> Result<Built> {
    EDGESAGE_ASSIGN_OR_RETURN(
        const PublishedNetwork network,
        build_published(codes->space, names[i],
                        {.type = codes->type,
                         .resolution = codes->resolution,
                         .weights = false,
                         .merge_common = false}));
    if (network.constant) return Built{.constant = true};
    return build(network.graph, fmt::format("{}/{}", codes->space, names[i]),
                 std::string(codes->space), set.dataset.target, Quantity::kLatencyMs);
  };
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<Built> built,
                            build_all(names.size(), threads, progress, make));
  std::vector<size_t> source;
  add_networks(std::move(built), names, groups, set, source);

  for (const BoardColumn& column : codes->boards) {
    EDGESAGE_ASSIGN_OR_RETURN(const size_t at, column_of(table, column.column, path));
    MeasuredSet::Board board{std::string(column.device), column.quantity, {}, 0};
    for (const size_t row : source)
      board.labels.push_back(label_of(table.rows[row][at], column, board.below_resolution));
    set.boards.push_back(std::move(board));
  }
  return set;
}

Result<MeasuredSet> load_labelled_set(std::span<const std::filesystem::path> files,
                                      const Target& target, Quantity quantity, int threads,
                                      const SetProgress& progress) {
  std::unordered_map<std::string, std::vector<double>> labels;
  std::vector<std::string> names, spaces, devices;
  for (size_t f = 0; f < files.size(); ++f) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_labels(files[f]));
    for (const LabelRow& row : rows) {
      auto& values = labels.try_emplace(row.name, files.size(), kNaN).first->second;
      const auto it = row.quantities.find(std::string(quantity_name(quantity)));
      if (it != row.quantities.end() && it->second > 0) values[f] = it->second;
      if (f == 0) names.push_back(row.name);
    }
    devices.push_back(rows.empty() ? files[f].stem().string() : rows.front().device);
  }
  std::erase_if(names, [&](const std::string& name) {
    const auto& values = labels.at(name);
    return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  });
  MeasuredSet set;
  set.id = "labels";
  set.dataset.target = target;
  set.dataset.quantities = {quantity};
  set.networks.quantity = quantity;
  const auto make = [&](size_t i) -> Result<Built> {
    EDGESAGE_ASSIGN_OR_RETURN(const NetworkName name, NetworkName::parse(names[i]));
    EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, build_network(name));
    return build(graph, names[i], name.space, target, quantity);
  };
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<Built> built,
                            build_all(names.size(), threads, progress, make));
  std::vector<size_t> source;
  add_networks(std::move(built), names, names, set, source);
  for (size_t f = 0; f < files.size(); ++f) {
    MeasuredSet::Board board{devices[f], quantity, {}, 0};
    for (const size_t row : source) board.labels.push_back(labels.at(names[row])[f]);
    set.boards.push_back(std::move(board));
  }
  return set;
}

}  // namespace edgesage
