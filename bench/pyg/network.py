"""The network of src/nn once more in PyTorch Geometric, written the way its users write one.

Two SAGE convolutions a layer (producers with the node's own vector, consumers without), layer norm,
ReLU, residual; a node head and a graph head; sums and a smooth maximum as read-outs.
"""

import torch
from torch import nn
from torch_geometric.nn import SAGEConv, global_max_pool, global_mean_pool

FEATURES, KINDS, EMBEDDING, GLOBALS, QUANTITIES = 69, 40, 16, 16, 2
NODE_BOUND, FACTOR_BOUND, POWER = 6.0, 1.5, 16.0


def bounded(value, bound):
    return bound * torch.tanh(value / bound)


class Layer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.from_producers = SAGEConv(hidden, hidden, aggr="mean")
        self.from_consumers = SAGEConv(hidden, hidden, aggr="mean", root_weight=False, bias=False)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, h, producers, consumers):
        z = self.from_producers(h, producers) + self.from_consumers(h, consumers)
        return h + torch.relu(self.norm(z))


class Network(nn.Module):
    def __init__(self, hidden, layers=3):
        super().__init__()
        self.embedding = nn.Embedding(KINDS, EMBEDDING)
        self.encoder = nn.Sequential(
            nn.Linear(FEATURES + EMBEDDING, hidden), nn.LayerNorm(hidden), nn.ReLU())
        self.layers = nn.ModuleList(Layer(hidden) for _ in range(layers))
        self.node_head = nn.Sequential(
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, QUANTITIES))
        self.graph_head = nn.Sequential(
            nn.Linear(2 * hidden + 1 + GLOBALS, hidden), nn.ReLU(), nn.Linear(hidden, 2 * QUANTITIES))

    def forward(self, x, kind, producers, consumers, log_prior, global_features, counts, batch, graphs):
        """Totals (graphs x quantities) and costs (nodes x quantities). Edges are given in both
        directions; `batch` is None for one graph, and `counts` are its nodes."""
        h = self.encoder(torch.cat([x, self.embedding(kind)], dim=1))
        for layer in self.layers:
            h = layer(h, producers, consumers)
        pooled = torch.cat([global_mean_pool(h, batch, graphs), global_max_pool(h, batch, graphs),
                            torch.log1p(counts)[:, None], global_features], dim=1)
        head = self.graph_head(pooled)
        factor = bounded(head[:, :QUANTITIES], FACTOR_BOUND)
        overhead = torch.nn.functional.softplus(head[:, QUANTITIES:])
        log_cost = log_prior + bounded(self.node_head(h), NODE_BOUND)
        if batch is None:
            log_cost = log_cost + factor
            total = log_cost[:, 0].exp().sum()
            peak = torch.logsumexp(POWER * log_cost[:, 1], dim=0) / POWER
            return torch.stack([total, peak.exp()])[None] + factor.exp() * overhead, log_cost.exp()
        log_cost = log_cost + factor[batch]
        zeros = log_cost.new_zeros(graphs)
        total = zeros.index_add(0, batch, log_cost[:, 0].exp())
        largest = zeros.index_reduce(0, batch, log_cost[:, 1].detach(), "amax", include_self=False)
        powers = zeros.index_add(0, batch, (POWER * (log_cost[:, 1] - largest[batch])).exp())
        peak = (largest + powers.log() / POWER).exp()
        return torch.stack([total, peak], dim=1) + factor.exp() * overhead, log_cost.exp()


def chains(nodes, graphs=1):
    """Chains with a skip every fourth node, as in bench/nn_bench.cc: inputs of Network, and labels."""
    generator = torch.Generator().manual_seed(1)
    normal = lambda *shape: torch.randn(*shape, generator=generator)
    target = torch.arange(1, nodes)
    skip = torch.arange(4, nodes, 4)
    one = torch.stack([torch.cat([target - 1, skip - 4]), torch.cat([target, skip])])
    one = one[:, one[1].argsort(stable=True)]
    shift = nodes * torch.arange(graphs).repeat_interleave(one.shape[1])
    producers = one.repeat(1, graphs) + shift
    consumers = producers.flip(0)
    consumers = consumers[:, consumers[1].argsort(stable=True)].contiguous()
    count = nodes * graphs
    batch = torch.arange(graphs).repeat_interleave(nodes) if graphs > 1 else None
    inputs = {
        "x": normal(count, FEATURES),
        "kind": torch.randint(KINDS, (count,), generator=generator),
        "producers": producers,
        "consumers": consumers,
        "log_prior": normal(count, QUANTITIES),
        "global_features": normal(graphs, GLOBALS),
        "counts": torch.full((graphs,), float(nodes)),
        "batch": batch,
        "graphs": graphs,
    }
    labels = {"log_total": normal(graphs, QUANTITIES), "cost": normal(count, QUANTITIES).exp()}
    return inputs, labels


def loss_of(network, inputs, labels):
    """Huber losses of the logarithms of totals and of the nodes' first quantity."""
    total, cost = network(**inputs)
    huber = torch.nn.functional.huber_loss
    nodes = huber((cost[:, 0] + 1e-3).log(), (labels["cost"][:, 0] + 1e-3).log(), delta=0.1)
    return huber(total.log(), labels["log_total"], delta=0.05) / 0.05 + 0.5 * nodes / 0.1
