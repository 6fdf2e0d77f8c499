#include "src/io/onnx/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgesage::onnx {
namespace {

using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;
using FunctionMap = std::map<FunctionKey, size_t>;

std::string shown(const Function& function) {
  return fmt::format("{}{}{}{}{}", function.domain, function.domain.empty() ? "" : ".",
                     function.name, function.overload.empty() ? "" : ":", function.overload);
}

std::optional<size_t> called(const FunctionMap& functions, const Node& node) {
  const auto found = functions.find({node.domain, node.op_type, node.overload});
  if (found == functions.end()) return std::nullopt;
  return found->second;
}

// Functions that the nodes of each function call, in bodies too.
std::vector<std::vector<size_t>> calls_of(const ParsedFile& file, const FunctionMap& functions) {
  std::vector<std::vector<size_t>> calls(file.functions.size());
  for (size_t i = 0; i < file.graphs.size(); ++i) {
    if (file.function_of[i] < 0) continue;
    for (const Node& node : file.graphs[i].nodes)
      if (const auto target = called(functions, node))
        calls[static_cast<size_t>(file.function_of[i])].push_back(*target);
  }
  return calls;
}

// "a -> b -> a", or nothing. A walk in depth with a stack of its own.
std::optional<std::string> find_circle(const ParsedFile& file, const FunctionMap& functions) {
  const std::vector<std::vector<size_t>> calls = calls_of(file, functions);
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(calls.size(), State::kNew);
  std::vector<std::pair<size_t, size_t>> open;  // function, and which of its calls is next
  for (size_t root = 0; root < calls.size(); ++root) {
    if (states[root] == State::kNew) open.emplace_back(root, 0);
    while (!open.empty()) {
      auto& [at, next] = open.back();
      states[at] = State::kOpen;
      if (next == calls[at].size()) {
        states[at] = State::kDone;
        open.pop_back();
        continue;
      }
      const size_t target = calls[at][next++];
      if (states[target] == State::kNew) {
        open.emplace_back(target, 0);
      } else if (states[target] == State::kOpen) {
        std::string circle;
        const auto first = std::ranges::find(open, target, &std::pair<size_t, size_t>::first);
        for (auto each = first; each != open.end() && each - first < 6; ++each)
          circle += shown(file.functions[each->first]) + " -> ";
        if (open.end() - first > 6) circle += "... -> ";
        return circle + shown(file.functions[target]);
      }
    }
  }
  return std::nullopt;
}

// What copies take, about.
size_t bytes_of(const Constant& constant) {
  return sizeof constant + 8 * constant.dims.size() + 16 * constant.strings.size();
}

size_t bytes_of(const Attribute& attribute) {
  size_t bytes = sizeof attribute + 8 * (attribute.floats.size() + attribute.ints.size()) +
                 16 * attribute.strings.size() + sizeof(ValueType) * attribute.types.size();
  for (const Constant& constant : attribute.tensors) bytes += bytes_of(constant);
  for (const ValueType& type : attribute.types) bytes += sizeof(Dimension) * type.shape.size();
  return bytes;
}

size_t bytes_of(const Value& value) {
  return sizeof value + sizeof(Dimension) * value.type.shape.size();
}

size_t bytes_of(const Node& node) {
  return sizeof node + sizeof(std::string_view) * (node.inputs.size() + node.outputs.size());
}

// The name of a call, which names in front of it lengthened: of deep calls the end is kept.
std::string prefix_of(const Node& node) {
  constexpr size_t kLong = 160;
  const std::string_view name = node.name.empty() ? node.op_type : node.name;
  if (name.size() <= kLong) return std::string(name);
  const size_t cut = name.find('/', name.size() - kLong);
  return std::string(cut == std::string_view::npos ? node.op_type : name.substr(cut + 1));
}

class Inliner {
 public:
  Inliner(ParsedFile& file, const FunctionMap& functions, FreshNames& fresh, int64_t limit_bytes)
      : file_(&file), functions_(&functions), fresh_(&fresh), limit_(limit_bytes) {}

  // Inlines all of one graph; bodies that come with it are at the end of the file's graphs.
  void expand(int32_t index);
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }

 private:
  // A call whose nodes are being put in place.
  struct Call {
    size_t function = 0;
    size_t next_node = 0;
    std::string prefix;
    std::vector<Attribute> attributes;
    std::unordered_map<std::string_view, std::string_view> names;
    std::vector<std::pair<std::string_view, std::string_view>> copies;  // outputs made elsewhere
  };
  // A body to be copied: with the names and attributes of a call, or (null) as it is.
  struct Body {
    int32_t from;
    int32_t to;
    Call* call;
  };

