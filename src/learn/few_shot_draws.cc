#include "src/learn/few_shot_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "src/base/rng.h"
#include "src/learn/choose.h"

namespace edgesage {
namespace {

const std::string& space_of(const MeasuredSet& set, size_t row) {
  return set.pool.dataset.examples[set.rows[row].network].space;
}

std::vector<size_t> first_of(std::span<const size_t> rows, size_t from, size_t count) {
  const size_t begin = std::min(from, rows.size()), end = std::min(begin + count, rows.size());
  return {rows.begin() + static_cast<ptrdiff_t>(begin), rows.begin() + static_cast<ptrdiff_t>(end)};
}

// The rows in another order: first those whose networks `sample` would name.
std::vector<size_t> chosen_first(const MeasuredSet& set, const DeviceLibrary& library,
                                 std::span<const size_t> rows, size_t count, uint64_t seed) {
  std::vector<Eigen::Index> networks;
  std::vector<size_t> spaces;
  std::map<std::string, size_t> numbers;
  for (const size_t row : rows) {
    networks.push_back(static_cast<Eigen::Index>(set.rows[row].network));
    spaces.push_back(numbers.emplace(space_of(set, row), numbers.size()).first->second);
  }
  const std::vector<size_t> chosen =
      choose_first(library.components(networks, Eigen::all), count, spaces, seed);
  std::vector<bool> taken(rows.size(), false);
  std::vector<size_t> ordered;
  for (const size_t at : chosen) {
    taken[at] = true;
    ordered.push_back(rows[at]);
  }
  for (size_t at = 0; at < rows.size(); ++at)
    if (!taken[at]) ordered.push_back(rows[at]);
  return ordered;
}

}  // namespace

FewShotDraw draw_rows(const MeasuredSet& set, size_t board, const DeviceLibrary& library,
                      const FewShotTask& task, bool without_twins) {
  std::vector<size_t> others, own;
  for (size_t r = 0; r < set.rows.size(); ++r)
    if (!std::isnan(set.boards[board].labels[r]))
      (!task.left_out.empty() && space_of(set, r) == task.left_out ? own : others).push_back(r);
  Rng rng(task.seed, "few-shot draw");
  rng.shuffle(others);
  rng.shuffle(own);
  if (task.chosen) others = chosen_first(set, library, others, task.n, task.seed);

  FewShotDraw draw;
  draw.train = first_of(others, 0, task.n);
  std::unordered_set<size_t> seen;
  const auto add_unseen = [&](std::span<const size_t> rows, std::vector<size_t>& to) {
    for (const size_t r : rows)
      if (!without_twins || !seen.contains(set.rows[r].group)) to.push_back(r);
    std::sort(to.begin(), to.end());
  };
  const auto see = [&](std::span<const size_t> rows) {
    for (const size_t r : rows) seen.insert(set.rows[r].group);
  };
  if (task.left_out.empty()) {
    see(draw.train);
    add_unseen(first_of(others, task.n, others.size()), draw.test);
    return draw;
  }
  const std::vector<size_t> tested = first_of(own, kMostOwn, own.size());
  const std::vector<size_t> known = first_of(own, 0, std::min(task.own, kMostOwn));
  draw.train.insert(draw.train.end(), known.begin(), known.end());
  see(draw.train);
  add_unseen(tested, draw.test);
  add_unseen(first_of(others, task.n, tested.size()), draw.in_space);
  see(draw.in_space);
  add_unseen(first_of(others, task.n + tested.size(), others.size()), draw.unlabelled);
  return draw;
}

std::vector<std::string> spaces_of(const MeasuredSet& set) {
  std::vector<std::string> spaces;
  for (const Example& example : set.pool.dataset.examples) spaces.push_back(example.space);
  std::sort(spaces.begin(), spaces.end());
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  return spaces;
}

}  // namespace edgesage
