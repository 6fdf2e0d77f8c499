// Other shapes for a model's inputs, and what follows from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/graph/shape_inference.h"

namespace edgesage {

struct InputShapes {
  // By the name of an input of the main subgraph, or of a signature's port.
  std::map<std::string, Shape> by_name;
  // Replaces the first dimension of every input that has a batch: of two dimensions or more, and
  // of the size that the first such input has. 0: left as it is.
  int64_t batch = 0;
};

// Sets the shapes and infers those behind them, in the order of the operators. Where a constant
// of the file contradicts the new shape (a RESHAPE to [1,48] at a batch of 8), the result's first
// dimension is taken to follow the batch, and Graph::unsupported says so; where there is no rule
// for an operator, likewise, with a warning. Bodies of control flow keep their shapes.
//
// kInvalidArgument, naming the operator, where weights do not fit the new shape; for names that are
// no input (those there are are listed), another number of dimensions than the file has, and sizes
// that are not 1 to 2^31-1 or beyond 2^40 elements. Time: linear in the tables.
[[nodiscard]] Status set_input_shapes(Graph& graph, const InputShapes& wanted);

// A warning for each input of the main subgraph whose size the file leaves open: what it leaves
// open, what is used, how to say another.
void warn_of_open_inputs(Graph& graph);

// What files declare, compared with what follows from the operators. kBadModel for operators whose
// weights do not fit their input: no runtime can prepare them. Reshapes, splits and concatenations
// of another number of elements go to Graph::warnings and Graph::unsupported. Operands of open or
// zero size are not compared. Time: linear in the tables.
[[nodiscard]] Status check_declared_shapes(Graph& graph, std::string_view where);

}  // namespace edgesage
