// TensorProto, SparseTensorProto and TypeProto of the wire format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/io/onnx/external_data.h"
#include "src/io/onnx/model.h"
#include "src/io/onnx/parsed_file.h"
#include "src/io/onnx/wire.h"

namespace edgesage::onnx {

// A TensorProto's fields as they came; messages that belong to one tensor are merged.
struct TensorFields {
  Constant constant;
  // Encoded numbers of float_data, int32_data, int64_data, double_data and uint64_data.
  std::array<std::vector<std::string_view>, 5> numbers;
  std::optional<std::string_view> raw;
  std::vector<std::pair<std::string_view, std::string_view>> external;
  bool is_external = false;
  bool is_segment = false;
};

class TensorParser {
 public:
  TensorParser(ExternalFiles& external, Oddities& oddities)
      : external_(&external), oddities_(&oddities) {}

  // Adds the message's fields.
  void read(Message message, TensorFields& fields);
  // Checks and converts what was read; a fault is one of the field `place` is at.
  Constant finish(TensorFields fields, Message& place);
  // A SparseTensorProto: its name, type and dense dimensions.
  Constant read_sparse(Message message);

 private:
  void attach_external(const TensorFields& fields, Constant& constant, Message& place);
  void convert(const TensorFields& fields, Constant& constant, Message& place);

  ExternalFiles* external_;
  Oddities* oddities_;
};

// A TypeProto, merged into `type`.
void read_type(Message message, ValueType& type);

}  // namespace edgesage::onnx
