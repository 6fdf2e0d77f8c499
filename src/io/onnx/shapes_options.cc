#include "src/io/onnx/shapes_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <unordered_set>

#include "src/base/text.h"
#include "src/io/onnx/shapes_values.h"

namespace edgesage::onnx {
namespace {

constexpr size_t kMostListed = 20;

// Exporters write "?", "-1" or "None" for a dimension that they do not know: no name that two of
// them could share.
bool is_name(std::string_view symbol) {
  return symbol != "-1" && symbol != "None" &&
         std::ranges::any_of(symbol, [](unsigned char c) { return std::isalnum(c) || c >= 0x80; });
}

class Resolver {
 public:
  Resolver(const Model& model, const ShapeOptions& options, std::vector<std::string>& warnings)
      : graph_(model.graphs.front()), options_(options), warnings_(warnings) {
    for (const Constant& constant : graph_.initializers) constant_.insert(constant.name);
    for (size_t k = 0; k < graph_.inputs.size(); ++k)
      if (!constant_.contains(graph_.inputs[k].name)) open_.push_back(k);
    for (const Value& value : graph_.inputs)
      result_.inputs.push_back({with_symbols(value.type, {}), false});
    for (const size_t k : open_) {
      for (const Dimension& dim : result_.inputs[k].type.shape)
        if (!dim.symbol.empty() && seen_.insert(dim.symbol).second) names_.push_back(dim.symbol);
    }
  }

  Result<ResolvedInputs> run() {
    EDGESAGE_RETURN_IF_ERROR(take_dimensions());
    EDGESAGE_RETURN_IF_ERROR(take_shapes());
    EDGESAGE_RETURN_IF_ERROR(take_batch());
    for (ResolvedInput& input : result_.inputs)
      input.type = with_symbols(input.type, result_.symbols);
    return std::move(result_);
  }

 private:
  Status take_dimensions() {
    for (const auto& [name, value] : options_.dimensions) {
      const auto at = std::ranges::find(names_, name);
      if (at == names_.end()) return unknown_name("dimension", name, names_);
      EDGESAGE_RETURN_IF_ERROR(check(fmt::format("dimension '{}'", name), value));
      result_.symbols[*at] = value;
    }
    return {};
  }

  Status take_shapes() {
    for (const auto& [name, dims] : options_.inputs) {
      const auto at =
          std::ranges::find_if(open_, [&](size_t k) { return graph_.inputs[k].name == name; });
      if (at == open_.end()) {
        std::vector<std::string_view> names;
        for (const size_t k : open_) names.push_back(graph_.inputs[k].name);
        return unknown_name("input", name, names);
      }
      given_.insert(*at);
      EDGESAGE_RETURN_IF_ERROR(take_shape(name, dims, result_.inputs[*at]));
    }
    return {};
  }

  Status take_shape(const std::string& name, const std::vector<int64_t>& dims,
                    ResolvedInput& input) {
    const std::string where = fmt::format("input '{}'", name);
    ValueType& type = input.type;
    if (type.kind != ValueType::Kind::kTensor && type.kind != ValueType::Kind::kUnknown)
      return make_error(ErrorCode::kInvalidArgument, where, "is no tensor: it has no shape to set");
    if (type.has_shape && type.shape.size() != dims.size())
      return make_error(ErrorCode::kInvalidArgument, where,
                        fmt::format("has the shape {} in the file; a shape of {} dimensions cannot "
                                    "replace it: give {}",
                                    text(type.shape), dims.size(), type.shape.size()));
    if (!type.has_shape) type.shape.assign(dims.size(), {});
    type.kind = ValueType::Kind::kTensor;
    type.has_shape = true;
    for (size_t k = 0; k < dims.size(); ++k) {
      EDGESAGE_RETURN_IF_ERROR(check(where, dims[k]));
      Dimension& dim = type.shape[k];
      if (!dim.symbol.empty()) {
        const auto [at, fresh] = result_.symbols.emplace(dim.symbol, dims[k]);
        if (!fresh && at->second != dims[k])
          return make_error(ErrorCode::kInvalidArgument, where,
                            fmt::format("dimension '{}' is {} here and {} elsewhere; one name is "
                                        "one number",
                                        dim.symbol, dims[k], at->second));
      }
      if (dim.known() && dim.value != dims[k]) input.stale = true;
      dim = number(dims[k]);
    }
    return {};
  }

