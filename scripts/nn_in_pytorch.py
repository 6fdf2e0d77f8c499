"""The network of src/nn and its losses as PyTorch modules, for scripts/make_nn_goldens.py.

Written from the headers of src/nn alone and differentiated by autograd, so that a fault of the
C++ network is not repeated here.
"""

import math

import torch
from torch import nn
from torch.nn import functional


def mean_over(h, edges):
    """Mean of h over the sources of the edges that end in each node; 0 where there are none."""
    source, target = edges
    total = torch.zeros_like(h).index_add(0, target, h[source])
    count = torch.zeros(len(h), dtype=h.dtype).index_add(
        0, target, torch.ones(len(target), dtype=h.dtype))
    return total / count.clamp(min=1).unsqueeze(1)


class Sage(nn.Module):
    """One GraphSAGE layer with a mean over either kind of neighbours, and a residual."""

    def __init__(self, hidden):
        super().__init__()
        self.linear = nn.Linear(3 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-5)

    def forward(self, h, producers, consumers):
        seen = torch.cat([h, mean_over(h, producers), mean_over(h, consumers)], dim=1)
        return h + torch.relu(self.norm(self.linear(seen)))


class CostNetwork(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden, quantities = config["hidden"], config["quantities"]
        self.config = config
        columns = sum(2 if q["read_out"] == "max_plus_sum" else 1 for q in quantities)
        self.embedding = nn.Embedding(config["kinds"], config["embedding"])
        self.encoder = nn.Linear(config["features"] + config["embedding"], hidden)
        self.encoder_norm = nn.LayerNorm(hidden, eps=1e-5)
        self.layers = nn.ModuleList(Sage(hidden) for _ in range(config["layers"]))
        self.node_head = nn.Sequential(
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, columns))
        self.graph_head = nn.Sequential(
            nn.Linear(2 * hidden + 1 + config["globals"], hidden), nn.ReLU(),
            nn.Linear(hidden, 2 * len(quantities)))

    def slices(self):
        """Name of a slice -> (parameter, whether it is stored transposed)."""
        named = {"embedding": (self.embedding.weight, False)}

        def dense(name, linear, norm=None):
            named[name + ".weight"] = (linear.weight, True)
            named[name + ".bias"] = (linear.bias, False)
            if norm is not None:
                named[name + ".gain"] = (norm.weight, False)
                named[name + ".shift"] = (norm.bias, False)

        dense("encoder", self.encoder, self.encoder_norm)
        for number, layer in enumerate(self.layers, start=1):
            dense(f"layer{number}", layer.linear, layer.norm)
        dense("node_hidden", self.node_head[0])
        dense("node_out", self.node_head[2])
        dense("graph_hidden", self.graph_head[0])
        dense("graph_out", self.graph_head[2])
        return named

    def forward(self, batch):
        h = torch.cat([batch.x, self.embedding(batch.kind)], dim=1)
        h = torch.relu(self.encoder_norm(self.encoder(h)))
        for layer in self.layers:
            h = layer(h, batch.producers, batch.consumers)
        bounded = 6 * torch.tanh(self.node_head(h) / 6)
        embedding, heads = [], []
        for g in range(batch.graphs):
            own = h[batch.nodes(g)]
            if len(own) > 0:
                pooled = torch.cat([own.mean(dim=0), own.max(dim=0).values])
            else:
                pooled = torch.zeros(2 * self.config["hidden"], dtype=h.dtype)
            size = torch.tensor([math.log1p(len(own))], dtype=h.dtype)
            embedding.append(pooled)
            heads.append(self.graph_head(torch.cat([pooled, size, batch.globals[g]])))
        return ReadOut(self.config, batch, batch.log_prior + bounded, torch.stack(heads),
                       torch.stack(embedding))


