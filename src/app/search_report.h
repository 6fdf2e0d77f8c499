// Points of a search in words, measured and as files.
#pragma once

#include <vector>

#include "edgesage/search.h"
#include "src/app/search_costs.h"

namespace edgesage::app {

[[nodiscard]] std::vector<SearchGene> describe_genes(const PruningSpace& space);

// Indexes of the `count` points that together cover most of the front's hypervolume, the one that
// covers most alone first. Objectives are minimised.
[[nodiscard]] std::vector<size_t> most_interesting(std::span<const std::vector<double>> objectives,
                                                   size_t count);

class SearchPoints {
 public:
  SearchPoints(const Context& context, const SearchRequest& request, const PruningSpace& space,
               SearchCosting& costing)
      : context_(context), request_(request), space_(space), costing_(costing) {}

  [[nodiscard]] Result<SearchPoint> describe(const Genome& genome);
  // Measures `confirm` points of the front and the original, and writes `keep` as files. The
  // network of the base genome is written as the original's own bytes.
  [[nodiscard]] Status confirm_and_write(const std::vector<Genome>& front, SearchReport& report);

 private:
  [[nodiscard]] std::vector<SearchLayer> layers_of(const Genome& genome) const;
  Status write(const Genome& genome, SearchPoint& point) const;

  const Context& context_;
  const SearchRequest& request_;
  const PruningSpace& space_;
  SearchCosting& costing_;
};

}  // namespace edgesage::app
