#include "src/report/json_memory.h"

#include "src/report/json_common.h"

namespace edgesage::report {
namespace {

Json entry_json(const ArenaEntry& entry) {
  Json out = {{"name", entry.name}, {"role", entry.role}, {"memory", entry.memory}};
  if (entry.tensor >= 0) {
    out["tensor"] = entry.tensor;
    out["type"] = entry.type;
    out["shape"] = entry.shape;
  } else {
    out["operator"] = entry.op;
  }
  out["bytes"] = entry.bytes;
  out["offset"] = or_null(entry.offset);
  out["first"] = entry.first;
  out["last"] = entry.last;
  if (entry.shares >= 0) out["shares"] = entry.shares;
  return out;
}

}  // namespace

Json arena_size_json(const ArenaSize& size) {
  if (!size.total_bytes) return nullptr;
  Json out = {{"abi", size.abi},
              {"activations_bytes", or_null(size.activations_bytes)},
              {"scratch_bytes", or_null(size.scratch_bytes)},
              {"runtime_bytes", or_null(size.runtime_bytes)},
              {"total_bytes", or_null(size.total_bytes)}};
  if (size.sufficient_bytes) out["sufficient_bytes"] = *size.sufficient_bytes;
  return out;
}

Json arena_json(const ArenaPlan& plan) {
  if (!plan.size.total_bytes) return nullptr;
  Json out = arena_size_json(plan.size);
  out.update({{"runtime", plan.runtime},
              {"arena_bytes", or_null(plan.arena_bytes)},
              {"persistent_bytes", or_null(plan.persistent_bytes)},
              {"heap_bytes", or_null(plan.heap_bytes)},
              {"peak_operator", plan.peak_operator < 0 ? Json(nullptr) : Json(plan.peak_operator)},
              {"peak_live_bytes", plan.peak_live_bytes}});
  Json savings = Json::array();
  for (const ArenaSaving& saving : plan.savings) {
    Json one = {{"what", saving.what}, {"arena_bytes", saving.arena_bytes}};
    if (!saving.order.empty()) one["order"] = saving.order;
    savings.push_back(std::move(one));
  }
  out["savings"] = std::move(savings);
  out["not_counted"] = plan.not_counted;
  Json allocations = Json::array();
  for (const ArenaAllocation& one : plan.allocations)
    if (one.count > 0)
      allocations.push_back({{"name", one.name},
                             {"used_bytes", one.used_bytes},
                             {"requested_bytes", one.requested_bytes},
                             {"count", one.count}});
  if (!allocations.empty()) out["allocations"] = std::move(allocations);
  Json entries = Json::array();
  for (const ArenaEntry& entry : plan.entries) entries.push_back(entry_json(entry));
  out["entries"] = std::move(entries);
  return out;
}

Json delegated_json(const DelegatedMemory& memory) {
  if (!memory.total_bytes) return nullptr;
  return {{"arena_bytes", or_null(memory.arena_bytes)},
          {"runtime_bytes", or_null(memory.runtime_bytes)},
          {"workspace_bytes", or_null(memory.workspace_bytes)},
          {"packed_weights_bytes", or_null(memory.packed_weights_bytes)},
          {"indirection_bytes", or_null(memory.indirection_bytes)},
          {"tables_bytes", or_null(memory.tables_bytes)},
          {"total_bytes", or_null(memory.total_bytes)}};
}

}  // namespace edgesage::report
