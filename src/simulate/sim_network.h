// What virtual devices read of one network.
//
// Rows that are alike in everything that a device prices are kept once, with the number of times
// they run in an inference (of a loop's body, its iterations: Row::repeat); so are pieces of the
// network with parallel branches. Plain data, immutable after make_sim_network(), safe to share
// between threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/simulate/variants.h"

namespace edgesage::simulate {

// Sizes to which devices round; the first is always 1: no rounding.
inline constexpr std::array<int64_t, 7> kChannelTiles{1, 4, 8, 16, 32, 64, 128};
inline constexpr std::array<int64_t, 3> kHeightTiles{1, 2, 4};
inline constexpr std::array<int64_t, 5> kWidthTiles{1, 2, 4, 8, 16};
inline constexpr std::array<int64_t, 4> kByteTiles{1, 8, 16, 32};  // channels of stored tensors

// Where a row stands, for devices that do its work inside a neighbour.
enum class Context : uint8_t {
  kNone,
  kActivationOfOnlyUse,  // an activation behind a row that computes and that nobody else reads
  kActivationShared,     // the same, but others read its input too
  kAddOfProduct,         // an addition that alone reads a convolution's result
  kAddOfAdd,             // one that alone reads another's: a sum of several tensors
  kMulOfProduct,  // a multiplication by a vector or constant behind a convolution or addition
  kPadOfProduct,  // padding that only a convolution or pooling reads
  kCount,
};
inline constexpr int kContexts = static_cast<int>(Context::kCount);

// Numbers are floats: none exceeds kLargest, so that products of them stay finite.
inline constexpr float kLargest = 1e18F;

struct SimRow {
  Variant variant = Variant::kOther;
  Formula formula = Formula::kElement;
  Context context = Context::kNone;
  uint8_t precision = 0;     // 0: up to 8 bits, 1: 16, 2: more
  bool is_repeated = false;  // an earlier row computes the same from the same tensors
  bool is_cpu = false;       // the lowering leaves it to the CPU
  bool is_winograd = false;  // 3x3, stride 1, not dilated
  bool is_strided = false;
  bool has_activation = false;
  bool is_copy = false;  // moves data without computing

  float macs = 0;            // multiply-accumulates; transpose convolution: on the input's grid
  float macs_on_output = 0;  // the same on the output's grid
  float elements = 0;        // what a kernel without MACs walks over
  float tap_elements = 0;    // pooling: elements times window / 9; else the same as elements
  float out_rows = 0;        // batch times height
  float pixels = 0;          // batch times height times width
  float outputs = 0;         // elements of the output of rows with multiply-accumulates
  float calls = 0;           // of a convolution's inner kernel: pixels times groups
  float tap_reads = 0;       // the same times taps of the window; 0 for 1x1
  float per_pixel = 0, per_in = 0, per_out = 0;  // 1 / pixels, 1 / input channels, 1 / output
  float log2_taps = 0;                           // log2(window / 9)
  float rounded_taps = 1;                        // window rounded up to 9, 25, 49, over window
  std::array<float, 7> waste_out{}, waste_in{}, waste_joint{};  // by kChannelTiles; joint: taps too
  std::array<float, 3> waste_h{};
  std::array<float, 5> waste_w{};

  std::array<float, 4> bytes{};  // activations read and written, by kByteTiles
  float out_bytes = 0;
  float patch_bytes = 0;  // what im2col would write; 0 for 1x1
  float skip_bytes = 0;   // additions: bytes of an operand that others read too, and later
  float weights = 0;      // bytes of constants
  float coded = 0;        // the same as a compiler could code them, about
  float live = 0;         // bytes of activations that exist while it runs

  bool operator==(const SimRow&) const = default;
};

// For the memory of a network: one of the moments that may be the peak.
struct MemoryMoment {
  std::array<float, 4> live{};  // by kByteTiles
  float tensors = 0;            // how many are alive
  float own = 0;                // bytes that the row itself reads and writes
  float reused = 0;             // bytes of its output that could take the place of its input
  float patch = 0;
  float weights = 0;
  int32_t row = -1;
};

// A piece of the network with parallel branches: nothing before it is read after its start, or it
// is what a loop runs. All of its rows run equally often.
struct Segment {
  float count = 0;              // how often it runs
  std::vector<int32_t> row;     // indexes into `unique`
  std::vector<int32_t> offset;  // row i reads rows input[offset[i]] ... input[offset[i + 1] - 1]
  std::vector<int32_t> input;   // of this segment
};

// Rows that follow each other: a device may run them on different sides (delegate, CPU). Inside of
// a loop they do in every iteration; the way back to its start is not counted.
struct Neighbours {
  uint8_t from = 0, to = 0;  // Variant, or kVariants for a row that the lowering puts on the CPU
  float count = 0;
  float bytes = 0;  // activations that the second reads
};

struct SimNetwork {
  std::vector<SimRow> unique;
  std::vector<float> count;         // how often each runs
  std::vector<float> serial_count;  // outside of `segments`
  std::vector<Segment> segments;
  std::vector<Neighbours> neighbours;
  std::vector<MemoryMoment> moments;  // none is at least as large as another in everything
  std::array<float, 4> all_bytes{};   // of all activation tensors, by kByteTiles
  float weights = 0;                  // bytes of constants, each once
  float border_bytes = 0;             // graph inputs and outputs

  std::vector<int32_t> unique_of;   // for each row of the lowering; -1: nothing runs
  std::vector<int32_t> segment_of;  // -1: outside of segments
  std::vector<float> times;         // how often each row of the lowering runs

  // Rows of the lowering, folded ones included.
  [[nodiscard]] int32_t rows() const { return static_cast<int32_t>(unique_of.size()); }
};

struct SimOptions {
  bool merge = true;  // false keeps every row and segment apart: for tests
};

// Never fails; a graph without operators gives a network without rows. Cost: linear in rows and
// edges, quadratic in different moments (hundreds).
[[nodiscard]] SimNetwork make_sim_network(const Graph& graph, const Lowering& lowering,
                                          const SimOptions& options = {});

}  // namespace edgesage::simulate
