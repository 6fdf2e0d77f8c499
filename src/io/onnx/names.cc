#include "src/io/onnx/names.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/io/onnx/node_order.h"

namespace edgesage::onnx {
namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;

std::string shown(const Node& node, size_t index) {
  return node.name.empty() ? fmt::format("node {} ({})", index, node.op_type)
                           : fmt::format("node '{}' ({})", node.name, node.op_type);
}

// One walk over a graph and all bodies inside of it, in the order of the file.
class Settler {
 public:
  Settler(ParsedFile& file, FreshNames& fresh, Oddities& oddities)
      : file_(&file),
        fresh_(&fresh),
        oddities_(&oddities),
        edges_(file.graphs.size()),
        unsorted_(file.graphs.size(), false) {}

  // What is wrong, or nothing.
  std::optional<std::string> run(int32_t root, bool is_main);

 private:
  // A value as it stands where the walk is.
  struct Binding {
    uint32_t id = 0;
    int32_t graph = 0;
    int32_t depth = 0;
    int32_t node = -1;         // that made it; -1: an input or initialiser
    int32_t initializer = -1;  // its index, if it is one
    bool name_taken = false;   // this or an outer value has the name as the file spells it
    std::string_view name;     // as it is now
    int32_t below = -1;        // the binding that this one hides
  };
  // A graph around the walk whose nodes make a name, before or after where the walk is.
  struct Declared {
    uint32_t id = 0;
    int32_t graph = 0;
    int32_t depth = 0;
    int32_t left = 0;  // writers that are still to come
    int32_t below = -1;
  };
  struct Name {
    int32_t binding = -1;
    int32_t declared = -1;
  };
  // A graph on the way from the root to here, and how far it is done.
  struct Frame {
    int32_t graph = 0;
    size_t bindings = 0, declared = 0;  // how many there were before
    int32_t node = 0;
    size_t attribute = 0, body = 0;
    bool inputs_read = false;
  };
  // A read of what is made later.
  struct Forward {
    std::string_view* read;
    int32_t reader;
  };

  GraphTable& graph(int32_t index) { return file_->graphs[static_cast<size_t>(index)]; }
  [[nodiscard]] int32_t here() const { return frames_.back().graph; }
  [[nodiscard]] int32_t depth() const { return static_cast<int32_t>(frames_.size()) - 1; }
  [[nodiscard]] int32_t reader_at(int32_t level) const {
    return frames_[static_cast<size_t>(level)].node;
  }
  uint32_t id_of(std::string_view name);
  Binding* binding_here(uint32_t id);
  [[nodiscard]] bool known_outside(uint32_t id) const;

  void enter(int32_t index);
  void declare_outputs();
  void bind_initializers();
  void bind_inputs();
  void bind(Binding binding);
  void bind_constant(std::string_view& name, uint32_t id, int32_t initializer);
  [[nodiscard]] bool read(std::string_view& name);
  void write(std::string_view& name);
  void step();
  void leave();
  void sort(int32_t index);

