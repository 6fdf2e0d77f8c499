#include "src/learn/measured_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <unordered_map>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/io/ncnn_param.h"
#include "src/io/ncnn_reader.h"
#include "src/learn/label_file.h"
#include "src/learn/published_codes.h"
#include "src/spaces/published.h"

namespace edgesage {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows of the networks that are not constants; the source of each row is its place among the names.
std::vector<size_t> add_rows(std::span<const std::string> names,
                             std::span<const std::string> groups, MeasuredSet& set) {
  std::unordered_map<std::string, size_t> by_group;
  std::vector<size_t> source;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<size_t> network = set.pool.place[i];
    if (!network) {
      ++set.constant;
      continue;
    }
    const size_t group = by_group.emplace(groups[i], by_group.size()).first->second;
    set.rows.push_back({names[i], *network, group});
    source.push_back(i);
  }
  return source;
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
                                       int threads, size_t most_rows,
                                       const PoolProgress& progress) {
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

  std::vector<Quantity> quantities;
  for (const BoardColumn& board : codes->boards)
    if (std::find(quantities.begin(), quantities.end(), board.quantity) == quantities.end())
      quantities.push_back(board.quantity);
  const auto builder = [&](const std::string& code) -> Result<NamedGraph> {
    // Equal operators stay apart: whether they run once is the device's affair.
    EDGESAGE_ASSIGN_OR_RETURN(PublishedNetwork network,
                              build_published(codes->space, code,
                                              {.type = codes->type,
                                               .resolution = codes->resolution,
                                               .weights = false,
                                               .merge_common = false}));
    NamedGraph named{std::nullopt, std::string(codes->space)};
    if (!network.constant) named.graph = std::move(network.graph);
    return named;
  };
  MeasuredSet set;
  set.id = codes->id;
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_from_name("generic"));
  EDGESAGE_ASSIGN_OR_RETURN(set.pool,
                            make_pool(names, target, quantities, builder, threads, progress));
  const std::vector<size_t> source = add_rows(names, groups, set);
  for (const BoardColumn& column : codes->boards) {
    EDGESAGE_ASSIGN_OR_RETURN(const size_t at, column_of(table, column.column, path));
    const auto quantity = std::find(quantities.begin(), quantities.end(), column.quantity);
    MeasuredSet::Board board{
        std::string(column.device), static_cast<size_t>(quantity - quantities.begin()), {}, 0};
    for (const size_t row : source)
      board.labels.push_back(label_of(table.rows[row][at], column, board.below_resolution));
    set.boards.push_back(std::move(board));
  }
  return set;
}

Result<MeasuredSet> load_ncnn_set(const std::filesystem::path& directory, int threads) {
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable inputs, read_table(directory / "ncnn_model_inputs.csv"));
  const std::filesystem::path path = directory / "ncnn_boards.csv";
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table, read_table(path));
  std::vector<size_t> at;
  for (const char* name : {"block", "device", "num_threads", "gpu_device", "model", "min_ms"}) {
    EDGESAGE_ASSIGN_OR_RETURN(const size_t column, column_of(table, name, path));
    at.push_back(column);
  }
  MeasuredSet set;
  set.id = "ncnn";
  std::vector<std::string> names, groups;
  std::unordered_map<std::string, size_t> row_of;
  for (const auto& input : inputs.rows) {
    const std::string& name = input[0];
    std::error_code ignored;
    if (!std::filesystem::exists(directory / "ncnn_param" / (name + ".param"), ignored)) continue;
    row_of.emplace(name, names.size());
    groups.push_back(name.ends_with("_int8") ? name.substr(0, name.size() - 5) : name);
    names.push_back(name);
  }
  const auto builder = [&](const std::string& name) -> Result<NamedGraph> {
    const auto input = std::find_if(inputs.rows.begin(), inputs.rows.end(),
                                    [&](const auto& row) { return row[0] == name; });
    std::vector<int64_t> shape;
    for (const size_t column : {size_t{3}, size_t{2}, size_t{1}})
      shape.push_back(std::strtoll((*input)[column].c_str(), nullptr, 10));
    const std::filesystem::path file = directory / "ncnn_param" / (name + ".param");
    EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(file, ErrorCode::kBadModel));
    // Inputs whose shape is in the file need none.
    auto graph = read_ncnn(text, name);
    if (graph) return NamedGraph{std::move(*graph), "ncnn"};
    EDGESAGE_ASSIGN_OR_RETURN(const NcnnParam param, parse_ncnn_param(text, name));
    NcnnInputShapes shapes;
    for (const NcnnLayer& layer : param.layers)
      if (layer.type == "Input" && !layer.outputs.empty()) shapes[layer.outputs[0]] = shape;
    EDGESAGE_ASSIGN_OR_RETURN(Graph shaped, read_ncnn(text, name, shapes));
    return NamedGraph{std::move(shaped), "ncnn"};
  };
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_from_name("generic"));
  const std::vector<Quantity> quantities{Quantity::kLatencyMs};
  EDGESAGE_ASSIGN_OR_RETURN(set.pool, make_pool(names, target, quantities, builder, threads));
  add_rows(names, groups, set);
  std::unordered_map<std::string, size_t> board_of;
  for (const auto& row : table.rows) {
    const auto model = row_of.find(row[at[4]]);
    if (model == row_of.end()) continue;
    const std::string device =
        fmt::format("{}, {} {}, block {}", row[at[1]], row[at[2]],
                    row[at[3]].starts_with("-1") ? "threads" : "threads and GPU", row[at[0]]);
    const auto [place, fresh] = board_of.emplace(device, set.boards.size());
    if (fresh) set.boards.push_back({device, 0, std::vector<double>(set.rows.size(), kNaN), 0});
    const BoardColumn column{.to_unit = 1};
    MeasuredSet::Board& board = set.boards[place->second];
    board.labels[model->second] = label_of(row[at[5]], column, board.below_resolution);
  }
  return set;
}

Result<MeasuredSet> load_labelled_set(std::span<const std::filesystem::path> files,
                                      const Target& target, Quantity quantity, int threads,
                                      const PoolProgress& progress) {
  std::unordered_map<std::string, std::vector<double>> labels;
  std::vector<std::string> names, devices;
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
  for (const std::string& device : devices) set.id += (set.id.empty() ? "" : "+") + device;
  const auto builder = [&](const std::string& name) { return build_named_for(target, name); };
  EDGESAGE_ASSIGN_OR_RETURN(set.pool,
                            make_pool(names, target, {&quantity, 1}, builder, threads, progress));
  const std::vector<size_t> source = add_rows(names, names, set);
  for (size_t f = 0; f < files.size(); ++f) {
    MeasuredSet::Board board{devices[f], 0, {}, 0};
    for (const size_t row : source) board.labels.push_back(labels.at(names[row])[f]);
    set.boards.push_back(std::move(board));
  }
  return set;
}

}  // namespace edgesage