  GraphTable& graph(int32_t index) { return file_->graphs[static_cast<size_t>(index)]; }
  const Function& function_of(const Call& call) const { return file_->functions[call.function]; }
  void charge(size_t bytes);
  void open(Node node, size_t function, std::vector<Call>& calls);
  void close(Call& call, int32_t index, std::vector<Node>& to);
  std::string_view rename(Call* call, std::string_view name);
  Node copy_node(const Node& node, Call* call);
  std::optional<Attribute> copy_attribute(const Attribute& attribute, const Call* call);
  void copy_bodies(Node& node, Call* call, int32_t parent);
  void place_bodies(Node& node, Call* call, int32_t parent, std::vector<Body>& bodies);
  void copy_values(const std::vector<Value>& from, std::vector<Value>& to, Call* call);

  ParsedFile* file_;
  const FunctionMap* functions_;
  FreshNames* fresh_;
  int64_t limit_;
  int64_t used_bytes_ = 0;
  std::unordered_set<int32_t> placed_;  // bodies given to a function that have found their place
  std::optional<std::string> fault_;
};

void Inliner::charge(size_t bytes) {
  used_bytes_ += static_cast<int64_t>(bytes);
  if (used_bytes_ > limit_ && !fault_)
    fault_ = fmt::format(
        "the functions of the file expand to more than {} MB; they call each other too often",
        limit_ >> 20);
}

std::string_view Inliner::rename(Call* call, std::string_view name) {
  if (call == nullptr || name.empty()) return name;
  const auto [at, is_new] = call->names.try_emplace(name);
  if (is_new) {
    at->second = fresh_->make(fmt::format("{}/{}", call->prefix, name));
    charge(at->second.size() + 128);
  }
  return at->second;
}

void Inliner::open(Node node, size_t function, std::vector<Call>& calls) {
  const Function& definition = file_->functions[function];
  const GraphTable& text = graph(definition.graph);
  if (node.inputs.size() > text.inputs.size() || node.outputs.size() > text.outputs.size()) {
    fault_ = fmt::format("a call of function '{}' has {} inputs and {} outputs; it takes {} and {}",
                         shown(definition), node.inputs.size(), node.outputs.size(),
                         text.inputs.size(), text.outputs.size());
    return;
  }
  Call& call = calls.emplace_back();
  call.function = function;
  call.prefix = prefix_of(node);
  call.attributes = std::move(node.attributes);
  for (size_t i = 0; i < text.inputs.size(); ++i)
    call.names[text.inputs[i].name] = i < node.inputs.size() ? node.inputs[i] : "";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const std::string_view made = text.outputs[i].name;
    if (!call.names.try_emplace(made, node.outputs[i]).second)
      call.copies.emplace_back(made, node.outputs[i]);
  }
  charge(sizeof(Call) + call.prefix.size() + 128 * call.names.size());
}

// An output that is an input, or another output, needs a node that makes it.
void Inliner::close(Call& call, int32_t index, std::vector<Node>& to) {
  for (const auto& [from, output] : call.copies) {
    Node node;
    node.op_type = "Identity";
    node.inputs = {rename(&call, from)};
    node.outputs = {output};
    node.since = function_of(call).since;
    charge(bytes_of(node));
    to.push_back(std::move(node));
  }
  copy_values(graph(function_of(call).graph).value_info, graph(index).value_info, &call);
}

void Inliner::copy_values(const std::vector<Value>& from, std::vector<Value>& to, Call* call) {
  for (const Value& value : from) {
    charge(bytes_of(value));
    to.push_back({rename(call, value.name), value.type});
  }
}

std::optional<Attribute> Inliner::copy_attribute(const Attribute& attribute, const Call* call) {
  const Attribute* found = &attribute;
  if (call != nullptr && !attribute.reference.empty()) {
    const std::vector<Attribute>& defaults = function_of(*call).defaults;
    auto at = std::ranges::find(call->attributes, attribute.reference, &Attribute::name);
    if (at != call->attributes.end()) {
      found = &*at;
    } else {
      const auto given = std::ranges::find(defaults, attribute.reference, &Attribute::name);
      if (given == defaults.end()) return std::nullopt;
      found = &*given;
    }
  }
  charge(bytes_of(*found));
  Attribute copy = *found;
  copy.name = attribute.name;
  return copy;
}

