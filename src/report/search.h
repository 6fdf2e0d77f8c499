// A search's front as text, JSON and a page.
#pragma once

#include <string>

#include "edgesage/search.h"

namespace edgesage::report {

[[nodiscard]] std::string search_text(const SearchReport& report);
[[nodiscard]] std::string search_json(const SearchReport& report);
// Self-contained: the front (hover a point for its genes, layers, predicted and measured costs),
// the course of the search, and the staircase of each gene.
[[nodiscard]] std::string search_html(const SearchReport& report);

}  // namespace edgesage::report
