// The inner loops: one network on one block of devices, devices in vector lanes.
#pragma once

#include "src/simulate/fields.h"
#include "src/simulate/sim_network.h"

namespace edgesage::simulate {

// Time of each unique row, network.unique.size() rows of lanes; `energy` likewise where not null.
void price_rows(const SimNetwork& network, const Lanes* fields, Lanes* cost, Lanes* energy);

// What is paid once an inference: fixed cost, graph inputs and outputs, changes of side.
void price_overhead(const SimNetwork& network, const Lanes* fields, Lanes& out);

// Time of all rows, given each one's. `overlaps`: some device of the block runs branches side by
// side; `finish` is then scratch of the longest segment's rows, and `shortened`, if not null, gets
// for each segment the share of its rows' sum that remains.
void add_up(const SimNetwork& network, const Lanes* fields, bool overlaps, const Lanes* cost,
            Lanes* finish, Lanes* shortened, Lanes& out);

// Energy: the rows' and the static part of a latency.
void add_energy(const SimNetwork& network, const Lanes* fields, const Lanes* energy,
                const Lanes& latency, Lanes& out);

// Bytes of each moment; `out` is network.moments.size() rows of lanes, or null.
void price_memory(const SimNetwork& network, const Lanes* fields, Lanes* moments, Lanes& total);

}  // namespace edgesage::simulate
