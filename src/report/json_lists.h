// JSON documents with lists too long to be held as JSON: a hundred thousand operators are gigabytes
// of small allocations, and their text is megabytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "src/base/json.h"

namespace edgesage::report {

// The lists of one document. What `entry` refers to must live until to_text().
class LongLists {
 public:
  // Stands in the document for a list of `size` entries, as the value of a key.
  [[nodiscard]] Json add(size_t size, std::function<Json(size_t)> entry);
  // The document as to_text(document, 2) writes it, with the lists in their places: those that were
  // added first come first in the document. One entry is held at a time.
  [[nodiscard]] std::string to_text(const Json& document) const;

 private:
  struct List {
    size_t size;
    std::function<Json(size_t)> entry;
  };
  std::vector<List> lists_;
};

}  // namespace edgesage::report