// Its bodies are still those of the original.
Node Inliner::copy_node(const Node& node, Call* call) {
  Node copy;
  copy.op_type = node.op_type;
  copy.domain = node.domain;
  copy.overload = node.overload;
  copy.since = node.since;
  copy.name = node.name;
  if (call != nullptr) {
    copy.name = file_->model.keep(
        fmt::format("{}/{}", call->prefix, node.name.empty() ? node.op_type : node.name));
    charge(copy.name.size() + sizeof(std::string));
  }
  for (const std::string_view input : node.inputs) copy.inputs.push_back(rename(call, input));
  for (const std::string_view output : node.outputs) copy.outputs.push_back(rename(call, output));
  for (const Attribute& attribute : node.attributes)
    if (std::optional<Attribute> made = copy_attribute(attribute, call))
      copy.attributes.push_back(std::move(*made));
  charge(bytes_of(copy));
  return copy;
}

// Gives a copied node bodies of its own. One that the call handed in can be taken as it is, once.
void Inliner::place_bodies(Node& node, Call* call, int32_t parent, std::vector<Body>& bodies) {
  for (Attribute& attribute : node.attributes)
    for (int32_t& index : attribute.graphs) {
      const bool handed_in = file_->function_of[static_cast<size_t>(index)] < 0;
      if (call != nullptr && handed_in && placed_.insert(index).second) {
        graph(index).parent = parent;
        continue;
      }
      const auto made = static_cast<int32_t>(file_->graphs.size());
      file_->graphs.emplace_back().parent = parent;
      file_->function_of.push_back(-1);
      charge(sizeof(GraphTable));
      bodies.push_back({index, made, handed_in ? nullptr : call});
      index = made;
    }
}

void Inliner::copy_bodies(Node& node, Call* call, int32_t parent) {
  std::vector<Body> bodies;
  place_bodies(node, call, parent, bodies);
  while (!bodies.empty() && !fault_) {
    const Body body = bodies.back();
    bodies.pop_back();
    const GraphTable& from = graph(body.from);
    GraphTable& to = graph(body.to);
    to.name = from.name;
    for (const Constant& constant : from.initializers) {
      charge(bytes_of(constant));
      to.initializers.push_back(constant);
      to.initializers.back().name = rename(body.call, constant.name);
    }
    copy_values(from.inputs, to.inputs, body.call);
    copy_values(from.outputs, to.outputs, body.call);
    copy_values(from.value_info, to.value_info, body.call);
    for (const Node& inner : from.nodes) {
      if (fault_) return;
      place_bodies(to.nodes.emplace_back(copy_node(inner, body.call)), body.call, body.to, bodies);
    }
  }
}

void Inliner::expand(int32_t index) {
  const auto is_call = [&](const Node& node) { return called(*functions_, node).has_value(); };
  if (std::ranges::none_of(graph(index).nodes, is_call)) return;
  std::vector<Node> nodes = std::move(graph(index).nodes);
  std::vector<Node> expanded;
  std::vector<Call> calls;
  for (Node& node : nodes) {
    if (fault_) return;
    if (const auto function = called(*functions_, node)) {
      open(std::move(node), *function, calls);
    } else {
      expanded.push_back(std::move(node));
    }
    while (!calls.empty() && !fault_) {
      Call& call = calls.back();
      const GraphTable& text = graph(function_of(call).graph);
      if (call.next_node == text.nodes.size()) {
        close(call, index, expanded);
        calls.pop_back();
        continue;
      }
      Node made = copy_node(text.nodes[call.next_node++], &call);
      copy_bodies(made, &call, index);
      if (const auto function = called(*functions_, made)) {
        open(std::move(made), *function, calls);
      } else {
        expanded.push_back(std::move(made));
      }
    }
  }
  graph(index).nodes = std::move(expanded);
}

}  // namespace

Status inline_functions(ParsedFile& file, FreshNames& fresh, Oddities& oddities,
                        int64_t limit_bytes, const std::string& name) {
  if (file.functions.empty()) return {};
  FunctionMap functions;
  for (size_t i = 0; i < file.functions.size(); ++i) {
    const Function& function = file.functions[i];
    if (!functions.try_emplace({function.domain, function.name, function.overload}, i).second)
      oddities.note("{} functions are defined more than once; the first one counts",
                    shown(function));
  }
  if (const auto circle = find_circle(file, functions))
    return make_error(ErrorCode::kBadModel, name,
                      fmt::format("functions call each other in a circle: {}", *circle));
  Inliner inliner(file, functions, fresh, limit_bytes);
  for (size_t i = 0; i < file.graphs.size() && !inliner.fault(); ++i)
    if (file.function_of[i] < 0) inliner.expand(static_cast<int32_t>(i));
  if (inliner.fault()) return make_error(ErrorCode::kBadModel, name, *inliner.fault());
  return {};
}

}  // namespace edgesage::onnx
