// Networks on their way to a device: built, written to a file, entered in the store.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "edgesage/result.h"
#include "src/learn/annotate.h"
#include "src/store/store.h"

namespace edgesage {

// A directory for the files being measured, removed with what is left in it.
class WorkDir {
 public:
  // Below `parent`, which is made if need be; empty: the system's temporary directory.
  static Result<std::unique_ptr<WorkDir>> make(std::filesystem::path parent);
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;

  // A .tflite named after the network. Not synced: the file is gone within seconds.
  [[nodiscard]] Result<std::filesystem::path> write(std::string network,
                                                    std::span<const std::byte> bytes) const;

 private:
  explicit WorkDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// One network made ready: its record without id, and its file or why there is none.
struct BuiltNetwork {
  NetworkRecord record;
  std::filesystem::path file;
  bool is_temporary = false;  // the file is ours, in the WorkDir, and goes when it is measured
  std::string failure;
  bool passed_over = false;  // AnnotateOptions::accept said no; then there is nothing else
};

// kInvalidArgument for a name that means nothing and a directory that cannot be written; a network
// that cannot be built or written is a `failure` of its own.
[[nodiscard]] Result<BuiltNetwork> build_network_file(const std::string& name,
                                                      const AnnotateOptions& options,
                                                      const WorkDir& dir);

// The sampled networks of a store, and what joins them in this run. Not synchronised.
class NetworkIndex {
 public:
  static Result<NetworkIndex> load(Store& store);

  // nullptr when the store does not know the name. Valid until the next enter().
  [[nodiscard]] const NetworkRecord* find(const std::string& name) const;

  // The network's record, made and stored if it is new; a duplicate when its graph is known under
  // another name. kBadStore when the name stood for another network.
  [[nodiscard]] Result<NetworkRecord> enter(NetworkRecord network);

  // kBadStore when a stored network is built differently now.
  [[nodiscard]] Status check_same(const NetworkRecord& known, const NetworkRecord& built) const;

 private:
  explicit NetworkIndex(Store& store) : store_(&store) {}
  void add(const NetworkRecord& network);

  Store* store_;
  std::unordered_map<std::string, NetworkRecord> by_name_;
  std::unordered_map<std::string, int64_t> by_graph_;  // without duplicates
};

}  // namespace edgesage
