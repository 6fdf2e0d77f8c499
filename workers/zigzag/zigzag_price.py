"""The cost of one layer on ZigZag's `edge_tpu_like` machine.

A layer is what ZigZag calls a workload entry: an equation, loop sizes, precisions. ZigZag places its
loops on the array, tries orders of the remaining loops, allocates memory to each and keeps the order
of the least latency (of these, the least energy). Reading of the model, the machine and its mapping are
the ones that come with ZigZag; nothing of them is changed.
"""

import contextlib
import hashlib
import importlib.metadata
import itertools
import json
import logging
import os

import zigzag
from zigzag.datatypes import Constants
from zigzag.mapping.temporal_mapping import TemporalMappingType
from zigzag.opt.loma.engine import LomaEngine, NoValidLoopOrderingFoundException
from zigzag.opt.loma.memory_allocator import (
    MemoryAllocator,
    MemoryHierarchyTooSmallException,
    MemoryTooSmallException,
)
from zigzag.parser.workload_factory import WorkloadFactory
from zigzag.parser.workload_validator import WorkloadValidator
from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage
from zigzag.stages.parser.accelerator_parser import AcceleratorParserStage
from zigzag.stages.parser.workload_parser import WorkloadParserStage
from zigzag.stages.results.reduce_stages import MinimalLatencyStage
from zigzag.stages.stage import Stage

ZIGZAG_VERSION = importlib.metadata.version("zigzag-dse")
MACHINE = "edge_tpu_like"
LOOP_FACTORS = 6  # ZigZag's default: a layer's loops are split into so many factors at most
# Where so few orders exist, all are tried whatever the search.
FEW_ORDERS = 24
SEARCHES = ("short", "full")
# Loops over what a sum runs over: an output stays in its register until they are done.
REDUCTION = ("C", "FY", "FX")


class CannotPrice(Exception):
    """ZigZag has no cost for this layer; the message says why."""


class _LoopOrders(Stage):
    """In place of ZigZag's generator of loop orders: the same ones, or those that can be the best."""

    def __init__(self, list_of_callables, *, accelerator, layer, spatial_mapping, search, **kwargs):
        super().__init__(list_of_callables, **kwargs)
        self._accelerator = accelerator
        self._layer = layer
        self._spatial = spatial_mapping
        self._search = search

    def run(self):
        for mapping in self._mappings():
            stage = self.list_of_callables[0](
                self.list_of_callables[1:],
                accelerator=self._accelerator,
                layer=self._layer,
                spatial_mapping=self._spatial,
                temporal_mapping=mapping,
                **self.kwargs,
            )
            yield from stage.run()

    def _engine(self):
        return LomaEngine(
            accelerator=self._accelerator,
            layer=self._layer,
            spatial_mapping=self._spatial,
            mapping_type=TemporalMappingType.UNEVEN,
            loma_lpf_limit=LOOP_FACTORS,
        )

    def _mappings(self):
        engine = self._engine()
        loops = engine.get_temporal_loops()
        if self._search == "full":
            yield from engine.run()
            return
        engine.temporal_loop_dim_size = loops
        engine.update_min_lpf_factor(loops)
        engine.get_prime_factors()
        if engine.nb_permutations > FEW_ORDERS and self._fits(loops):
            orders = self._sums_first(engine.lpfs)
        else:
            orders = engine.ordering_generator()
            if self._square(loops):
                orders = filter(_not_mirrored, orders)
            if {dim.name for dim in loops} >= set(REDUCTION):
                orders = filter(_starts_sums, orders)
        yielded = False
        for order in orders:
            with contextlib.suppress(MemoryHierarchyTooSmallException, MemoryTooSmallException):
                mapping = MemoryAllocator(
                    self._accelerator, self._layer, self._spatial, order, TemporalMappingType.UNEVEN
                ).run()
                yielded = True
                yield mapping
        if not yielded:
            raise NoValidLoopOrderingFoundException("no order of the loops fits into the memories")

    def _square(self, loops):
        """Whether rows and columns may change places."""
        sizes = {dim.name: size for dim, size in loops.items()}
        images = self._layer.pr_layer_dim_sizes.data
        scales = [[factor for _, factor in pair] for pair in self._layer.pr_scaling_factors.values()]
        unrolled = {dim.name: size for dim, size in self._spatial.spatial_loop_dim_size}
        return (
            all(sizes.get(x) == sizes.get(y) and unrolled.get(x) == unrolled.get(y) for x, y in (("OX", "OY"), ("FX", "FY")))
            and len(set(images.values())) <= 1
            and all(scale == scales[0] for scale in scales)
        )

    def _fits(self, loops):
        """Whether half of the memory of weights and the memory of activations hold all that they are to
        hold at a time and weights, if summed over, are used again, so that any order that ends its sums
        first fetches each operand once, and weights ahead: no other order is better then."""
        links = self._layer.memory_operand_links
        hierarchy = self._accelerator.memory_hierarchy
        bits = self._layer.operand_size_bit
        held = dict(bits)
        weights = Constants.LAYER_OP_W
        of_weights = self._layer.loop_relevancy_info.get_r_layer_dims(weights)
        if all(dim in of_weights for dim in loops) and any(dim.name == "C" for dim in loops):
            return False
        for dim in of_weights:
            if dim.name not in REDUCTION:
                held[weights] /= loops.get(dim, 1)
        filled = {}
        for operand, size in held.items():
            below_dram = hierarchy.get_memory_levels(links.layer_to_mem_op(operand))[-2]
            filled[below_dram] = filled.get(below_dram, 0) + size * (2 if operand == weights else 1)
        return all(size <= level.memory_instance.size for level, size in filled.items())

    def _sums_first(self, factors):
        """Sums first, then the other loops in any order; `factors` are those that ZigZag orders."""
        split = {}
        for dim, factor in factors:
            split.setdefault(dim, []).append((dim, factor))
        names = {dim.name: dim for dim in split}
        first = [names[name] for name in REDUCTION if name in names]
        others = [dim for dim in split if dim not in first]
        orders = [[part for dim in (*first, *order) for part in split[dim]] for order in itertools.permutations(others)]
        if not first:  # then a part of the channels may come before the places
            for part in sorted(set(factors)):
                rest = {dim: list(parts) for dim, parts in split.items()}
                rest[part[0]].remove(part)
                orders += [[part, *(p for dim in order for p in rest[dim])] for order in itertools.permutations(others)]
        return orders


