#include <cstring>
#include <string>

#include "fuzz/targets.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/zstd.h"
#include "src/io/tflite_reader.h"
#include "src/learn/label_file.h"
#include "src/learn/label_import.h"
#include "src/predict/predictor.h"
#include "src/spaces/space.h"
#include "src/store/store.h"
#include "tests/support/test_paths.h"

namespace edgesage::fuzz {
namespace {

constexpr size_t kLargestText = size_t{1} << 20;

// A network of every kind of row that a small one can have.
const Graph& small_network() {
  static const Graph graph = *build_network(*NetworkName::parse("keyword-sound/1/3"));
  return graph;
}

// Behind a checksum nothing would ever be reached: the header is put right.
std::vector<std::byte> with_fitting_header(Bytes bytes) {
  constexpr size_t kHeader = 32, kSizeAt = 16, kChecksumAt = 24;
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  if (mended.size() < kHeader) return mended;
  const uint64_t size = mended.size() - kHeader;
  const uint64_t checksum = checksum64(std::span(mended).subspan(kHeader));
  std::memcpy(mended.data() + kSizeAt, &size, sizeof(size));
  std::memcpy(mended.data() + kChecksumAt, &checksum, sizeof(checksum));
  return mended;
}

}  // namespace

void predictor(Bytes bytes) {
  if (const auto raw = decode_predictor(bytes, "fuzzed"); !raw)
    check_error(raw.error(), {ErrorCode::kBadStore});
  auto data = decode_predictor(with_fitting_header(bytes), "fuzzed");
  if (!data) return check_error(data.error(), {ErrorCode::kBadStore});
  const auto loaded = Predictor::from(*std::move(data));
  if (!loaded)
    return check_error(loaded.error(), {ErrorCode::kBadStore, ErrorCode::kInvalidArgument});
  const Prediction answer = loaded->predict(small_network(), "model", {});
  must_hold(answer.latency_ms.has_value() || answer.missing.contains("latency_ms"),
            "what is not known has a reason");
}

void labels(Bytes bytes) {
  constexpr std::string_view kZstd("\x28\xb5\x2f\xfd", 4);
  std::string unpacked;
  std::string_view csv = text_of(bytes);
  if (csv.starts_with(kZstd)) {
    auto text = zstd_decompress(bytes, kLargestText, "fuzzed", ErrorCode::kBadStore);
    if (!text) return check_error(text.error(), {ErrorCode::kBadStore});
    unpacked = *std::move(text);
    csv = unpacked;
  }
  const auto rows = labels_from_csv(csv, "fuzzed");
  if (!rows) return check_error(rows.error(), {ErrorCode::kBadStore});
  const std::string written = labels_to_csv(*rows);
  const auto again = labels_from_csv(written, "written");
  must_hold(again.has_value(), "labels that we write we can read");
  must_hold(labels_to_csv(*again) == written, "the same labels give the same bytes");
}

void store(Bytes bytes) {
  static const test::TempDir folder;
  const std::filesystem::path path = folder.path() / "store.db";
  for (const char* beside : {"store.db-wal", "store.db-shm", "store.db-journal"})
    std::filesystem::remove(folder.path() / beside);
  if (!write_file(path, bytes)) return;
  const auto opened = Store::open(path, StoreMode::kRead);
  if (!opened) return check_error(opened.error(), {ErrorCode::kBadStore});
  const auto check = [](const auto& result) {
    if (!result) check_error(result.error(), {ErrorCode::kBadStore, ErrorCode::kInvalidArgument});
    return result.has_value();
  };
  if (const auto networks = opened->networks(); check(networks))
    for (const NetworkRecord& network : *networks) {
      check(opened->find_network(network.name));
      check(opened->find_graph(network.graph_hash));
    }
  check(opened->file(1));
  check(opened->info());
  check(opened->verify());
  MeasurementFilter filter;
  filter.samples = filter.operators = true;
  filter.outcome = MeasurementFilter::Outcome::kAny;
  check(opened->measurements(filter));
  check(labels_of(*opened, {.device = "host-litert"}));
}

void label_import(Bytes bytes) {
  LabelImport import;
  import.space = "fbnet";
  import.code_column = "code";
  import.label_column = "ms";
  import.device = "phone";
  import.threads = 1;
  const auto labels = import_labels(text_of(bytes), "fuzzed", import);
  if (!labels) return check_error(labels.error(), {ErrorCode::kInvalidArgument});
  for (const LabelRow& row : labels->rows)
    must_hold(row.quantities.at("latency_ms") > 0, "labels are above zero");
}

}  // namespace edgesage::fuzz
