#include "src/app/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "src/app/if_known.h"
#include "src/base/text.h"
#include "src/learn/controls.h"
#include "src/learn/few_shot_results.h"

namespace edgesage::app {
namespace {

// Few networks on many boards: each network is predicted from all others.
constexpr std::string_view kNcnn = "ncnn";

struct Protocol {
  std::string name;
  std::vector<std::string> sets;  // published sets; empty: label files
  std::vector<int64_t> counts;
  int64_t seeds = 1;
  bool without_twins = true;  // latbench's published figures are of all other networks
  // Each space is left out in turn, and learnt from so many of its own networks.
  std::vector<size_t> own = {};
  std::vector<std::string> models = {};  // beside the process; empty: all controls
  std::vector<std::string> draws = {"random"};
};

const std::vector<Protocol>& protocols() {
  static const std::vector<Protocol> kProtocols{
      {"latbench", {"latbench"}, {10, 20, 50, 100, 200, 500}, 10, false},
      {"few-shot", {"pi5-32", "pi5-88", "ofa", "fbnet", "accel", "ncnn"}, {100}, 5},
      {"labels", {}, {30, 100, 300}, 5},
      {"families", {}, {100}, 1, true, {0, 10, 30}, {"additive", "boosting"}},
      {"intervals", {}, {100}, 2, true, {0}, {"taught"}},
  };
  return kProtocols;
}

bool chosen(std::span<const std::string> wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

using DrawKey = std::tuple<std::string, std::string, std::string, size_t, uint64_t, std::string,
                           std::string, std::string, size_t>;

DrawKey key_of(const FewShotRow& row) {
  return {row.set,   row.device, row.quantity, row.n,  row.seed,
          row.model, row.draw,   row.left_out, row.own};
}

double mean(const std::vector<const FewShotRow*>& rows, double (*get)(const FewShotRow&)) {
  double sum = 0, count = 0;
  for (const FewShotRow* row : rows) {
    const double value = get(*row);
    if (std::isnan(value)) continue;
    sum += value;
    count += 1;
  }
  return count > 0 ? sum / count : std::nan("");
}

// Standard deviation over seeds of the mean over the rows of a seed.
double spread(const std::vector<const FewShotRow*>& rows, double (*get)(const FewShotRow&)) {
  std::map<uint64_t, std::vector<const FewShotRow*>> by_seed;
  for (const FewShotRow* row : rows) by_seed[row->seed].push_back(row);
  if (by_seed.size() < 2) return 0;
  double sum = 0, squares = 0;
  for (const auto& [seed, members] : by_seed) {
    const double value = mean(members, get);
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(by_seed.size());
  return std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
}

FewShotResult summary(const std::vector<const FewShotRow*>& rows, const std::string& device) {
  const FewShotRow& first = *rows.front();
  FewShotResult result{.set = first.set,
                       .device = device,
                       .quantity = first.quantity,
                       .model = first.model,
                       .draw = first.draw,
                       .left_out = first.left_out,
                       .own = static_cast<int64_t>(first.own),
                       .labels = static_cast<int64_t>(first.n)};
  std::map<uint64_t, int> seeds;
  for (const FewShotRow* row : rows) ++seeds[row->seed];
  result.seeds = static_cast<int64_t>(seeds.size());
  result.n_test = static_cast<int64_t>(first.accuracy.count);
  result.mape = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.mape; });
  result.median_ape = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.median_ape; });
  result.p95_ape = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.p95_ape; });
  result.within_1 = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.within_1; });
  result.within_5 = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.within_5; });
  result.within_10 = 100 * mean(rows, [](const FewShotRow& r) { return r.accuracy.within_10; });
  result.within_10_spread =
      100 * spread(rows, [](const FewShotRow& r) { return r.accuracy.within_10; });
  result.mape_spread = 100 * spread(rows, [](const FewShotRow& r) { return r.accuracy.mape; });
  result.spearman = if_known(mean(rows, [](const FewShotRow& r) { return r.accuracy.spearman; }));
  result.kendall = if_known(mean(rows, [](const FewShotRow& r) { return r.accuracy.kendall; }));
  if (!first.coverage.empty()) {
    for (size_t level = 0; level < std::size(kLevels); ++level) {
      double sum = 0;
      for (const FewShotRow* row : rows) sum += row->coverage[level];
      result.coverage.push_back(100 * sum / static_cast<double>(rows.size()));
    }
    result.half_width_90 =
        if_known(mean(rows, [](const FewShotRow& r) { return r.half_width[2]; }), 100);
    result.smoother_share =
        if_known(mean(rows, [](const FewShotRow& r) { return r.smoother_share; }));
  }
  result.seconds = mean(rows, [](const FewShotRow& r) { return r.seconds; });
  const auto of_range = [&](double (*get)(const FewShotRow&), double scale) {
    return if_known(mean(rows, get), scale);
  };
  result.auroc = of_range([](const FewShotRow& r) { return r.range.auroc; }, 1);
  result.flagged_known = of_range([](const FewShotRow& r) { return r.range.flagged_known; }, 100);
  result.flagged_left_out =
      of_range([](const FewShotRow& r) { return r.range.flagged_left_out; }, 100);
  result.median_ape_known =
      of_range([](const FewShotRow& r) { return r.range.median_ape_known; }, 100);
  result.coverage_90_known =
      of_range([](const FewShotRow& r) { return r.range.coverage_90_known; }, 100);
  result.half_width_90_known =
      of_range([](const FewShotRow& r) { return r.range.half_width_90_known; }, 100);
  return result;
}

