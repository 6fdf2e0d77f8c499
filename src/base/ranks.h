// Processes that work on one training together, each on a part of every mini-batch.
//
// All make the same calls in the same order with the same sizes. A process that is lost ends the
// others (as MPI does).
#pragma once

#include <span>

namespace edgesage {

class Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual int rank() const = 0;  // of this process, 0 to size() - 1
  [[nodiscard]] virtual int size() const = 0;
  // What `owner` holds, everybody holds afterwards, bit by bit.
  virtual void broadcast(std::span<float> values, int owner) = 0;
  virtual void broadcast(std::span<double> values, int owner) = 0;
};

}  // namespace edgesage
