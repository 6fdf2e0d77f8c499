// Networks with the measurements of many devices: what few-shot learning is judged on.
//
// Measurements that others published are read from the directory of published data (see
// docs/results.md); nothing of them is part of edgesage. Networks are built from their codes by the
// ordinary path, so that a measured cell and a user's file are the same to everything behind.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/network_pool.h"

namespace edgesage {

struct MeasuredSet {
  std::string id;
  NetworkPool pool;

  // What was measured: many rows may be one network.
  struct Row {
    std::string name;
    size_t network = 0;  // of the pool
    size_t group = 0;    // rows of a group are on one side of any split: equal up to isomorphism
  };
  std::vector<Row> rows;

  struct Board {
    std::string device;
    size_t quantity = 0;           // of the pool's data set
    std::vector<double> labels;    // a row, in the unit of the quantity; NaN: not measured
    int64_t below_resolution = 0;  // labels left out: what was measured is not the network
  };
  std::vector<Board> boards;
  int64_t constant = 0;  // rows left out: their output does not depend on their input
};

struct PublishedSetInfo {
  std::string_view id;           // "latbench"
  std::string_view description;  // one line, with the source
};
[[nodiscard]] std::span<const PublishedSetInfo> published_sets();

// Reads a published set from `directory`. `most_rows` > 0 takes so many rows at most, spread
// evenly. kInvalidArgument for an unknown id or a directory without the file, naming it; kBadStore
// where the file is not what it should be, with the line. Cost: about a millisecond a distinct
// network and thread.
[[nodiscard]] Result<MeasuredSet> load_published_set(std::string_view id,
                                                     const std::filesystem::path& directory,
                                                     int threads, size_t most_rows = 0,
                                                     const PoolProgress& progress = {});

// The networks of ncnn's benchmark on its boards, from their .param files (of int8 twins too); a
// board is one run of the benchmark: device, threads, CPU or GPU. Labels are the least of its
// loops. A network and its int8 twin are one group. Errors as above.
[[nodiscard]] Result<MeasuredSet> load_ncnn_set(const std::filesystem::path& directory,
                                                int threads);

// Label files of several devices that are lowered alike; rows are the networks that all have.
[[nodiscard]] Result<MeasuredSet> load_labelled_set(std::span<const std::filesystem::path> files,
                                                    const Target& target, Quantity quantity,
                                                    int threads, const PoolProgress& progress = {});

}  // namespace edgesage
