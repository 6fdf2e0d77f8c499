#include "src/io/onnx/convert_view.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace edgesage::onnx::convert {
namespace {

int64_t product(std::span<const int64_t> sizes) {
  Tensor tensor;
  tensor.shape.assign(sizes.begin(), sizes.end());
  return tensor.element_count();
}

int64_t times(int64_t a, int64_t b) { return product(std::array{a, b}); }  // saturates

// Where each stored dimension ends among the atoms; empty where they do not line up.
std::optional<std::vector<size_t>> line_up(std::span<const int64_t> atoms, const Shape& stored) {
  std::vector<size_t> ends;
  size_t at = 0;
  for (const int64_t side : stored) {
    int64_t taken = 1;
    while (taken != side && at < atoms.size() && times(taken, atoms[at]) <= side)
      taken = times(taken, atoms[at++]);
    if (taken != side) return std::nullopt;
    ends.push_back(at);
  }
  if (at != atoms.size()) return std::nullopt;
  return ends;
}

}  // namespace

DimOrder plain_order(size_t rank) {
  DimOrder order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

DimOrder image_order(size_t rank) {
  if (rank < 3) return plain_order(rank);
  if (rank == 3) return {0, kNoDim, 2, 1};
  DimOrder order{0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<int32_t>(i));
  order.push_back(1);
  return order;
}

View::View(const Shape& shape, const DimOrder& order) {
  std::vector<int32_t> atom_of(shape.size(), -1);
  for (const int32_t dim : order) {
    if (dim == kNoDim || shape[static_cast<size_t>(dim)] == 1) continue;
    atom_of[static_cast<size_t>(dim)] = static_cast<int32_t>(atoms_.size());
    atoms_.push_back(shape[static_cast<size_t>(dim)]);
  }
  for (const int32_t atom : atom_of) {
    if (atom >= 0) sequence_.push_back(atom);
    ends_.push_back(static_cast<int32_t>(sequence_.size()));
  }
}

View View::plain(const Shape& shape) {
  View view;
  for (const int64_t side : shape) {
    if (side != 1) {
      view.sequence_.push_back(static_cast<int32_t>(view.atoms_.size()));
      view.atoms_.push_back(side);
    }
    view.ends_.push_back(static_cast<int32_t>(view.atoms_.size()));
  }
  return view;
}

Shape View::shape() const {
  Shape shape;
  for (size_t i = 0; i < rank(); ++i) {
    int64_t side = 1;
    for (const int32_t atom : atoms_of(i)) side = times(side, atoms_[static_cast<size_t>(atom)]);
    shape.push_back(side);
  }
  return shape;
}

Shape View::stored_shape(const DimOrder& order) const {
  const Shape sides = shape();
  Shape stored;
  for (const int32_t d : order) stored.push_back(d == kNoDim ? 1 : sides[static_cast<size_t>(d)]);
  return stored;
}

View View::transposed(std::span<const int64_t> order) const {
  View view;
  view.atoms_ = atoms_;
  for (const int64_t from : order) {
    const auto atoms = atoms_of(static_cast<size_t>(from));
    view.sequence_.insert(view.sequence_.end(), atoms.begin(), atoms.end());
    view.ends_.push_back(static_cast<int32_t>(view.sequence_.size()));
  }
  return view;
}

bool View::is_plain() const {
  for (size_t i = 0; i < sequence_.size(); ++i)
    if (sequence_[i] != static_cast<int32_t>(i)) return false;
  return true;
}

std::optional<View> View::reshaped(const Shape& shape) const {
  if (is_plain()) return View::plain(shape);
  if (product(atoms_) == 0) return std::nullopt;
  // Factors of each atom, outermost first, and how many of them each new dimension takes.
  std::vector<std::vector<int64_t>> factors(atoms_.size());
  std::vector<int32_t> taken;
  size_t at = 0;
  int64_t left = sequence_.empty() ? 1 : atoms_[static_cast<size_t>(sequence_[0])];
  for (const int64_t side : shape) {
    int32_t count = 0;
    for (int64_t need = side; need != 1; ++count) {
      if (at == sequence_.size() || need <= 0) return std::nullopt;
      std::vector<int64_t>& parts = factors[static_cast<size_t>(sequence_[at])];
      if (need % left == 0) {
        parts.push_back(left);
        need /= left;
        if (++at < sequence_.size()) left = atoms_[static_cast<size_t>(sequence_[at])];
      } else if (left % need == 0) {
        parts.push_back(need);
        left /= need;
        need = 1;
      } else {
        return std::nullopt;
      }
    }
    taken.push_back(count);
  }
  if (at != sequence_.size()) return std::nullopt;
  View view;
  std::vector<int32_t> first(atoms_.size());
  for (size_t atom = 0; atom < atoms_.size(); ++atom) {
    first[atom] = static_cast<int32_t>(view.atoms_.size());
    view.atoms_.insert(view.atoms_.end(), factors[atom].begin(), factors[atom].end());
  }
  for (const int32_t atom : sequence_)
    for (size_t i = 0; i < factors[static_cast<size_t>(atom)].size(); ++i)
      view.sequence_.push_back(first[static_cast<size_t>(atom)] + static_cast<int32_t>(i));
  int32_t end = 0;
  for (const int32_t count : taken) view.ends_.push_back(end += count);
  return view;
}

std::optional<DimOrder> View::order_in(const Shape& stored) const {
  const auto ends = line_up(atoms_, stored);
  if (!ends) return std::nullopt;
  DimOrder order(stored.size(), kNoDim);
  std::vector<bool> placed(rank(), false);
  for (size_t d = 0; d < rank(); ++d) {
    const auto atoms = atoms_of(d);
    if (atoms.empty()) continue;
    for (size_t i = 1; i < atoms.size(); ++i)
      if (atoms[i] != atoms[i - 1] + 1) return std::nullopt;
    const auto begin = static_cast<size_t>(atoms.front());
    const size_t end = static_cast<size_t>(atoms.back()) + 1;
    // A stored dimension that holds exactly these atoms.
    size_t s = 0;
    while (s < stored.size() && (*ends)[s] <= begin) ++s;
    if (s == stored.size() || (*ends)[s] != end || (s > 0 ? (*ends)[s - 1] : 0) != begin)
      return std::nullopt;
    order[s] = static_cast<int32_t>(d);
    placed[d] = true;
  }
  // Sides of 1 lie wherever there is one, in their own order.
  size_t s = 0;
  for (size_t d = 0; d < rank(); ++d) {
    if (placed[d]) continue;
    while (s < stored.size() && (order[s] != kNoDim || stored[s] != 1)) ++s;
    if (s == stored.size()) return std::nullopt;
    order[s++] = static_cast<int32_t>(d);
  }
  return order;
}

View::Move View::plan_move(const Shape& stored, const DimOrder& order) const {
  std::vector<DimOrder> groups;
  for (const int32_t d : order) groups.push_back(d == kNoDim ? DimOrder{} : DimOrder{d});
  return plan_move(stored, groups);
}

View::Move View::plan_move(const Shape& stored, std::span<const DimOrder> groups) const {
  Move move;
  Shape target;
  std::vector<int32_t> wanted;                     // atoms in the order asked for
  std::vector<size_t> group_of(atoms_.size(), 0);  // of each atom
  std::vector<size_t> place(atoms_.size(), 0);     // in `wanted`
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t side = 1;
    for (const int32_t d : groups[g])
      for (const int32_t atom : atoms_of(static_cast<size_t>(d))) {
        const auto a = static_cast<size_t>(atom);
        side = times(side, atoms_[a]);
        group_of[a] = g;
        place[a] = wanted.size();
        wanted.push_back(atom);
      }
    target.push_back(side);
  }
  if (std::ranges::is_sorted(wanted)) {
    if (target != stored) move.target = std::move(target);
    return move;
  }
  // Runs of atoms that stay together within a stored and within a target dimension: what moves.
  const auto ends = line_up(atoms_, stored);
  Shape split;
  std::vector<size_t> cell_of_split;  // kNone for a side of 1
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> first_atom;  // of each cell
  const auto add_cells = [&](size_t begin, size_t end) {
    for (size_t a = begin; a < end; ++a) {
      const bool joins =
          a > begin && group_of[a] == group_of[a - 1] && place[a] == place[a - 1] + 1;
      if (joins) {
        split.back() = times(split.back(), atoms_[a]);
        continue;
      }
      cell_of_split.push_back(first_atom.size());
      first_atom.push_back(a);
      split.push_back(atoms_[a]);
    }
  };
  if (ends) {
    size_t begin = 0;
    for (const size_t end : *ends) {
      if (begin == end) {
        split.push_back(1);
        cell_of_split.push_back(kNone);
      }
      add_cells(begin, end);
      begin = end;
    }
  } else {
    add_cells(0, atoms_.size());
  }
  // Target dimension by target dimension its cells; sides of 1 keep a side of 1 where there is one.
  std::vector<bool> used(split.size(), false);
  Shape turned;
  const auto take = [&](size_t s) {
    used[s] = true;
    move.permutation.push_back(static_cast<int64_t>(s));
    turned.push_back(split[s]);
  };
  const auto take_one = [&] {
    for (size_t s = 0; s < split.size(); ++s)
      if (!used[s] && cell_of_split[s] == kNone) return take(s);
  };
  std::vector<size_t> split_at(atoms_.size(), kNone);
  for (size_t s = 0; s < split.size(); ++s)
    if (cell_of_split[s] != kNone) split_at[first_atom[cell_of_split[s]]] = s;
  size_t next = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    bool any = false;
    for (; next < wanted.size() && group_of[static_cast<size_t>(wanted[next])] == g; ++next) {
      any = true;
      const size_t s = split_at[static_cast<size_t>(wanted[next])];
      if (s != kNone) take(s);
    }
    if (!any) take_one();
  }
  for (size_t s = 0; s < split.size(); ++s)
    if (!used[s]) take(s);
  if (split != stored) move.split = std::move(split);
  if (turned != target) move.target = std::move(target);
  return move;
}

bool View::leads_with(size_t count) const {
  const auto leading = static_cast<size_t>(count == 0 ? 0 : ends_[count - 1]);
  for (size_t i = 0; i < leading; ++i)
    if (sequence_[i] != static_cast<int32_t>(i)) return false;
  return true;
}

View View::with_tail_as_stored() const {
  View view = *this;
  if (view.ends_.empty()) return view;
  const int32_t begin = view.ends_.size() > 1 ? view.ends_[view.ends_.size() - 2] : 0;
  std::sort(view.sequence_.begin() + begin, view.sequence_.end());
  return view;
}

}  // namespace edgesage::onnx::convert
