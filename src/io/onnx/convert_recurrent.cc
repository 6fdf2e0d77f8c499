// Rules for LSTM, GRU and RNN: one operator over the whole sequence, as TFLite has them. A GRU has
// none; it is a sequence RNN whose matrices hold the three gates, which gives its products and
// sizes.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

struct Cell {
  int64_t gates = 1;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  int64_t directions = 1;
  bool batch_first = false;
};

// Gate `gate` of a weight of shape [directions, gates * hidden, width] as [rows, width].
Id gate_of(Call& call, const Val& weights, int64_t direction, int64_t first_row, int64_t rows,
           int64_t width) {
  Emitter& net = call.net;
  const Constant& constant = *weights.constant;
  const int64_t bits = element_bits(constant.element);
  const Made made{data_type(constant.element), nullptr};
  const Id id = net.add_tensor("", made, width == 0 ? Shape{rows} : Shape{rows, width});
  const int64_t row_bytes = std::max<int64_t>(1, width) * bits / 8;
  const Shape all = weights.view.shape();
  const int64_t begin = (direction * all[1] + first_row) * row_bytes;
  net.tensor(id).name = constant.name;
  net.tensor(id).buffer = bits % 8 == 0 && weights.view.is_plain()
                              ? net.constants().slice(constant, begin, rows * row_bytes)
                              : net.constants().absent();
  return id;
}

Id state(Call& call, const Cell& cell) {
  const Id id = call.net.add_tensor("", call.made(), {cell.batch, cell.hidden});
  call.net.tensor(id).is_variable = true;
  return id;
}

// Inputs 1 to 19 of UNIDIRECTIONAL_SEQUENCE_LSTM: gates input, forget, cell, output; ONNX has
// input, output, forget, cell.
std::vector<Id> lstm_operands(Call& call, const Cell& cell, int64_t direction) {
  constexpr std::array<int64_t, 4> kGate{0, 2, 3, 1};
  std::vector<Id> ids;
  for (const auto& [input, width] : {std::pair{size_t{1}, cell.inputs}, {2, cell.hidden}})
    for (const int64_t gate : kGate)
      ids.push_back(
          gate_of(call, call.in(input), direction, gate * cell.hidden, cell.hidden, width));
  const bool peephole = call.has(7) && call.in(7).is_constant();
  for (const int64_t gate : {0, 2, 1})
    ids.push_back(peephole
                      ? gate_of(call, call.in(7), direction, gate * cell.hidden, cell.hidden, 0)
                      : kNoTensor);
  const bool bias = call.has(3) && call.in(3).is_constant();
  for (const int64_t gate : kGate)
    ids.push_back(bias ? gate_of(call, call.in(3), direction, gate * cell.hidden, cell.hidden, 0)
                       : call.net.absent(call.made(), {cell.hidden}));
  ids.insert(ids.end(), {kNoTensor, kNoTensor});  // no projection
  return ids;
}

// Weights, recurrent weights and bias, gates one below another.
std::vector<Id> rnn_operands(Call& call, const Cell& cell, int64_t direction) {
  const int64_t rows = cell.gates * cell.hidden;
  const bool bias = call.has(3) && call.in(3).is_constant();
  return {gate_of(call, call.in(1), direction, 0, rows, cell.inputs),
          gate_of(call, call.in(2), direction, 0, rows, cell.hidden),
          bias ? gate_of(call, call.in(3), direction, 0, rows, 0)
               : call.net.absent(call.made(), {rows})};
}

Id run_direction(Call& call, const Cell& cell, Id x, int64_t direction, bool backwards, bool lstm,
                 Id& cell_state) {
  Emitter& net = call.net;
  const Id time = net.ints({0});
  const auto reversed = [&](Id sequence) {
    Operator op;
    op.kind = OpKind::kReverseV2;
    op.inputs = {sequence, time};
    return net.add(std::move(op), net.made_of(sequence), Shape(net.shape(sequence)));
  };
  if (backwards) x = reversed(x);
  Operator op;
  op.kind = lstm ? OpKind::kUnidirectionalSequenceLstm : OpKind::kUnidirectionalSequenceRnn;
  op.inputs = {x};
  const std::vector<Id> operands =
      lstm ? lstm_operands(call, cell, direction) : rnn_operands(call, cell, direction);
  op.inputs.insert(op.inputs.end(), operands.begin(), operands.end());
  op.inputs.push_back(state(call, cell));
  if (lstm) {
    cell_state = state(call, cell);
    op.inputs.push_back(cell_state);
  }
  op.set("time_major", int64_t{1});
  op.set("fused_activation_function", int64_t{4});  // TANH
  const Id id = net.add(std::move(op), call.made(), {cell.steps, cell.batch, cell.hidden});
  return backwards ? reversed(id) : id;
}

