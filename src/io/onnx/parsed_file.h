// What the wire reader makes of a file, before names are settled and functions inlined.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/file.h"
#include "src/io/onnx/external_data.h"
#include "src/io/onnx/model.h"

namespace edgesage::onnx {

// A FunctionProto. Its nodes, inputs and outputs are those of a graph.
struct Function {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> attributes;  // those without a default
  std::vector<Attribute> defaults;
  std::vector<OperatorSet> opsets;
  int64_t since = 0;   // of the operator set "" inside of it
  int32_t graph = -1;  // in ParsedFile::graphs
};

struct ParsedFile {
  Model model;                       // without graphs
  std::deque<GraphTable> graphs;     // 0 is the main graph; bodies and functions follow
  std::vector<int32_t> function_of;  // per graph: in whose text it stands, -1: the model's
  std::vector<Function> functions;
  bool has_graph = false;
};

// Counts what is odd, to be told in one line each.
class Oddities {
 public:
  // `what` with "{}" for the count, and the first example behind it.
  void note(std::string_view what, std::string_view example);
  void append_to(std::vector<std::string>& warnings) const;

 private:
  struct Kind {
    std::string_view what;
    std::string example;
    int64_t count = 0;
  };
  std::vector<Kind> kinds_;
};

// Reads the wire format. Faults are kBadModel, `name` stands before them. With an open file,
// `bytes` are its mapping (heads.h).
[[nodiscard]] Result<ParsedFile> parse_file(std::span<const std::byte> bytes,
                                            const std::string& name, ExternalFiles& external,
                                            Oddities& oddities, const OpenFile* open);

}  // namespace edgesage::onnx