class ReadOut:
    """Costs of nodes, operators and graphs, from the heads."""

    def __init__(self, config, batch, log_cost, heads, embedding):
        quantities = config["quantities"]
        graphs, count = batch.graphs, len(quantities)
        self.embedding = embedding
        log_factor = 1.5 * torch.tanh(heads[:, :count] / 1.5)
        scale = torch.tensor([q["overhead_scale"] for q in quantities], dtype=heads.dtype)
        overhead = torch.exp(log_factor) * scale * functional.softplus(heads[:, count:])
        per_node = log_factor[batch.graph_of_node]
        totals, node_costs, levels = [], [], []
        self.op_level = []  # a quantity: cost of an operator as its loss sees it
        column = 0
        for q, quantity in enumerate(quantities):
            kinds = {"sum": ["sum"], "max": ["max"], "max_plus_sum": ["max", "sum"]}
            value = overhead[:, q]
            charged = torch.zeros(batch.node_count, dtype=heads.dtype)
            for kind in kinds[quantity["read_out"]]:
                logs = log_cost[:, column] + per_node[:, q]
                part = torch.stack([self.reduce(kind, logs[batch.nodes(g)], config["max_power"])
                                    for g in range(graphs)])
                charged = charged + self.shares(part, logs)
                value = value + part
                levels.append(torch.exp(logs))
                column += 1
            totals.append(value)
            node_costs.append(charged)
            self.op_level.append(self.operators(batch, quantity["read_out"], levels[-1]))
        self.log_factor, self.overhead = log_factor, overhead
        self.totals = torch.stack(totals, dim=1)
        self.node_levels = torch.stack(levels, dim=1)
        self.node_costs = torch.stack(node_costs, dim=1)
        self.op_costs = torch.zeros(batch.operators, count, dtype=heads.dtype).index_add(
            0, batch.node_op, self.node_costs)

    @staticmethod
    def reduce(kind, logs, power):
        logs = logs[torch.isfinite(logs)]
        if len(logs) == 0:
            return torch.zeros((), dtype=logs.dtype)
        if kind == "sum":
            return torch.exp(logs).sum()
        return torch.exp(torch.logsumexp(power * logs, dim=0) / power)

    @staticmethod
    def shares(part, logs):
        """What a node adds: the derivative in the logarithm of its cost."""
        if not part.requires_grad:
            return torch.zeros_like(logs).detach()
        found = torch.autograd.grad(part.sum(), logs, retain_graph=True, allow_unused=True)[0]
        return torch.zeros_like(logs).detach() if found is None else found

    @staticmethod
    def operators(batch, read_out, levels):
        """Sum over the operator's nodes, or the largest of them; 0 without nodes."""
        empty = torch.zeros(batch.operators, dtype=levels.dtype)
        if read_out == "max":
            return empty.scatter_reduce(0, batch.node_op, levels, "amax", include_self=True)
        return empty.index_add(0, batch.node_op, levels)


# ---- the loss


def huber(error, delta):
    return functional.huber_loss(error, torch.zeros_like(error), reduction="none",
                                 delta=delta) / delta


def node_loss(batch, options, quantity, level, q, g):
    """None where the graph has no labelled operator."""
    label = batch.op_label[batch.operators_of(g), q]
    cost = level[batch.operators_of(g)]
    known = ~torch.isnan(label)
    whole = label[known].sum()
    if not whole > 0:
        return None
    total = batch.log_total[g, q]
    floor = options["node_floor"] * (whole if torch.isnan(total) else torch.exp(total))
    label, cost = label[known], cost[known]
    power = options["peak_share_power" if quantity["read_out"] == "max" else "node_share_power"]
    share = ((label + floor) / whole) ** power
    error = torch.log((cost + floor) / (label + floor))
    return (share / share.sum() * huber(error, options["node_delta"])).sum()


def loss_of(config, options, batch, out):
    loss = torch.zeros((), dtype=batch.x.dtype)
    for q, quantity in enumerate(config["quantities"]):
        labelled = ~torch.isnan(batch.log_total[:, q])
        if labelled.any():
            weight = batch.weight[labelled]
            total = out.totals[labelled, q]
            real = total > 0
            errors = huber(torch.log(total[real]) - batch.log_total[labelled, q][real],
                           options["delta"])
            loss = loss + options["total_weight"][q] * (weight[real] * errors).sum() / weight.sum()
        if not quantity["node_labels"]:
            continue
        parts = [(batch.weight[g], node_loss(batch, options, quantity, out.op_level[q], q, g))
                 for g in range(batch.graphs)]
        parts = [(weight, part) for weight, part in parts if part is not None]
        if parts:
            weights = sum(weight for weight, _ in parts)
            loss = loss + options["node_weight"][q] * sum(w * p for w, p in parts) / weights
    return loss
