// Standard problems of multi-objective search, on grids of integers.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "src/search/problem.h"

namespace edgesage::search::test {

// ZDT: Zitzler, Deb and Thiele, 2000. DTLZ: Deb, Thiele, Laumanns and Zitzler, 2002.
enum class Standard { kZdt1, kZdt2, kZdt3, kDtlz2 };

struct StandardProblem {
  Standard kind = Standard::kZdt1;
  int variables = 12;
  int32_t values = 64;  // of each variable

  [[nodiscard]] size_t objectives() const { return kind == Standard::kDtlz2 ? 3 : 2; }
  [[nodiscard]] std::vector<double> reference() const {
    return kind == Standard::kDtlz2 ? std::vector<double>{2, 2, 2} : std::vector<double>{1.1, 6};
  }
  [[nodiscard]] std::vector<double> operator()(const std::vector<double>& x) const {
    const size_t n = x.size();
    if (kind == Standard::kDtlz2) {
      double g = 0;
      for (size_t i = 2; i < n; ++i) g += (x[i] - 0.5) * (x[i] - 0.5);
      const double half_pi = std::numbers::pi / 2;
      return {(1 + g) * std::cos(x[0] * half_pi) * std::cos(x[1] * half_pi),
              (1 + g) * std::cos(x[0] * half_pi) * std::sin(x[1] * half_pi),
              (1 + g) * std::sin(x[0] * half_pi)};
    }
    double sum = 0;
    for (size_t i = 1; i < n; ++i) sum += x[i];
    const double g = 1 + 9 * sum / static_cast<double>(n - 1), f = x[0];
    double h = 1 - std::sqrt(f / g);
    if (kind == Standard::kZdt2) h = 1 - (f / g) * (f / g);
    if (kind == Standard::kZdt3) h -= f / g * std::sin(10 * std::numbers::pi * f);
    return {f, g * h};
  }
  [[nodiscard]] std::vector<double> of_integers(const std::vector<double>& genes) const {
    std::vector<double> x;
    for (const double gene : genes) x.push_back(gene / (values - 1));
    return (*this)(x);
  }
  [[nodiscard]] Problem problem() const {
    Problem problem;
    problem.counts.assign(static_cast<size_t>(variables), values);
    problem.evaluate = [*this](std::span<const Genome> genomes) {
      std::vector<Outcome> outcomes;
      for (const Genome& genome : genomes)
        outcomes.push_back({of_integers({genome.begin(), genome.end()}), 0});
      return Result<std::vector<Outcome>>(std::move(outcomes));
    };
    return problem;
  }
};

}  // namespace edgesage::search::test