// Rows of one table line; where spaces were left out, also the mean over them.
FewShotTable summarise(std::span<const FewShotRow> rows) {
  using Line =
      std::tuple<std::string, std::string, size_t, size_t, std::string, std::string, std::string>;
  constexpr const char* kAllSpaces = "each";
  std::map<Line, std::map<std::string, std::vector<const FewShotRow*>>> groups;
  for (const FewShotRow& row : rows)
    for (const std::string& left_out : row.left_out.empty()
                                           ? std::vector<std::string>{""}
                                           : std::vector<std::string>{row.left_out, kAllSpaces})
      groups[{row.set, row.quantity, row.n, row.own, row.draw, row.model, left_out}][row.device]
          .push_back(&row);
  FewShotTable table;
  for (const auto& [key, boards] : groups) {
    const auto add = [&](const std::vector<const FewShotRow*>& members, const std::string& device) {
      table.rows.push_back(summary(members, device));
      table.rows.back().left_out = std::get<6>(key);
    };
    std::vector<const FewShotRow*> all;
    for (const auto& [device, members] : boards)
      all.insert(all.end(), members.begin(), members.end());
    if (boards.size() > 1) add(all, "mean");
    // Of a hundred boards the mean says enough; their rows are in the results file.
    constexpr size_t kMostBoards = 20;
    if (boards.size() > kMostBoards) continue;
    for (const auto& [device, members] : boards) add(members, device);
  }
  return table;
}

Result<std::vector<MeasuredSet>> load_sets(const Context& context, const Protocol& protocol,
                                           const ProtocolRequest& request) {
  std::vector<MeasuredSet> sets;
  for (const std::string& id : protocol.sets) {
    if (!chosen(request.sets, id)) continue;
    if (id == kNcnn) {
      EDGESAGE_ASSIGN_OR_RETURN(MeasuredSet set, load_ncnn_set(request.data, request.threads));
      sets.push_back(std::move(set));
      continue;
    }
    EDGESAGE_ASSIGN_OR_RETURN(MeasuredSet set,
                              load_published_set(id, request.data, request.threads,
                                                 static_cast<size_t>(request.most_rows),
                                                 [&](int64_t done, int64_t total) {
                                                   context.report(done, total,
                                                                  "building the networks of " + id);
                                                 }));
    sets.push_back(std::move(set));
  }
  if (!protocol.sets.empty()) return sets;
  for (const std::filesystem::path& file : request.labels) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> labels, read_labels(file));
    if (labels.empty())
      return make_error(ErrorCode::kInvalidArgument, file.string(), "the file has no labels");
    EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context, labels.front().device));
    EDGESAGE_ASSIGN_OR_RETURN(
        MeasuredSet set,
        load_labelled_set({&file, 1}, target, Quantity::kLatencyMs, request.threads,
                          [&](int64_t done, int64_t total) {
                            context.report(done, total,
                                           "building the networks of " + labels.front().device);
                          }));
    sets.push_back(std::move(set));
  }
  return sets;
}