def _starts_sums(order):
    """Whether the two innermost loops are of the sums."""
    return order[0][0].name in REDUCTION and order[1][0].name in REDUCTION


def _not_mirrored(order):
    """False for one of two orders that differ by rows and columns."""
    names = [(dim.name, factor) for dim, factor in order]
    mirrored = [(name[0] + {"X": "Y", "Y": "X"}[name[1]] if len(name) == 2 else name, factor) for name, factor in names]
    return names <= mirrored


class Machine:
    """ZigZag with its machine and mapping read once. Not to be shared between threads."""

    def __init__(self, search):
        # It warns of every bandwidth that limits an unrolling, through the root logger.
        logging.getLogger("zigzag").setLevel(logging.CRITICAL)
        inputs = os.path.join(os.path.dirname(zigzag.__file__), "inputs")
        hardware = os.path.join(inputs, "hardware", MACHINE + ".yaml")
        mapping = os.path.join(inputs, "mapping", MACHINE + ".yaml")
        self._search = search
        self._accelerator = AcceleratorParserStage.parse_accelerator(hardware)
        self._mapping = WorkloadParserStage.parse_mapping_data(mapping)
        digest = hashlib.sha256()
        for path in (hardware, mapping):
            with open(path, "rb") as file:
                digest.update(file.read())
        # Costs are the same where this is the same.
        self.identity = f"zigzag-dse {ZIGZAG_VERSION} {MACHINE} {digest.hexdigest()[:16]} latency {search}"
        self.macs_per_cycle = self._accelerator.operational_array.total_unit_count

    def price(self, layer):
        """{"cycles", "energy_pj", "ideal_cycles", "macs"} of a workload entry; CannotPrice."""
        entry = {"id": 0, "name": "layer", **layer}
        try:
            validator = WorkloadValidator([entry])
            if not validator.validate():
                raise CannotPrice(f"ZigZag refuses the layer: {validator.validator.errors}")
            node = WorkloadFactory(validator.normalized_data, self._mapping).create().layer_node_list[0]
            stage = MinimalLatencyStage(
                [SpatialMappingGeneratorStage, MinimalLatencyStage, _LoopOrders, CostModelStage],
                accelerator=self._accelerator,
                layer=node,
                search=self._search,
                nb_mappings_generated=3,
                enable_mix_spatial_mapping_generation=False,
                access_same_data_considered_as_no_access=True,
            )
            cost = next(iter(stage.run()))[0]
        except (NoValidLoopOrderingFoundException, AssertionError, ValueError, KeyError) as error:
            raise CannotPrice(f"ZigZag finds no mapping: {type(error).__name__} {error}") from None
        return {
            "cycles": float(cost.latency_total2),
            "ideal_cycles": float(cost.ideal_temporal_cycle),
            "energy_pj": float(cost.energy_total),
            "macs": int(node.total_mac_count),
        }


def layer_key(layer):
    """Layers with the same text cost the same."""
    return json.dumps(layer, sort_keys=True, separators=(",", ":"))
