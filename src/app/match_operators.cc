#include "src/app/match_operators.h"

#include <algorithm>
#include <span>

namespace edgesage::app {
namespace {

using Operators = std::span<const InspectedOperator>;
using Pairs = std::vector<std::pair<int32_t, int32_t>>;

constexpr size_t kCells = size_t{64} << 20;

bool same_tensors(const std::vector<InspectedTensor>& a, const std::vector<InspectedTensor>& b) {
  return std::ranges::equal(a, b, [](const InspectedTensor& one, const InspectedTensor& other) {
    return one.shape == other.shape && one.type == other.type &&
           one.is_constant == other.is_constant;
  });
}

// 0: cannot be paired. A pair of the same kind is worth more than any likeness of another one.
int likeness(const InspectedOperator& a, const InspectedOperator& b) {
  if (a.kind != b.kind || a.custom_code != b.custom_code) return 0;
  int score = 8;
  if (same_tensors(a.outputs, b.outputs)) score += 2;
  if (same_tensors(a.inputs, b.inputs)) score += 2;
  if (!a.name.empty() && a.name == b.name) score += 3;
  return score;
}

enum Step : uint8_t { kBoth, kSkipA, kSkipB };

void align(Operators a, Operators b, int32_t first_a, int32_t first_b, Pairs& out) {
  const size_t columns = b.size() + 1;
  std::vector<uint8_t> steps((a.size() + 1) * columns, kSkipB);
  // Scores of the ends of both, from the back, so that the steps are read forwards.
  std::vector<int> below(columns, 0), row(columns, 0);
  for (size_t i = a.size(); i-- > 0;) {
    row[b.size()] = 0;
    steps[i * columns + b.size()] = kSkipA;
    for (size_t j = b.size(); j-- > 0;) {
      const int pair = likeness(a[i], b[j]);
      int best = below[j];
      Step step = kSkipA;
      if (row[j + 1] > best) {
        best = row[j + 1];
        step = kSkipB;
      }
      if (pair > 0 && below[j + 1] + pair >= best) {
        best = below[j + 1] + pair;
        step = kBoth;
      }
      row[j] = best;
      steps[i * columns + j] = step;
    }
    std::swap(row, below);
  }
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const uint8_t step = steps[i * columns + j];
    out.emplace_back(step == kSkipB ? -1 : first_a + static_cast<int32_t>(i),
                     step == kSkipA ? -1 : first_b + static_cast<int32_t>(j));
    if (step != kSkipB) ++i;
    if (step != kSkipA) ++j;
  }
}

}  // namespace

bool is_same(const InspectedOperator& a, const InspectedOperator& b) {
  return a.kind == b.kind && a.custom_code == b.custom_code && a.macs == b.macs &&
         same_tensors(a.inputs, b.inputs) && same_tensors(a.outputs, b.outputs);
}

Pairs match_operators(const std::vector<InspectedOperator>& a,
                      const std::vector<InspectedOperator>& b) {
  const auto equal = [](const InspectedOperator& one, const InspectedOperator& other) {
    return one.name == other.name && is_same(one, other);
  };
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && equal(a[head], b[head])) ++head;
  while (tail < shorter - head && equal(a[a.size() - 1 - tail], b[b.size() - 1 - tail])) ++tail;
  Pairs pairs;
  for (size_t i = 0; i < head; ++i)
    pairs.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(i));
  const size_t a_left = a.size() - head - tail, b_left = b.size() - head - tail;
  size_t parts = 1;
  while ((a_left / parts + 1) * (b_left / parts + 1) > kCells) ++parts;
  for (size_t part = 0; part < parts; ++part) {
    const size_t a_first = head + a_left * part / parts, b_first = head + b_left * part / parts;
    const size_t a_end = head + a_left * (part + 1) / parts;
    const size_t b_end = head + b_left * (part + 1) / parts;
    align(Operators(a).subspan(a_first, a_end - a_first),
          Operators(b).subspan(b_first, b_end - b_first), static_cast<int32_t>(a_first),
          static_cast<int32_t>(b_first), pairs);
  }
  for (size_t i = tail; i-- > 0;)
    pairs.emplace_back(static_cast<int32_t>(a.size() - 1 - i),
                       static_cast<int32_t>(b.size() - 1 - i));
  return pairs;
}

}  // namespace edgesage::app
