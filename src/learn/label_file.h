// Labels as files: what training reads, and what goes into the repository. A zstd-compressed CSV
// with one row a network, of one device, one version of its runtime and one host:
//
//   name,graph_hash,device,runtime,runtime_version,host_fingerprint,statistic,repeats,
//   cpu_operators,<quantities by name>...,operator_unit,operator_index,operator_cycles,
//   operator_macs,operator_working_bytes,operator_placement
//
// Quantities have their unit in the name; an empty cell is one that is not known. The operator
// columns hold one item an operator, separated by spaces: indexes with runs written `0-57`, the
// others with runs of equal values written `npu*58`. The same labels give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/store/store.h"

namespace edgesage {

// One network with its label on one device.
struct LabelRow {
  std::string name;  // "mobile-classifier/1/4711"
  std::string graph_hash;
  std::string device;
  std::string runtime, runtime_version;
  std::string host_fingerprint;              // empty where the label does not depend on the machine
  std::string statistic;                     // of latency_ms
  int32_t repeats = 1;                       // passes of which the label is the minimum
  int32_t cpu_operators = 0;                 // fell back; their cost may be missing
  std::map<std::string, double> quantities;  // by the names of interfaces.md
  std::string operator_unit;                 // "cycles", "ns"; empty without operators
  std::vector<OperatorMeasurement> operators;  // without the reasons of their placement
};

// Which labels to take from a store.
struct LabelSelection {
  std::string device;                 // needed
  std::string host_fingerprint = {};  // empty: the only one
  std::string runtime_version = {};   // empty: the only one
};

// The labels of a device, sorted by name (seeds by value); networks with equal graphs once;
// failures and files of users not at all. Of several repeats, times are the minimum of each and all
// else is of the fastest. A series rejected for its noise gives no time and no energy; where a
// network has no other, its row holds what noise does not touch (an arena, counted cycles), if
// there is any. kInvalidArgument when there are none, or when they are of several hosts or versions
// of the runtime and the selection does not say which: those are never mixed.
[[nodiscard]] Result<std::vector<LabelRow>> labels_of(const Store& store,
                                                      const LabelSelection& selection);

// The text of a label file, before compression.
[[nodiscard]] std::string labels_to_csv(std::span<const LabelRow> rows);
// kBadStore, naming the row (the first after the header is row 1) and the column, for what is not a
// number, not finite or negative, for a latency below a nanosecond (0 included), a network that
// comes twice on a device, and for operators that do not fit together.
[[nodiscard]] Result<std::vector<LabelRow>> labels_from_csv(std::string_view csv,
                                                            std::string_view where);

// Replaced atomically.
[[nodiscard]] Status write_labels(std::span<const LabelRow> rows,
                                  const std::filesystem::path& path);
[[nodiscard]] Status export_labels(const Store& store, const LabelSelection& selection,
                                   const std::filesystem::path& path);
// Reads a compressed or a plain file.
[[nodiscard]] Result<std::vector<LabelRow>> read_labels(const std::filesystem::path& path);

}  // namespace edgesage