// Y, Y_h, Y_c from the sequences of all directions [steps, batch, directions * hidden].
std::vector<Val> results(Call& call, const Cell& cell, Id sequence,
                         const std::vector<Id>& cell_states) {
  Emitter& net = call.net;
  std::vector<Val> values(3);
  const Shape whole{cell.steps, cell.batch, cell.directions, cell.hidden};
  // ONNX: steps, directions, batch, hidden; batch first: batch, steps, directions, hidden.
  const std::vector<int64_t> order =
      cell.batch_first ? std::vector<int64_t>{1, 0, 2, 3} : std::vector<int64_t>{0, 2, 1, 3};
  values[0] = call.result(sequence, View::plain(whole).transposed(order), 0);
  if (call.wants(1)) {
    const Id last =
        net.slice(sequence, {cell.steps - 1, 0, 0}, {1, cell.batch, cell.directions * cell.hidden});
    const View view = View::plain({cell.batch, cell.directions, cell.hidden});
    values[1] = call.result(last,
                            view.transposed(cell.batch_first ? std::vector<int64_t>{0, 1, 2}
                                                             : std::vector<int64_t>{1, 0, 2}),
                            1);
    if (last == sequence) values[1].made_by = -1;
  }
  if (call.wants(2) && !cell_states.empty()) {
    Id id = cell_states.front();
    if (cell_states.size() > 1) {
      Operator op;
      op.kind = OpKind::kConcatenation;
      op.inputs = cell_states;
      op.set("axis", int64_t{1});
      id = net.add(std::move(op), call.made(), {cell.batch, cell.directions * cell.hidden});
    }
    const View view = View::plain({cell.batch, cell.directions, cell.hidden});
    values[2] = call.result(id,
                            view.transposed(cell.batch_first ? std::vector<int64_t>{0, 1, 2}
                                                             : std::vector<int64_t>{1, 0, 2}),
                            2);
    values[2].made_by = -1;
  }
  values.resize(std::max<size_t>(1, std::min<size_t>(3, call.outputs())));
  return values;
}

Outcome recurrent(Call& call, int64_t gates, bool lstm) {
  if (call.count() < 3 || !call.has(0) || call.rank(0) != 3 || !call.has(1) || !call.has(2) ||
      call.rank(1) != 3 || call.rank(2) != 3 || !call.in(1).is_constant() ||
      !call.in(2).is_constant())
    return nothing();
  Cell cell;
  cell.gates = gates;
  cell.batch_first = call.node.attr_int("layout", 0) != 0;
  const Shape in = call.shape(0), weights = call.shape(1), recurrence = call.shape(2);
  cell.steps = in[cell.batch_first ? 1 : 0];
  cell.batch = in[cell.batch_first ? 0 : 1];
  cell.inputs = in[2];
  cell.hidden = recurrence[2];
  cell.directions = weights[0];
  if (weights[1] != gates * cell.hidden || weights[2] != cell.inputs ||
      recurrence[1] != weights[1] || cell.directions < 1 || cell.directions > 2)
    return call.bad("weights, recurrent weights and input do not fit each other");
  const Val& value = call.in(0);
  const Id x = call.x(value, cell.batch_first ? DimOrder{1, 0, 2} : DimOrder{0, 1, 2});
  const bool reverse = call.node.attr_string("direction", "forward") == "reverse";
  std::vector<Id> sequences, cell_states;
  for (int64_t direction = 0; direction < cell.directions; ++direction) {
    Id cell_state = kNoTensor;
    sequences.push_back(
        run_direction(call, cell, x, direction, reverse || direction == 1, lstm, cell_state));
    if (cell_state != kNoTensor) cell_states.push_back(cell_state);
  }
  Id sequence = sequences.front();
  if (sequences.size() > 1) {
    Operator op;
    op.kind = OpKind::kConcatenation;
    op.inputs = sequences;
    op.set("axis", int64_t{2});
    sequence = call.net.add(std::move(op), call.made(),
                            {cell.steps, cell.batch, cell.directions * cell.hidden});
  }
  if (gates == 3) call.note("GRU is counted as a sequence RNN whose matrices hold three gates");
  return results(call, cell, sequence, cell_states);
}

Outcome lstm(Call& call) { return recurrent(call, 4, true); }
Outcome gru(Call& call) { return recurrent(call, 3, false); }
Outcome rnn(Call& call) { return recurrent(call, 1, false); }

constexpr std::array kRules{
    NamedRule{"LSTM", lstm},
    NamedRule{"GRU", gru},
    NamedRule{"RNN", rnn},
};

}  // namespace

std::span<const NamedRule> recurrent_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
