"""Which nodes of an ONNX file a kernel of ONNX Runtime computes.

The optimiser fuses, renames, removes and inserts nodes. What survives are names of values, and names of
nodes, some inside longer ones. So the nodes of the file get names that can be recognised (with_names),
and each kernel of the optimised model is traced back (Attribution): to the nodes whose results it has,
to those that its name holds, and from there to what they need that no other kernel computes.
"""

import re

import onnx

_TOKEN = re.compile(r"@(\d+)@")
_LAYOUT_KERNELS = ("ReorderInput", "ReorderOutput")
_FOLLOWERS = 8
_QUANTISED = ("QLinear", "QGemm")
_ACTIVATIONS = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "HardSigmoid")
_LAYOUT_DOMAIN = "com.microsoft.nchwc"
# The node of a group that the group is named after: the first of these.
_HEAVY = (
    "Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv", "LSTM", "GRU", "RNN", "Gemm", "MatMul",
    "MatMulInteger", "QLinearMatMul", "Attention", "Einsum", "If", "Loop", "Scan",
)  # fmt: skip


def _bodies(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def with_names(model):
    """Names node i of the main graph @i@, and the nodes of its bodies after it. Returns the names that
    the nodes of the main graph had, of those without one their first result's."""
    names = [node.name or next(filter(None, node.output), "") for node in model.graph.node]
    for index, node in enumerate(model.graph.node):
        node.name = f"@{index}@"
        bodies, count = list(_bodies(node)), 0
        while bodies:
            for inner in bodies.pop().node:
                count += 1
                inner.name = f"@{index}@.{count}"
                bodies.extend(_bodies(inner))
    return names


def _needs(node):
    """Values that a node reads, what its bodies read of outer graphs included."""
    needed = set(node.input)
    bodies = list(_bodies(node))
    while bodies:
        for inner in bodies.pop().node:
            needed.update(inner.input)
            bodies.extend(_bodies(inner))
    needed.discard("")
    return needed


class Attribution:
    """`graph` is the file's main graph and `names` what with_names gave for it, `kernels` are the nodes
    of the optimised model."""

    def __init__(self, graph, names, kernels):
        self.names = names
        self.nodes = list(graph.node)
        constants = {value.name for value in graph.initializer}
        constants.update(value.values.name for value in graph.sparse_initializer)
        self._inputs = {value.name for value in graph.input} - constants
        self.producer = {value: i for i, node in enumerate(self.nodes) for value in node.output if value}
        self._users = {}
        for index, node in enumerate(self.nodes):
            for value in _needs(node):
                self._users.setdefault(value, []).append(index)
        self._sources = [
            sorted(self.producer[value] for value in _needs(node) if value in self.producer) for node in self.nodes
        ]
        self.constant = self._constant_nodes()
        self.members = {}  # kernel's name -> its nodes, the one that it is named after first
        self.kernel_of = {}  # node -> kernel's name
        anchors = self._all_anchors(kernels)
        for name, nodes in anchors.items():
            for node in nodes:
                self.kernel_of.setdefault(node, name)
        for name, nodes in anchors.items():
            self.members[name] = self._ordered(nodes | self._absorbed(name, nodes))

    def _constant_nodes(self):
        """Nodes that depend on no input of the model."""
        constant = set()
        for index in self._topological():
            node = self.nodes[index]
            values = _needs(node)
            if node.op_type.startswith(("Random", "Multinomial", "Bernoulli")) or values & self._inputs:
                continue
            if all(source in constant for source in self._sources[index]):
                constant.add(index)
        return constant

    def _topological(self):
        """Files may list nodes in any order."""
        order, state = [], [0] * len(self.nodes)
        for root in range(len(self.nodes)):
            stack = [root]
            while stack:
                node = stack[-1]
                if state[node] == 0:
                    state[node] = 1
                    stack.extend(source for source in self._sources[node] if state[source] == 0)
                    continue
                stack.pop()
                if state[node] == 1:
                    state[node] = 2
                    order.append(node)
        return order

    def _all_anchors(self, kernels):
        anchors, made_by = {}, {}
        for kernel in kernels:
            made_by.update(dict.fromkeys(kernel.output, kernel.name))
            if self._is_mover(kernel):
                # Its result is what the kernel before it has computed.
                anchors[kernel.name] = set()
                before = anchors.get(made_by.get(kernel.input[0]), set())
                before.update(self.producer[value] for value in kernel.output if value in self.producer)
            else:
                anchors[kernel.name] = self._anchors(kernel)
        return anchors

    def _is_mover(self, kernel):
        """Only changes how the data lie, and is no node of the file."""
        if kernel.domain == _LAYOUT_DOMAIN:
            return kernel.op_type in _LAYOUT_KERNELS
        makes = [self.nodes[self.producer[value]].op_type for value in kernel.output if value in self.producer]
        return kernel.op_type in ("Reshape", "Transpose") and bool(makes) and kernel.op_type not in makes

    def _anchors(self, kernel):
        values = list(kernel.output)
        if kernel.domain == _LAYOUT_DOMAIN:
            # Its results have new names; it is named after the value that it stands for.
            values.append(kernel.name.removesuffix("_nchwc"))
        anchors = {self.producer[value] for value in values if value in self.producer}
        tokens = {int(token) for token in _TOKEN.findall(kernel.name)}
        anchors |= {token for token in tokens if token < len(self.nodes)}
        return anchors | self._followers(kernel, anchors)

    def _followers(self, kernel, anchors):
        """Nodes behind the anchors that kernels take over without a trace in names."""
        wanted = []
        if kernel.domain == _LAYOUT_DOMAIN and kernel.op_type == "Conv":
            if len(kernel.input) > 3 and kernel.input[3]:
                wanted.append(("Add", "Sum"))
                if any(attribute.name == "activation" for attribute in kernel.attribute):
                    wanted.append(_ACTIVATIONS)
        elif kernel.name.endswith("/MatMulAddFusion"):
            wanted.append(("Add",))
        elif kernel.op_type.startswith(_QUANTISED):
            wanted.append(("QuantizeLinear",))
        found, node = set(), max(anchors, default=None)
        for kinds in wanted:
            users = self._users_of(node) if node is not None else []
            if "QuantizeLinear" in kinds and len(users) == 1 and self.nodes[users[0]].op_type in _ACTIVATIONS:
                found.add(users[0])  # the quantisation's limits are the activation
                users = self._users_of(users[0])
            node = next((user for user in users if self.nodes[user].op_type in kinds), None)
            if node is None:
                break
            found.add(node)
        return found

    def _users_of(self, node):
        return sorted({user for value in self.nodes[node].output for user in self._users.get(value, ())})

    def _absorbed(self, name, anchors):
        absorbed, stack = set(), list(anchors)
        while stack:
            for source in self._sources[stack.pop()]:
                if source in self.kernel_of or source in self.constant:
                    continue
                self.kernel_of[source] = name
                absorbed.add(source)
                stack.append(source)
        return absorbed

    def _ordered(self, nodes):
        def rank(node):
            op = self.nodes[node].op_type
            return (_HEAVY.index(op) if op in _HEAVY else len(_HEAVY), -node)

        return sorted(nodes, key=rank)

    def outputs_near(self, index):
        """Names of values by which another reading of the file may know this node: its own results,
        then, where it was fused with what follows, those of its followers as far as they are alone."""
        names, node = [], index
        for _ in range(_FOLLOWERS):
            outputs = [value for value in self.nodes[node].output if value]
            names += outputs
            users = self._users_of(node)
            if len(users) != 1:
                break
            node = users[0]
        return names
