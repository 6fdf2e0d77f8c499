// What a file that is no model of ours really is, for error messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace edgesage {

// A sentence without its subject, from the first bytes: "is a Git LFS pointer, not the model; run
// `git lfs pull` in its repository". Always says something.
[[nodiscard]] std::string describe_foreign_file(std::span<const std::byte> bytes);

// A FlatBuffer with the identifier of TensorFlow Lite models, damaged or not.
[[nodiscard]] bool looks_like_tflite(std::span<const std::byte> bytes);

// An ONNX ModelProto, damaged or not, with a graph or without: its outermost fields have the
// numbers and types of one. (Protobuf has no magic number.)
[[nodiscard]] bool looks_like_onnx(std::span<const std::byte> bytes);

}  // namespace edgesage