  Status take_batch() {
    if (!options_.batch && !options_.open_batch_is_one) return {};
    const int64_t batch = options_.batch.value_or(1);
    EDGESAGE_RETURN_IF_ERROR(check("batch", batch));
    for (const size_t k : open_) {
      ValueType& type = result_.inputs[k].type;
      if (given_.contains(k) || !type.has_shape || type.shape.empty()) continue;
      Dimension& dim = type.shape[0];
      if (dim.known() || result_.symbols.contains(dim.symbol)) continue;
      if (!options_.batch)
        warnings_.push_back(fmt::format(
            "input '{}': dimension 0{} is open in the file and taken as 1; set it with "
            "--batch, or give the shape of this input",
            graph_.inputs[k].name, dim.symbol.empty() ? "" : fmt::format(" ('{}')", dim.symbol)));
      if (!dim.symbol.empty()) result_.symbols[dim.symbol] = batch;
      dim = number(batch);
    }
    return {};
  }

  static Status check(const std::string& where, int64_t value) {
    if (value >= 0) return {};
    return make_error(ErrorCode::kInvalidArgument, where,
                      fmt::format("a size of {}; give 0 or more", value));
  }

  static Status unknown_name(const char* what, const std::string& name,
                             const std::vector<std::string_view>& known) {
    std::vector<std::string> list;
    for (size_t k = 0; k < std::min(known.size(), kMostListed); ++k)
      list.push_back(fmt::format("'{}'", known[k]));
    if (known.size() > kMostListed)
      list.push_back(fmt::format("{} more", known.size() - kMostListed));
    return make_error(
        ErrorCode::kInvalidArgument, fmt::format("{} '{}'", what, name),
        known.empty() ? fmt::format("the model has no such {}, and none at all to set", what)
                      : fmt::format("the model has no such {}; it has {}", what, join(list, ", ")));
  }

  const GraphTable& graph_;
  const ShapeOptions& options_;
  std::vector<std::string>& warnings_;
  std::unordered_set<std::string_view> constant_;
  std::vector<size_t> open_;  // inputs that no initialiser fills
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> names_;  // symbols of these, in their order
  std::unordered_set<size_t> given_;
  ResolvedInputs result_;
};

}  // namespace

Result<ResolvedInputs> resolve_inputs(const Model& model, const ShapeOptions& options,
                                      std::vector<std::string>& warnings) {
  return Resolver(model, options, warnings).run();
}

ValueType with_symbols(const ValueType& type,
                       const std::unordered_map<std::string_view, int64_t>& symbols) {
  std::vector<ValueType> levels;
  for (const ValueType* level = &type; level != nullptr; level = level->inner.get()) {
    levels.push_back(*level);
    if (std::ssize(level->shape) > kMaxRank) {
      levels.back().has_shape = false;
      levels.back().shape.clear();
    }
    for (Dimension& dim : levels.back().shape) {
      if (dim.value < 0) dim.value = -1;
      if (!is_name(dim.symbol)) dim.symbol = {};
      if (dim.known() || dim.symbol.empty()) continue;
      const auto at = symbols.find(dim.symbol);
      if (at != symbols.end()) dim = number(at->second);
    }
  }
  for (size_t k = levels.size() - 1; k-- > 0;)
    levels[k].inner = std::make_shared<const ValueType>(std::move(levels[k + 1]));
  return std::move(levels.front());
}

}  // namespace edgesage::onnx
