// Seeded values for a model's inputs: the full range of 8 and 16 bit integers, normal floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace worker {

class InputGenerator {
 public:
  explicit InputGenerator(uint64_t seed) : state_(seed) {}
  // False where no values are defined for the type (strings, resources). Wide integers are 0 or 1,
  // since they are often indices.
  bool fill(int element_type, void* memory, size_t bytes);

 private:
  uint64_t next();
  double normal();
  uint64_t state_;
};

}  // namespace worker
