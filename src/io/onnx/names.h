// Names of values: one meaning each, and nodes in an order in which they can run.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

#include "edgesage/result.h"
#include "src/io/onnx/model.h"
#include "src/io/onnx/parsed_file.h"

namespace edgesage::onnx {

// Makes names that no value of a file has.
class FreshNames {
 public:
  explicit FreshNames(ParsedFile& file) : file_(&file) {}
  // `wanted`, or with a number behind it where that is taken. Lives as long as the model.
  std::string_view make(std::string wanted);

 private:
  void collect();

  ParsedFile* file_;
  std::unordered_set<std::string_view> taken_;
  bool collected_ = false;
  int64_t next_ = 2;
};

// In the graphs of the model and of all functions:
// - A value written again, or hiding one of a graph around, gets a name of its own; reads follow
//   the last writer before them in the file, outputs the last of all.
// - Nodes are sorted where one reads what a later one makes; the order is kept otherwise.
// - Main graph inputs that are initialisers are dropped from the inputs, initialisers that are
//   given twice from the initialisers (the last one counts).
// Errors (kBadModel): a name that nothing makes, nodes that need each other's results.
Status settle_names(ParsedFile& file, FreshNames& fresh, Oddities& oddities,
                    const std::string& name);

}  // namespace edgesage::onnx
