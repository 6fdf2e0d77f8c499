// How the parts of a measurement become columns: JSON texts, and zstd-compressed JSON for what is
// long. Numbers are written with the digits that read back to the same value. See docs/store.md.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/store/measurement.h"

namespace edgesage {

using StringMap = std::map<std::string, std::string>;
using NumberMap = std::map<std::string, double>;

[[nodiscard]] std::string encode_texts(const StringMap& texts);
[[nodiscard]] Result<StringMap> decode_texts(std::string_view json, std::string_view where);
[[nodiscard]] std::string encode_numbers(const NumberMap& numbers);
[[nodiscard]] Result<NumberMap> decode_numbers(std::string_view json, std::string_view where);

// Empty bytes for an empty vector, both ways.
[[nodiscard]] std::vector<std::byte> encode_samples(std::span<const double> samples);
[[nodiscard]] Result<std::vector<double>> decode_samples(std::span<const std::byte> blob,
                                                         std::string_view where);
[[nodiscard]] std::vector<std::byte> encode_operators(
    std::span<const OperatorMeasurement> operators);
[[nodiscard]] Result<std::vector<OperatorMeasurement>> decode_operators(
    std::span<const std::byte> blob, std::string_view where);

}  // namespace edgesage
