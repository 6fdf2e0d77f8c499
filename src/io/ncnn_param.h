// The text of an ncnn .param file as a list of layers; ncnn_reader.h makes a Graph of it.
//
//   7767517
//   <layers> <blobs>
//   <type> <name> <inputs> <outputs> <input blobs...> <output blobs...> <id>=<value>...
//
// A value is a number; for ids -23300 - n it is the array of parameter n: count,value,value...
// Parameter 30, where it is there, holds the shapes of the outputs: rank, width, height, channels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// "7767517" on a line of its own begins the file.
[[nodiscard]] bool looks_like_ncnn(std::string_view text);

struct NcnnLayer {
  int64_t line = 0;  // of the file, from 1
  std::string type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<int, std::vector<double>> parameters;  // scalars have one value

  [[nodiscard]] bool has(int id) const { return parameters.contains(id); }
  // The first value, or `otherwise` where the parameter is absent.
  [[nodiscard]] int64_t integer(int id, int64_t otherwise) const;
  [[nodiscard]] double real(int id, double otherwise) const;
  [[nodiscard]] std::vector<int64_t> integers(int id) const;
};

struct NcnnParam {
  std::vector<NcnnLayer> layers;
  // Lines behind the last layer that the file's count covers: ncnn does not read them.
  int64_t ignored_lines = 0;
};

// Every blob that is read is made by a layer before, and once. kBadModel, naming the line, for
// everything else: fewer layers or other blobs than the file says, missing blobs, cycles, values
// that are no numbers. Time: linear in the text.
[[nodiscard]] Result<NcnnParam> parse_ncnn_param(std::string_view text, std::string_view where);

}  // namespace edgesage
