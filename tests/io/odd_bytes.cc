#include "tests/io/odd_bytes.h"

#include <numeric>
#include <span>

#include "src/graph/graph.h"
#include "tests/io/odd_files.h"
#include "tflite_generated.h"

namespace edgesage::test {
namespace {

namespace fb = flatbuffers;
using Bytes = std::vector<std::byte>;

Bytes finish(fb::FlatBufferBuilder& b, fb::Offset<tflite::Model> model) {
  tflite::FinishModelBuffer(b, model);
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Bytes with_codes(int dep, int code, bool absent) {
  fb::FlatBufferBuilder b;
  b.ForceDefaults(!absent);
  tflite::OperatorCodeBuilder op_code(b);
  if (!absent) {
    op_code.add_deprecated_builtin_code(static_cast<int8_t>(dep));
    op_code.add_builtin_code(static_cast<tflite::BuiltinOperator>(code));
  }
  const auto codes = b.CreateVector(std::vector{op_code.Finish()});
  const auto shape = b.CreateVector(std::vector<int32_t>{1, 2, 2, 1});
  std::vector<fb::Offset<tflite::Tensor>> tensor_list;
  for (int i = 0; i < 3; ++i)
    tensor_list.push_back(tflite::CreateTensor(b, shape, tflite::TensorType::FLOAT32));
  const auto tensors = b.CreateVector(tensor_list);
  const auto inputs = b.CreateVector(std::vector<int32_t>{0, 1});
  const auto outputs = b.CreateVector(std::vector<int32_t>{2});
  const auto ops = b.CreateVector(std::vector{tflite::CreateOperator(b, 0, inputs, outputs)});
  const auto subgraphs =
      b.CreateVector(std::vector{tflite::CreateSubGraph(b, tensors, inputs, outputs, ops)});
  const auto buffers = b.CreateVector(std::vector{tflite::CreateBuffer(b)});
  return finish(b, tflite::CreateModel(b, 3, codes, subgraphs, 0, buffers));
}

Bytes without_operators() {
  fb::FlatBufferBuilder b;
  const auto shape = b.CreateVector(std::vector<int32_t>{1, 4});
  const auto tensors = b.CreateVector(std::vector{tflite::CreateTensor(b, shape)});
  const auto ends = b.CreateVector(std::vector<int32_t>{0});
  const auto subgraphs =
      b.CreateVector(std::vector{tflite::CreateSubGraph(b, tensors, ends, ends)});
  return finish(b, tflite::CreateModel(b, 3, 0, subgraphs));
}

Bytes with_shape(const std::vector<int32_t>* shape) {
  fb::FlatBufferBuilder b;
  fb::Offset<fb::Vector<int32_t>> stored;
  if (shape != nullptr) stored = b.CreateVector(*shape);
  const auto tensor = tflite::CreateTensor(b, stored, tflite::TensorType::FLOAT32);
  const auto tensors = b.CreateVector(std::vector{tensor, tensor});
  const auto inputs = b.CreateVector(std::vector<int32_t>{0});
  const auto outputs = b.CreateVector(std::vector<int32_t>{1});
  const auto codes = b.CreateVector(std::vector{tflite::CreateOperatorCode(
      b, static_cast<int8_t>(OpKind::kAbs), 0, 1, tflite::BuiltinOperator::ABS)});
  const auto ops = b.CreateVector(std::vector{tflite::CreateOperator(b, 0, inputs, outputs)});
  const auto subgraphs =
      b.CreateVector(std::vector{tflite::CreateSubGraph(b, tensors, inputs, outputs, ops)});
  return finish(b, tflite::CreateModel(b, 3, codes, subgraphs));
}

Bytes all_types(bool with_unknown) {
  fb::FlatBufferBuilder b;
  const auto shape = b.CreateVector(std::vector<int32_t>{3});
  std::vector<fb::Offset<tflite::Tensor>> list;
  for (int type = 0; type <= static_cast<int>(tflite::TensorType::MAX); ++type)
    list.push_back(tflite::CreateTensor(b, shape, static_cast<tflite::TensorType>(type)));
  if (with_unknown)
    list.push_back(tflite::CreateTensor(b, shape, static_cast<tflite::TensorType>(99)));
  std::vector<int32_t> all(list.size());
  std::iota(all.begin(), all.end(), 0);
  const auto tensors = b.CreateVector(list);
  const auto inputs = b.CreateVector(all);
  const auto outputs = b.CreateVector(std::vector<int32_t>{0});
  const auto code = static_cast<int8_t>(OpKind::kPack);
  const auto codes = b.CreateVector(std::vector{
      tflite::CreateOperatorCode(b, code, 0, 1, static_cast<tflite::BuiltinOperator>(code))});
  const auto ops = b.CreateVector(std::vector{tflite::CreateOperator(b, 0, inputs, outputs)});
  const auto subgraphs =
      b.CreateVector(std::vector{tflite::CreateSubGraph(b, tensors, inputs, outputs, ops)});
  return finish(b, tflite::CreateModel(b, 3, codes, subgraphs));
}

std::vector<std::byte> with_outside_weights(int64_t bytes, int layers, int64_t offset) {
  fb::FlatBufferBuilder b;
  const auto units = static_cast<int32_t>(bytes / layers / 1000);
  const auto tensor = [&b](const std::vector<int32_t>& shape, uint32_t buffer) {
    const auto stored = b.CreateVector(shape);
    return tflite::CreateTensor(b, stored, tflite::TensorType::INT8, buffer);
  };
  const auto operation = [&b](uint32_t code, const std::vector<int32_t>& in, int32_t out) {
    const auto operands = b.CreateVector(in);
    return tflite::CreateOperator(b, code, operands, b.CreateVector(std::vector<int32_t>{out}));
  };
  const auto code = [&b](OpKind kind) {
    const auto number = static_cast<int8_t>(kind);
    return tflite::CreateOperatorCode(b, number, 0, 1, static_cast<tflite::BuiltinOperator>(kind));
  };
  std::vector buffers{tflite::CreateBuffer(b)};
  std::vector tensors{tensor({1, 1000}, 0)};
  std::vector<fb::Offset<tflite::Operator>> ops;
  std::vector<int32_t> results;
  for (int32_t i = 0; i < layers; ++i) {
    buffers.push_back(tflite::CreateBuffer(b, 0, static_cast<uint64_t>(offset + bytes / layers * i),
                                           static_cast<uint64_t>(int64_t{units} * 1000)));
    tensors.push_back(tensor({units, 1000}, static_cast<uint32_t>(i) + 1));
    tensors.push_back(tensor({1, units}, 0));
    tensors.push_back(tensor({1, units}, 0));
    ops.push_back(operation(0, {0, 3 * i + 1}, 3 * i + 2));
    ops.push_back(operation(1, {3 * i + 2}, 3 * i + 3));
    results.push_back(3 * i + 3);
  }
  const auto codes = b.CreateVector(std::vector{code(OpKind::kFullyConnected), code(OpKind::kAbs)});
  const auto inputs = b.CreateVector(std::vector<int32_t>{0}), outputs = b.CreateVector(results);
  const auto stored_tensors = b.CreateVector(tensors);
  const auto stored_ops = b.CreateVector(ops);
  const auto subgraphs = b.CreateVector(
      std::vector{tflite::CreateSubGraph(b, stored_tensors, inputs, outputs, stored_ops)});
  return finish(b, tflite::CreateModel(b, 3, codes, subgraphs, 0, b.CreateVector(buffers)));
}

}  // namespace edgesage::test
