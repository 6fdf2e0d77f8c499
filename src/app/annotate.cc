#include "src/app/annotate.h"

#include <fmt/format.h>

#include <optional>

#include "src/app/worker_options.h"
#include "src/learn/annotate.h"
#include "src/learn/channel_multiple.h"
#include "src/spaces/model_library.h"
#include "src/spaces/space.h"

namespace edgesage::app {
namespace {

std::string describe(const AnnotateProgress& progress) {
  std::string text =
      fmt::format("{} pass {} of {}", progress.device, progress.pass + 1, progress.passes);
  if (progress.per_second > 0) text += fmt::format(", {:.1f} a second", progress.per_second);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  return text;
}

}  // namespace

Result<AnnotationSummary> annotate_networks(const Context& context,
                                            const AnnotateRequest& request) {
  std::optional<ModelLibrary> models;
  if (!request.models.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(models, ModelLibrary::open(request.models));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            sample_names(request.spaces, request.seed, request.count, request.shard,
                                         request.shards, models ? &*models : nullptr));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  MeasureOptions measuring;
  measuring.deadline = request.deadline;
  measuring.attempts = request.attempts;
  AnnotateOptions options;
  options.retry_failures = request.retry_failures;
  options.stop = context.stop;
  if (request.channel_multiple > 1)
    options.accept = [multiple = request.channel_multiple](const Graph& graph) {
      return has_channel_multiple(graph, multiple);
    };
  if (models)
    options.build = [&models](const std::string& name) -> Result<Graph> {
      EDGESAGE_ASSIGN_OR_RETURN(const NetworkName network, NetworkName::parse(name));
      return build_network(network, {.models = &*models});
    };
  for (const std::string& name : request.devices) {
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription described, catalog.find(name));
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device,
                              device_variant(described, worker_options(request.options)));
    EDGESAGE_ASSIGN_OR_RETURN(
        AnnotateDevice annotated,
        annotate_device(device, context.places, measuring, request.workers, request.repeats));
    options.devices.push_back(std::move(annotated));
  }
  EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(request.store, StoreMode::kWrite));
  EDGESAGE_ASSIGN_OR_RETURN(const AnnotateReport report,
                            annotate(store, names, options, [&](const AnnotateProgress& progress) {
                              context.report(progress.done, progress.total, describe(progress));
                            }));
  AnnotationSummary summary;
  summary.store = request.store;
  summary.stopped = report.stopped;
  for (const AnnotatePass& pass : report.passes)
    summary.passes.push_back({pass.device, pass.host_fingerprint, pass.repeat, pass.workers,
                              pass.names, pass.measured, pass.failed, pass.already, pass.duplicates,
                              pass.passed_over, pass.seconds, pass.worker_seconds,
                              pass.build_seconds, pass.own_cpu_seconds, pass.worker_cpu_seconds});
  return summary;
}

}  // namespace edgesage::app
