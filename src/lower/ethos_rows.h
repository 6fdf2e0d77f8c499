// Rows of an Ethos-U: which operators it runs, and as what, after Vela's own decomposition.
#pragma once

#include "src/lower/row_builder.h"

namespace edgesage {

// Places and lowers every operator of the builder's graph.
void lower_ethos(RowBuilder& builder);

}  // namespace edgesage
