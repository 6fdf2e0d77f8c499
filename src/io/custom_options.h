// Options of known custom operators, which files keep as FlexBuffers.
#pragma once

#include "src/graph/graph.h"

namespace edgesage {

// Gives results that the file leaves without a shape the one that the options say:
// TFLite_Detection_PostProcess (max_detections, max_classes_per_detection) has boxes [1,N,4],
// classes [1,N], scores [1,N] and a count [1]. Options that are damaged or absent are passed over.
void complete_custom_results(Graph& graph);

}  // namespace edgesage