// The run without the models that `done` knows. A teacher is fitted for its pupil all the same.
template <class Done>
FewShotRun without_done(const FewShotRun& run, const Done& done) {
  FewShotRun missing = run;
  missing.taught = run.taught && !done("taught");
  missing.brp_nas = run.brp_nas && !done("brp-nas");
  missing.process = missing.taught || (run.process && !done("process"));
  std::erase_if(missing.controls, done);
  return missing;
}

bool nothing_in(const FewShotRun& run) {
  return !run.process && !run.taught && !run.brp_nas && run.controls.empty();
}

// Every board of the set with enough networks.
Status run_boards(const Context& context, const MeasuredSet& set, const ProtocolRequest& request,
                  const FewShotRun& run, std::vector<FewShotRow>& rows) {
  constexpr int64_t kLeastNetworks = 25;
  const DeviceLibrary library = make_device_library(
      set.pool.few_shot[0], static_cast<int32_t>(request.devices), request.seed, request.threads);
  for (size_t b = 0; b < set.boards.size(); ++b) {
    const MeasuredSet::Board& board = set.boards[b];
    context.report(static_cast<int64_t>(b), static_cast<int64_t>(set.boards.size()), board.device);
    const auto measured = std::count_if(board.labels.begin(), board.labels.end(),
                                        [](double label) { return !std::isnan(label); });
    if (measured < kLeastNetworks || !chosen(request.boards, board.device)) continue;
    const FewShotRun missing = without_done(run, [&](const std::string& model) {
      return std::any_of(rows.begin(), rows.end(), [&](const FewShotRow& row) {
        return row.set == set.id && row.device == board.device && row.model == model;
      });
    });
    if (nothing_in(missing)) continue;
    if (context.stop_wanted()) return {};
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<FewShotRow> fresh,
                              run_leave_group_out(set, b, library, missing));
    rows.insert(rows.end(), fresh.begin(), fresh.end());
    if (!request.results.empty())
      EDGESAGE_RETURN_IF_ERROR(write_few_shot_rows(rows, request.results));
  }
  return {};
}

FewShotRun run_of(const MeasuredSet& set, const Protocol& protocol,
                  const ProtocolRequest& request) {
  FewShotRun run;
  run.options.threads = request.threads;
  run.without_twins = protocol.without_twins;
  run.options.closed_form = set.pool.dataset.target.is_npu();
  run.teach.threads = request.threads;
  // Smaller than what calibration ships, for a hundred draws: 48 units and 30 epochs are within the
  // seeds' noise of 64 and 90.
  run.teach.hidden = 48;
  // The verdict needs two networks to see them disagree.
  run.teach.members = protocol.own.empty() ? 1 : 2;
  run.teach.epochs = 30;
  run.pool = 2000;
  const std::vector<std::string>& models =
      request.models.empty() ? protocol.models : request.models;
  // Costly, so only by name.
  run.taught = chosen(models, "taught") && !models.empty();
  run.brp_nas = chosen(models, "brp-nas") && !models.empty() && brp_nas_learns(set);
  for (const std::string_view control : control_names())
    if (chosen(models, std::string(control))) run.controls.emplace_back(control);
  return run;
}

// Everything that one board is asked to learn.
std::vector<FewShotTask> tasks_of(const MeasuredSet& set, const Protocol& protocol,
                                  const ProtocolRequest& request) {
  const std::vector<int64_t>& counts = request.counts.empty() ? protocol.counts : request.counts;
  const int64_t seeds = request.seeds > 0 ? request.seeds : protocol.seeds;
  const std::vector<std::string>& draws = request.draws.empty() ? protocol.draws : request.draws;
  std::vector<FewShotTask> tasks;
  for (const int64_t count : counts) {
    for (int64_t seed = request.first_seed; seed < request.first_seed + seeds; ++seed) {
      for (const std::string& draw : draws) {
        FewShotTask task{.n = static_cast<size_t>(count),
                         .seed = static_cast<uint64_t>(seed),
                         .chosen = draw == "chosen"};
        if (protocol.own.empty()) tasks.push_back(task);
        for (const std::string& space :
             protocol.own.empty() ? std::vector<std::string>() : spaces_of(set)) {
          task.left_out = space;
          for (const size_t own : protocol.own) {
            task.own = own;
            tasks.push_back(task);
          }
        }
      }
    }
  }
  return tasks;
}

