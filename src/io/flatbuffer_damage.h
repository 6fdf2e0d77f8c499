// Says where a FlatBuffer is damaged. The library's verifier answers yes or no; this walks the same
// tables, once it has said no, to name the place.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <span>
#include <string>

namespace edgesage {

// "subgraphs[0].tensors[3].shape at byte 1234 points to byte 99999, past the end of the file (5000
// bytes)": the first place, in the schema's order, at which an offset, a length or an alignment is
// wrong. `root` describes the root table. If nothing is found, a general sentence.
[[nodiscard]] std::string describe_damage(std::span<const std::byte> file,
                                          const flatbuffers::TypeTable& root);

}  // namespace edgesage
