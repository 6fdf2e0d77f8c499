// Where published measurements are: files, columns, units, and how a row becomes a code.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/csv.h"
#include "src/features/priors.h"
#include "src/graph/graph.h"

namespace edgesage {

struct BoardColumn {
  std::string_view column, device;
  Quantity quantity = Quantity::kLatencyMs;
  double to_unit = 1;     // to the unit of the quantity
  double resolution = 0;  // in that unit; what is below was not the network
};

struct PublishedCodes {
  std::string_view id, description, file, space;
  DataType type = DataType::kFloat32;
  int64_t resolution = 0;  // of the image; 0: the space's own
  std::vector<BoardColumn> boards;
  std::function<Result<std::string>(const CsvTable&, size_t row)> code;
  // Rows with the same text are equal up to isomorphism; empty: by code.
  std::function<std::string(const CsvTable&, size_t row, const std::string& code)> group;
};

[[nodiscard]] std::span<const PublishedCodes> published_codes();

}  // namespace edgesage
