// Which networks a few-shot protocol learns from, and which it is judged on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/learn/few_shot.h"
#include "src/learn/measured_set.h"

namespace edgesage {

struct FewShotTask {
  size_t n = 100;  // labels
  uint64_t seed = 0;
  // Networks that `edgesage sample` would name in place of random ones.
  bool chosen = false;
  // A space of which only `own` networks are learnt from, beside the `n` of other spaces. Empty: no
  // space is treated apart.
  std::string left_out;
  size_t own = 0;
};

// Rows of the set. A network is in one of these at most.
struct FewShotDraw {
  std::vector<size_t> train, test;
  // Of a task that leaves a space out: networks of the other spaces that are not tested, so that
  // they may be known without a label.
  std::vector<size_t> unlabelled;
  // The same, of what is tested: networks of other spaces, as many as there are of the left out one
  // where there are so many. Their union is the half-and-half mix on which a range is judged.
  std::vector<size_t> in_space;
};

// Networks of the left-out space that are never tested, so that the test is the same for every
// number of own networks up to this.
inline constexpr size_t kMostOwn = 30;

// N labelled rows of a board by a seed, and what they are judged on: all other measured rows, or,
// with `without_twins`, those that are not equal to a training network up to isomorphism. The rows
// of a larger N contain those of a smaller one, where they are random. With a left-out space, what
// is judged on is that space.
[[nodiscard]] FewShotDraw draw_rows(const MeasuredSet& set, size_t board,
                                    const DeviceLibrary& library, const FewShotTask& task,
                                    bool without_twins);

// Spaces of the set's networks, by name.
[[nodiscard]] std::vector<std::string> spaces_of(const MeasuredSet& set);

}  // namespace edgesage