// The draws of one set; rows are written after each.
Status run_set(const Context& context, const MeasuredSet& set, const Protocol& protocol,
               const ProtocolRequest& request, std::vector<FewShotRow>& rows) {
  const FewShotRun run = run_of(set, protocol, request);
  if (set.id == kNcnn) return run_boards(context, set, request, run, rows);
  std::map<DrawKey, bool> done;
  for (const FewShotRow& row : rows) done[key_of(row)] = true;

  const std::vector<FewShotTask> tasks = tasks_of(set, protocol, request);
  std::map<size_t, DeviceLibrary> libraries;  // by quantity of the pool
  int64_t step = 0;
  const auto total = static_cast<int64_t>(set.boards.size() * tasks.size());
  for (size_t b = 0; b < set.boards.size(); ++b) {
    const MeasuredSet::Board& board = set.boards[b];
    for (const FewShotTask& task : tasks) {
      context.report(++step, total,
                     fmt::format("{}: {} from {} labels", set.id, board.device, task.n));
      FewShotRow wanted{
          .set = set.id,
          .device = board.device,
          .quantity = std::string(quantity_name(set.pool.dataset.quantities[board.quantity])),
          .draw = task.chosen ? "chosen" : "random",
          .n = task.n + task.own,
          .seed = task.seed,
          .left_out = task.left_out,
          .own = task.own};
      const FewShotRun missing = without_done(run, [&](const std::string& model) {
        wanted.model = model;
        return done.contains(key_of(wanted));
      });
      if (nothing_in(missing) || !chosen(request.boards, board.device)) continue;
      if (context.stop_wanted()) return {};
      if (!libraries.contains(board.quantity))
        libraries[board.quantity] = make_device_library(set.pool.few_shot[board.quantity],
                                                        static_cast<int32_t>(request.devices),
                                                        request.seed, request.threads);
      EDGESAGE_ASSIGN_OR_RETURN(std::vector<FewShotRow> fresh,
                                run_few_shot(set, b, libraries.at(board.quantity), task, missing));
      for (FewShotRow& row : fresh)
        if (!done.contains(key_of(row))) rows.push_back(std::move(row));
      if (!request.results.empty())
        EDGESAGE_RETURN_IF_ERROR(write_few_shot_rows(rows, request.results));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const Protocol& protocol : protocols()) names.push_back(protocol.name);
  return names;
}

bool takes_label_files(const std::string& protocol) {
  return std::ranges::any_of(protocols(), [&](const Protocol& entry) {
    return entry.name == protocol && entry.sets.empty();
  });
}

Result<FewShotTable> evaluate_protocol(const Context& context, const ProtocolRequest& request) {
  const auto& all = protocols();
  const auto protocol = std::find_if(all.begin(), all.end(), [&](const Protocol& entry) {
    return entry.name == request.protocol;
  });
  if (protocol == all.end())
    return make_error(ErrorCode::kInvalidArgument, request.protocol,
                      fmt::format("not a protocol; one of {}", join(protocol_names(), ", ")));
  std::vector<FewShotRow> rows;
  if (!request.results.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(rows, read_few_shot_rows(request.results));
    // Two runs into one file may have left a draw twice.
    std::set<DrawKey> seen;
    std::erase_if(rows, [&](const FewShotRow& row) { return !seen.insert(key_of(row)).second; });
  }
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<MeasuredSet> sets,
                            load_sets(context, *protocol, request));
  for (const MeasuredSet& set : sets)
    EDGESAGE_RETURN_IF_ERROR(run_set(context, set, *protocol, request, rows));
  return summarise(rows);
}

}  // namespace edgesage::app