  ParsedFile* file_;
  FreshNames* fresh_;
  Oddities* oddities_;
  bool is_main_ = false;
  std::unordered_map<std::string_view, uint32_t> ids_;
  std::vector<Name> names_;
  std::vector<Binding> bindings_;
  std::vector<Declared> declared_;
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, std::vector<Forward>> forwards_;
  std::vector<Edges> edges_;  // per graph
  std::vector<bool> unsorted_;
  std::vector<int32_t> to_sort_;
  std::optional<std::string> fault_;
};

uint64_t forward_key(int32_t graph, uint32_t id) {
  return uint64_t{static_cast<uint32_t>(graph)} << 32U | id;
}

uint32_t Settler::id_of(std::string_view name) {
  const auto [at, is_new] = ids_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.emplace_back();
  return at->second;
}

Settler::Binding* Settler::binding_here(uint32_t id) {
  const int32_t top = names_[id].binding;
  if (top < 0 || bindings_[static_cast<size_t>(top)].graph != here()) return nullptr;
  return &bindings_[static_cast<size_t>(top)];
}

// Whether a graph around this one has the name, for a name that is not bound here.
bool Settler::known_outside(uint32_t id) const {
  if (names_[id].binding >= 0) return true;
  const int32_t top = names_[id].declared;
  if (top < 0) return false;
  const Declared& declared = declared_[static_cast<size_t>(top)];
  return declared.graph != here() || declared.below >= 0;
}

void Settler::enter(int32_t index) {
  frames_.push_back({.graph = index, .bindings = bindings_.size(), .declared = declared_.size()});
  declare_outputs();
  bind_initializers();
  bind_inputs();
}

void Settler::declare_outputs() {
  for (const Node& node : graph(here()).nodes)
    for (const std::string_view output : node.outputs) {
      if (output.empty()) continue;
      const uint32_t id = id_of(output);
      const int32_t top = names_[id].declared;
      if (top >= 0 && declared_[static_cast<size_t>(top)].graph == here()) {
        ++declared_[static_cast<size_t>(top)].left;
        continue;
      }
      names_[id].declared = static_cast<int32_t>(declared_.size());
      declared_.push_back({.id = id, .graph = here(), .depth = depth(), .left = 1, .below = top});
    }
}

void Settler::bind(Binding binding) {
  binding.graph = here();
  binding.depth = depth();
  binding.below = names_[binding.id].binding;
  names_[binding.id].binding = static_cast<int32_t>(bindings_.size());
  bindings_.push_back(binding);
}

// An input or initialiser, which keeps its name unless a graph around has it.
void Settler::bind_constant(std::string_view& name, uint32_t id, int32_t initializer) {
  if (known_outside(id)) {
    oddities_->note("{} values hide one of a graph around theirs; they were renamed", name);
    name = fresh_->make(std::string(name));
  }
  bind({.id = id, .initializer = initializer, .name_taken = true, .name = name});
}

void Settler::bind_initializers() {
  std::vector<Constant>& initializers = graph(here()).initializers;
  size_t kept = 0;
  for (size_t i = 0; i < initializers.size(); ++i) {
    if (kept != i) initializers[kept] = std::move(initializers[i]);
    Constant& constant = initializers[kept];
    ++kept;
    if (constant.name.empty()) continue;
    const uint32_t id = id_of(constant.name);
    if (const Binding* first = binding_here(id)) {
      oddities_->note("{} initialisers are given more than once; the last one counts",
                      constant.name);
      constant.name = first->name;
      initializers[static_cast<size_t>(first->initializer)] = std::move(constant);
      --kept;
      continue;
    }
    bind_constant(constant.name, id, static_cast<int32_t>(kept - 1));
  }
  initializers.erase(initializers.begin() + static_cast<ptrdiff_t>(kept), initializers.end());
}

void Settler::bind_inputs() {
  GraphTable& table = graph(here());
  const bool given_by_caller = is_main_ && depth() == 0;
  size_t kept = 0;
  for (size_t i = 0; i < table.inputs.size(); ++i) {
    if (kept != i) table.inputs[kept] = std::move(table.inputs[i]);
    std::string_view& name = table.inputs[kept].name;
    ++kept;
    if (name.empty()) continue;
    const uint32_t id = id_of(name);
    Binding* first = binding_here(id);
    if (first == nullptr) {
      bind_constant(name, id, -1);
    } else if (given_by_caller) {
      if (first->initializer < 0) oddities_->note("{} inputs are listed more than once", name);
      --kept;
    } else if (first->initializer >= 0) {
      // A body's inputs are always given: the initialiser is a default that nobody needs.
      table.initializers[static_cast<size_t>(first->initializer)].name =
          fresh_->make(std::string(name));
      name = first->name;
      first->initializer = -1;
    } else {
      oddities_->note("{} inputs are listed more than once", name);
      name = fresh_->make(std::string(name));
    }
  }
  table.inputs.erase(table.inputs.begin() + static_cast<ptrdiff_t>(kept), table.inputs.end());
}

bool Settler::read(std::string_view& name) {
  if (name.empty()) return true;
  const uint32_t id = id_of(name);
  if (const int32_t top = names_[id].binding; top >= 0) {
    const Binding& binding = bindings_[static_cast<size_t>(top)];
    name = binding.name;
    const int32_t reader = reader_at(binding.depth);
    const bool is_node = static_cast<size_t>(reader) < graph(binding.graph).nodes.size();
    if (binding.node >= 0 && is_node)
      edges_[static_cast<size_t>(binding.graph)].emplace_back(binding.node, reader);
    return true;
  }
  const int32_t top = names_[id].declared;
  if (top < 0) return false;
  const Declared& declared = declared_[static_cast<size_t>(top)];
  forwards_[forward_key(declared.graph, id)].push_back({&name, reader_at(declared.depth)});
  if (!unsorted_[static_cast<size_t>(declared.graph)]) to_sort_.push_back(declared.graph);
  unsorted_[static_cast<size_t>(declared.graph)] = true;
  return true;
}

void Settler::write(std::string_view& name) {
  if (name.empty()) return;
  const uint32_t id = id_of(name);
  const int32_t node = reader_at(depth());
  const Binding* before = binding_here(id);
  Declared& declared = declared_[static_cast<size_t>(names_[id].declared)];
  const bool taken = before != nullptr ? before->name_taken : known_outside(id);
  if (before != nullptr)
    oddities_->note("{} values are written more than once; readers see the last one before them",
                    name);
  else if (taken)
    oddities_->note("{} values hide one of a graph around theirs; they were renamed", name);
  if (taken || declared.left > 1) name = fresh_->make(std::string(name));
  --declared.left;
  bind({.id = id, .node = node, .name_taken = taken, .name = name});
  if (forwards_.empty()) return;
  const auto waiting = forwards_.find(forward_key(here(), id));
  if (waiting == forwards_.end()) return;
  for (const Forward& forward : waiting->second) {
    *forward.read = name;
    edges_[static_cast<size_t>(here())].emplace_back(node, forward.reader);
  }
  forwards_.erase(waiting);
}

void Settler::step() {
  Frame& frame = frames_.back();
  std::vector<Node>& nodes = graph(frame.graph).nodes;
  if (static_cast<size_t>(frame.node) == nodes.size()) return leave();
  Node& node = nodes[static_cast<size_t>(frame.node)];
  if (!frame.inputs_read) {
    for (std::string_view& input : node.inputs)
      if (!read(input)) {
        fault_ = fmt::format(
            "{} reads '{}', which no node, input or initialiser makes; the file is damaged, or cut "
            "out of another one",
            shown(node, static_cast<size_t>(frame.node)), input);
        return;
      }
    frame.inputs_read = true;
  }
  for (; frame.attribute < node.attributes.size(); ++frame.attribute, frame.body = 0) {
    const std::vector<int32_t>& bodies = node.attributes[frame.attribute].graphs;
    if (frame.body < bodies.size()) return enter(bodies[frame.body++]);
  }
  for (std::string_view& output : node.outputs) write(output);
  ++frame.node;
  frame.attribute = frame.body = 0;
  frame.inputs_read = false;
}

void Settler::leave() {
  const Frame frame = frames_.back();
  GraphTable& table = graph(frame.graph);
  for (Value& output : table.outputs)
    if (!read(output.name)) {
      fault_ = fmt::format("graph '{}' gives out '{}', which no node, input or initialiser makes",
                           table.name, output.name);
      return;
    }
  for (Value& value : table.value_info)
    if (const auto id = ids_.find(value.name); id != ids_.end())
      if (const Binding* binding = binding_here(id->second)) value.name = binding->name;
  for (size_t i = bindings_.size(); i-- > frame.bindings;)
    names_[bindings_[i].id].binding = bindings_[i].below;
  for (size_t i = declared_.size(); i-- > frame.declared;)
    names_[declared_[i].id].declared = declared_[i].below;
  bindings_.resize(frame.bindings);
  declared_.resize(frame.declared);
  frames_.pop_back();
}

void Settler::sort(int32_t index) {
  GraphTable& table = graph(index);
  const NodeOrder found =
      order_nodes(static_cast<int32_t>(table.nodes.size()), edges_[static_cast<size_t>(index)]);
  if (!found.cycle.empty()) {
    constexpr size_t kShown = 6;
    std::string path;
    for (size_t i = 0; i <= found.cycle.size(); ++i) {
      const auto node = static_cast<size_t>(found.cycle[i % found.cycle.size()]);
      if (i != 0) path += " -> ";
      if (i == kShown && found.cycle.size() > kShown) {
        path += fmt::format("... ({} nodes)", found.cycle.size());
        break;
      }
      path += shown(table.nodes[node], node);
    }
    fault_ = fmt::format("nodes of graph '{}' need each other's results: {}", table.name, path);
    return;
  }
  std::vector<Node> sorted;
  sorted.reserve(table.nodes.size());
  for (const int32_t node : found.order)
    sorted.push_back(std::move(table.nodes[static_cast<size_t>(node)]));
  table.nodes = std::move(sorted);
  oddities_->note("{} graphs list nodes before what they read; they were sorted", table.name);
}

std::optional<std::string> Settler::run(int32_t root, bool is_main) {
  is_main_ = is_main;
  enter(root);
  while (!frames_.empty() && !fault_) step();
  for (const int32_t index : to_sort_)
    if (!fault_) sort(index);
  to_sort_.clear();
  return fault_;
}

}  // namespace

std::string_view FreshNames::make(std::string wanted) {
  if (!collected_) collect();
  std::string name = wanted;
  while (taken_.contains(name)) name = fmt::format("{}:{}", wanted, next_++);
  const std::string_view kept = file_->model.keep(std::move(name));
  taken_.insert(kept);
  return kept;
}

void FreshNames::collect() {
  collected_ = true;
  for (const GraphTable& graph : file_->graphs) {
    for (const Node& node : graph.nodes) {
      taken_.insert(node.inputs.begin(), node.inputs.end());
      taken_.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const Constant& constant : graph.initializers) taken_.insert(constant.name);
    for (const auto* values : {&graph.inputs, &graph.outputs})
      for (const Value& value : *values) taken_.insert(value.name);
  }
}

Status settle_names(ParsedFile& file, FreshNames& fresh, Oddities& oddities,
                    const std::string& name) {
  Settler settler(file, fresh, oddities);
  std::optional<std::string> fault = settler.run(0, true);
  for (const Function& function : file.functions)
    if (!fault) fault = settler.run(function.graph, false);
  if (fault) return make_error(ErrorCode::kBadModel, name, std::move(*fault));
  return {};
}

}  // namespace edgesage::onnx
