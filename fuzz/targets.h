// What is fuzzed: every place where bytes from outside come in. A target takes any bytes, and stops
// the program (`must_hold`) where a promise is broken; the sanitizers watch the rest. Nothing is
// kept between two calls.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::fuzz {

using Bytes = std::span<const std::byte>;

void tflite(Bytes bytes);        // read, describe, lower for every kind of target, write, read back
void ncnn(Bytes bytes);          // the same for the text of a .param
void onnx(Bytes bytes);          // read, infer shapes, convert, and then as a graph of the others
void file_kind(Bytes bytes);     // what is this file?
void predictor(Bytes bytes);     // a predictor file, and a prediction with it
void labels(Bytes bytes);        // a label file, compressed or not
void store(Bytes bytes);         // a store of SQLite, every record read
void label_import(Bytes bytes);  // a CSV of others' labels
void device_toml(Bytes bytes);   // a description of devices
void worker(Bytes bytes);        // lines of a worker: its hello, then answers
void device_output(Bytes bytes);  // what benchmark_model and other runs print

// Stops the program with a message that names the broken promise.
void must_hold(bool condition, std::string_view promise);
// An error is one line that says something, of one of the codes.
void check_error(const Error& error, std::initializer_list<ErrorCode> allowed);

[[nodiscard]] std::string_view text_of(Bytes bytes);

}  // namespace edgesage::fuzz
