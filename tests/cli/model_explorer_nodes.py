"""What Model Explorer's package makes of a model and of its node data: one JSON object.

  model_explorer_nodes.py MODEL.tflite NODE_DATA.json

`nodes` has the operators of the main graph in their order, each with its label and the value that
the node data gives it, found as the package documents: by the node's id, or by the name of one of
its output tensors. `unused` are keys that are no node's.
"""

import json
import sys

from model_explorer import config
from model_explorer import node_data_builder as builder
from model_explorer.builtin_tflite_flatbuffer_adapter import BuiltinTfliteFlatbufferAdapter

NO_OPERATORS = ("GraphInputs", "GraphOutputs", "pseudo_const", "pseudo_qconst")


def main():
    model, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    # The package's own classes refuse what they do not know.
    known = builder.GraphNodeData(
        results={key: builder.NodeDataResult(**value) for key, value in data["results"].items()},
        name=data["name"], gradient=[builder.GradientItem(**item) for item in data["gradient"]])
    page = config().add_model_from_path(model).add_node_data(data["name"], known)
    kept = json.loads(page.get_node_data(0).to_json_string())
    graphs = BuiltinTfliteFlatbufferAdapter().convert(model, {})["graphCollections"][0].graphs
    nodes, used = [], set()
    for node in graphs[0]["nodes"]:
        if node["label"] in NO_OPERATORS:
            continue
        names = [node["id"]]
        for output in node["outputsMetadata"]:
            names += [pair["value"] for pair in output["attrs"] if pair["key"] == "tensor_name"]
        found = [name for name in names if name in kept["results"]]
        used.update(found)
        nodes.append({"label": node["label"],
                      "values": [kept["results"][name]["value"] for name in found]})
    json.dump({"nodes": nodes, "unused": sorted(set(kept["results"]) - used),
               "gradient": kept["gradient"]}, sys.stdout)


if __name__ == "__main__":
    main()
