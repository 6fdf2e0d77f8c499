// ncnn graphs: the shapes that the files state themselves, the work published for well-known
// networks, and text that is no graph.
#include "src/io/ncnn_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "src/io/model_file.h"
#include "src/io/ncnn_param.h"
#include "src/lower/rows.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) { return read_text(file, ErrorCode::kInternal).value(); }

std::vector<fs::path> graphs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(*test::data_dir() / "data" / "ncnn_param"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Input sizes of the benchmark, by model.
std::map<std::string, std::vector<int64_t>> input_sizes() {
  const CsvTable table =
      parse_csv(text_of(*test::data_dir() / "data" / "ncnn_model_inputs.csv"), "", {}).value();
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const auto& row : table.rows)
    sizes[row[0]] = {std::stoll(row[3]), std::stoll(row[2]), std::stoll(row[1])};
  return sizes;
}

Graph read_file(const fs::path& file) {
  NcnnInputShapes shapes;
  const auto parsed = parse_ncnn_param(text_of(file), file.string());
  EXPECT_TRUE(parsed) << parsed.error().to_string();
  if (!parsed) return {};
  const std::vector<NcnnLayer>& layers = parsed->layers;
  for (const NcnnLayer& layer : layers)
    if (layer.type == "Input")
      shapes[layer.outputs.front()] = input_sizes().at(file.stem().string());
  auto graph = read_ncnn(text_of(file), file.string(), shapes);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? std::move(*graph) : Graph{};
}

const Tensor& tensor(const Graph& graph, int32_t index) {
  return graph.main().tensors[static_cast<size_t>(index)];
}

std::string read_error(const std::string& text, ErrorCode code = ErrorCode::kBadModel) {
  const auto graph = read_ncnn(text, "x.param");
  EXPECT_FALSE(graph) << text;
  if (graph) return {};
  EXPECT_EQ(graph.error().code, code) << graph.error().to_string();
  EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos);
  return graph.error().to_string();
}

std::string chain(const std::string& layers, int layer_count, int blobs) {
  return fmt::format("7767517\n{} {}\nInput data 0 1 data 0=8 1=8 2=4\n{}\n", layer_count, blobs,
                     layers);
}

TEST(NcnnReader, ReadsAllGraphsAndAgreesWithTheShapesTheyState) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  int files = 0, stated = 0;
  for (const fs::path& file : graphs()) {
    const Graph graph = read_file(file);
    ASSERT_TRUE(validate(graph)) << file << validate(graph).error().to_string();
    ++files;
    std::map<std::string, Shape> shapes;
    for (const Tensor& one : graph.main().tensors) {
      ASSERT_GT(one.element_count(), 0);
      if (!one.name.empty()) shapes[one.name] = one.shape;
    }
    const std::vector<NcnnLayer> layers = parse_ncnn_param(text_of(file), "x")->layers;
    for (const NcnnLayer& layer : layers) {
      const std::vector<int64_t> hints = layer.integers(30);
      for (size_t i = 0; i < layer.outputs.size() && hints.size() >= 4 * (i + 1); ++i) {
        const auto found = shapes.find(layer.outputs[i]);
        if (found == shapes.end()) continue;  // another name of a tensor
        const int64_t *h = &hints[4 * i], rank = h[0];
        const Shape expected = rank == 1   ? Shape{1, h[1]}
                               : rank == 2 ? Shape{1, h[2], h[1]}
                                           : Shape{1, h[2], h[1], h[3]};
        EXPECT_EQ(found->second, expected) << file.stem() << " line " << layer.line;
        ++stated;
      }
    }
  }
  fmt::print("{} graphs, {} stated shapes\n", files, stated);
  EXPECT_EQ(files, 35);
  EXPECT_GE(stated, 1500);
}

// Each operator's shape follows from its inputs by TFLite's rules too.
TEST(NcnnReader, OperatorsHaveTheShapesThatTheirKindsHave) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  for (const fs::path& file : graphs()) {
    const Graph graph = read_file(file);
    for (const Operator& op : graph.main().operators) {
      // Grouped transposed convolutions are none of TFLite's.
      if (!has_shape_rule(op.kind) || op.kind == OpKind::kTransposeConv) continue;
      const auto shapes = infer_shapes(graph, graph.main(), op);
      ASSERT_TRUE(shapes) << file << " " << shapes.error().to_string();
      for (size_t i = 0; i < shapes->size(); ++i)
        ASSERT_EQ((*shapes)[i], tensor(graph, op.outputs[i]).shape)
            << file.stem() << " " << static_cast<int>(op.kind);
    }
  }
}

// Multiply-accumulates in millions, of the papers and of the tables of Keras and torchvision.
TEST(NcnnReader, WellKnownNetworksHaveThePublishedWork) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  struct Published {
    const char* model;
    double macs, tolerance;
  };
  const Published published[] = {
      {"mobilenet", 569, 0.01},        // Howard et al., 2017, table 8
      {"mobilenet_v2", 300, 0.05},     // Sandler et al., 2018; here block 1 also expands (13 M)
      {"mobilenet_v3", 219, 0.13},     // Howard et al., 2019, table 3, large; a wider variant
      {"mnasnet", 315, 0.01},          // Tan et al., 2019: B1
      {"resnet18", 1814, 0.01},        // torchvision: 1.81 G
      {"resnet50", 3800, 0.02},        // He et al., 2016, table 1 (strides in the 1x1)
      {"vgg16", 15470, 0.01},          // torchvision: 15.47 G
      {"alexnet", 724, 0.01},          // Krizhevsky et al., 2012, with two groups
      {"googlenet", 1582, 0.01},       // Szegedy et al., 2015: about 1.5 G
      {"efficientnet_b0", 390, 0.02},  // Tan and Le, 2019, table 2
      {"proxylessnasnet", 320, 0.06},  // Cai et al., 2019: mobile
      {"regnety_400m", 400, 0.01},     // Radosavovic et al., 2020
      {"shufflenet_v2", 146, 0.01},    // Ma et al., 2018, 1x
      {"shufflenet", 140, 0.1},        // Zhang et al., 2018, 1x
      // torchvision, 1.1: 349 M at 224x224 with maps of 55, 27, 13; here of 56, 28, 14.
      {"squeezenet", 349.0 * 14 * 14 / (13 * 13), 0.04},
  };
  for (const Published& network : published) {
    const fs::path file =
        *test::data_dir() / "data" / "ncnn_param" / (std::string(network.model) + ".param");
    const double macs = static_cast<double>(graph_totals(read_file(file)).macs) / 1e6;
    fmt::print("{:18} {:8.1f} M, published {:8.0f}\n", network.model, macs, network.macs);
    EXPECT_NEAR(macs, network.macs, network.tolerance * network.macs) << network.model;
  }
}

// From the text alone: a convolution has its weights times the positions of its stated output.
TEST(NcnnReader, WorkIsWhatWeightsAndStatedShapesSay) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  int compared = 0;
  for (const fs::path& file : graphs()) {
    const Graph graph = read_file(file);
    double expected = 0;
    bool all_stated = true;
    const std::vector<NcnnLayer> layers = parse_ncnn_param(text_of(file), "x")->layers;
    for (const NcnnLayer& layer : layers) {
      const std::vector<int64_t> hint = layer.integers(30);
      const bool convolves = layer.type == "Convolution" || layer.type == "ConvolutionDepthWise";
      if (convolves && hint.size() < 4) all_stated = false;
      if (convolves && all_stated)
        expected +=
            static_cast<double>(layer.integer(6, 0) * (hint[0] == 3 ? hint[1] * hint[2] : 1));
      if (layer.type == "InnerProduct") expected += static_cast<double>(layer.integer(2, 0));
      if (layer.type.starts_with("Deconvolution") || layer.type == "Gemm") all_stated = false;
    }
    if (!all_stated) continue;
    EXPECT_EQ(static_cast<double>(graph_totals(graph).macs), expected) << file.stem();
    ++compared;
  }
  EXPECT_GE(compared, 25);
}

TEST(NcnnReader, TwinsOfEightBitsComputeTheSameInInt8) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  for (const char* model : {"squeezenet", "mobilenet", "resnet18", "resnet50", "vgg16", "googlenet",
                            "mobilenet_ssd", "squeezenet_ssd"}) {
    const fs::path folder = *test::data_dir() / "data" / "ncnn_param";
    const Graph real = read_file(folder / (std::string(model) + ".param"));
    const Graph int8 = read_file(folder / (std::string(model) + "_int8.param"));
    EXPECT_EQ(graph_totals(int8).macs, graph_totals(real).macs) << model;
    EXPECT_LT(graph_totals(int8).weights_bytes, graph_totals(real).weights_bytes / 2) << model;
    int weighted_int8 = 0, weighted_float = 0;
    for (const Operator& op : int8.main().operators) {
      if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D &&
          op.kind != OpKind::kFullyConnected)
        continue;
      const DataType type = tensor(int8, op.inputs[1]).type;
      EXPECT_EQ(type, tensor(int8, op.inputs[0]).type);
      EXPECT_EQ(type, tensor(int8, op.outputs[0]).type);
      ++(type == DataType::kInt8 ? weighted_int8 : weighted_float);
    }
    EXPECT_GE(weighted_int8, 16) << model;
    EXPECT_LE(weighted_float, 1) << model;
  }
}

TEST(NcnnReader, GraphsLowerToEveryTarget) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  for (const fs::path& file : graphs()) {
    const Graph graph = read_file(file);
    for (const std::string& name : target_names()) {
      const Lowering lowering = lower(graph, target_from_name(name).value());
      EXPECT_FALSE(lowering.rows.empty()) << file << name;
      EXPECT_EQ(row_costs(graph, lowering).size(), lowering.rows.size());
    }
  }
}

TEST(NcnnReader, IsAModelFormat) {
  const test::TempDir folder;
  const fs::path file = folder.path() / "anything";
  const std::string text =
      "7767517\n2 2\nInput data 0 1 data\nConvolution c 1 1 data out 0=8 1=3 4=1 5=1 6=216\n";
  ASSERT_TRUE(write_file(file, std::as_bytes(std::span(text))));
  const auto missing = read_model(file);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(missing.error().message.find("--shape data:3x224x224"), std::string::npos);
  const auto graph = read_model(file, {.shapes = {{"data", {1, 3, 20, 10}}}});
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->format, "ncnn");
  EXPECT_EQ(tensor(*graph, graph->main().outputs[0]).shape, (Shape{1, 20, 10, 8}));
  EXPECT_FALSE(read_model(file, {.shapes = {{"image", {3, 20, 10}}}}));
  for (const std::vector<int64_t>& sides : std::vector<std::vector<int64_t>>{
           {}, {0, 1, 1}, {2, 3, 20, 10}, {1, 1, 1, 1, 1}, {-3, 5, 5}, {3, 1L << 40, 1}})
    EXPECT_FALSE(read_model(file, {.shapes = {{"data", sides}}}));
}

TEST(NcnnReader, UnknownLayersStayWithAWarning) {
  const auto graph = read_ncnn(
      chain("Mystery m 1 1 data mid -23330=4,3,2,3,5 0=7\nReLU r 1 1 mid out", 3, 3), "x");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const Operator& op = graph->main().operators[0];
  EXPECT_EQ(op.kind, OpKind::kUnknown);
  EXPECT_EQ(op.custom_code, "Mystery");
  EXPECT_EQ(tensor(*graph, op.outputs[0]).shape, (Shape{1, 3, 2, 5}));
  EXPECT_TRUE(std::any_of(graph->warnings.begin(), graph->warnings.end(), [](const auto& warning) {
    return warning.find("Mystery") != std::string::npos;
  }));
}

TEST(NcnnReader, DamagedTextIsAnErrorThatNamesTheLine) {
  const std::string good = chain("ReLU r 1 1 data out", 2, 2);
  ASSERT_TRUE(read_ncnn(good, "x"));
  EXPECT_NE(read_error("7767517").find("line 2"), std::string::npos);
  EXPECT_NE(read_error("7767518\n1 1\n").find("line 1"), std::string::npos);
  EXPECT_NE(read_error("7767517\n2\n").find("line 2"), std::string::npos);
  EXPECT_NE(read_error("7767517\n-2 1\n").find("line 2"), std::string::npos);
  EXPECT_NE(read_error("7767517\n99999999999999999999 1\n").find("line 2"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 data out", 3, 2)).find("cut short"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 data out", 1, 2)).find("1 blobs"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 data out", 2, 7)).find("2 blobs"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 nothing out", 2, 2)).find("line 4"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 out out", 2, 2)).find("cycle"), std::string::npos);
  EXPECT_NE(read_error(chain("ReLU r 1 1 data data", 2, 2)).find("already"), std::string::npos);
  for (const char* line : {"ReLU",
                           "ReLU r",
                           "ReLU r 1",
                           "ReLU r x 1 data out",
                           "ReLU r 1 -1 data out",
                           "ReLU r 2 1 data",
                           "ReLU r 1 2 data out",
                           "ReLU r 999999999999 1 data out",
                           "ReLU r 1 1 data out 0",
                           "ReLU r 1 1 data out =1",
                           "ReLU r 1 1 data out 0=",
                           "ReLU r 1 1 data out 0=a",
                           "ReLU r 1 1 data out 0=1,2",
                           "ReLU r 1 1 data out 0=nan",
                           "ReLU r 1 1 data out 0=inf",
                           "ReLU r 1 1 data out 0=1e999",
                           "ReLU r 1 1 data out -1=1",
                           "ReLU r 1 1 data out 64=1",
                           "ReLU r 1 1 data out 99999999999=1",
                           "ReLU r 1 1 data out -23300=2,1",
                           "ReLU r 1 1 data out -23300=-1",
                           "ReLU r 1 1 data out -23300=",
                           "ReLU r 1 1 data out -99999=1,1",
                           "ReLU r 0 1 out"})
    EXPECT_NE(read_error(chain(line, 2, 2)).find("line 4"), std::string::npos) << line;
}

TEST(NcnnReader, LayersThatDoNotFitAreErrorsThatNameTheLine) {
  for (const char* line : {"Convolution c 1 1 data out",
                           "Convolution c 1 1 data out 0=8",
                           "Convolution c 1 1 data out 1=3",
                           "Convolution c 1 1 data out 0=-8 1=3",
                           "Convolution c 1 1 data out 0=8 1=9",
                           "Convolution c 1 1 data out 0=8 1=3 6=7",
                           "Convolution c 1 1 data out 0=8 1=3 3=0",
                           "Convolution c 1 1 data out 0=8 1=3 2=4",
                           "Convolution c 1 1 data out 0=8 1=3 4=-5",
                           "Convolution c 1 1 data out 0=1e30 1=3",
                           "Convolution c 1 1 data out 0=8 1=1e18",
                           "Convolution c 1 1 data out 0=8 1=1 4=1e7",
                           "ConvolutionDepthWise c 1 1 data out 0=4 1=3 7=3",
                           "ConvolutionDepthWise c 1 1 data out 0=6 1=3 7=4",
                           "ConvolutionDepthWise c 1 1 data out 0=4 1=3 7=0",
                           "Deconvolution c 1 1 data out 0=4 1=2 4=900",
                           "Pooling p 1 1 data out",
                           "Pooling p 1 1 data out 1=9",
                           "Pooling p 1 1 data out 1=2 2=0",
                           "Pooling p 1 1 data out 7=1 8=9",
                           "InnerProduct f 1 1 data out 0=0",
                           "InnerProduct f 1 1 data out 0=10 2=9",
                           "Concat c 1 1 data out 0=3",
                           "Concat c 1 1 data out 0=-4",
                           "Slice s 1 1 data out",
                           "Slice s 1 1 data out -23300=1,5",
                           "Slice s 1 1 data out -23300=1,0",
                           "Slice s 1 1 data out -23300=2,2,2",
                           "Crop c 1 1 data out 2=9",
                           "Crop c 1 1 data out 2=-1",
                           "Crop c 1 1 data out 5=5",
                           "Crop c 1 1 data out -23309=1,3 -23310=1,2 -23311=1,0",
                           "Crop c 1 1 data out -23309=1,0",
                           "Crop c 1 1 data out -23309=1,0 -23310=1,1 -23311=1,7",
                           "Reshape r 1 1 data out 0=7",
                           "Reshape r 1 1 data out 0=-1 1=-1",
                           "Reshape r 1 1 data out 0=-2",
                           "Reshape r 1 1 data out 0=4e18",
                           "Permute p 1 1 data out 0=6",
                           "Permute p 1 1 data out 0=-1",
                           "ShuffleChannel s 1 1 data out 0=3",
                           "ShuffleChannel s 1 1 data out 0=0",
                           "Padding p 1 1 data out 0=-1",
                           "Padding p 1 1 data out 0=9e15",
                           "Interp i 1 1 data out 1=0",
                           "Interp i 1 1 data out 1=-2",
                           "Interp i 1 1 data out 1=1e12",
                           "Interp i 1 1 data out 3=-2",
                           "Eltwise e 1 1 data out",
                           "BinaryOp b 1 1 data out 0=99",
                           "Reduction r 1 1 data out 0=99",
                           "Reduction r 1 1 data out 0=3 1=0 -23303=1,9",
                           "MultiHeadAttention m 1 1 data out 0=8",
                           "Gemm g 1 1 data out 5=1 8=4",
                           "MemoryData m 0 1 out",
                           "MemoryData m 0 1 out 0=-3",
                           "MemoryData m 0 1 out 0=2e9 1=2e9",

                           "Mystery m 0 1 out",
                           "ReLU r 1 2 data out more"})
    EXPECT_NE(
        read_error(chain(line, 2, std::string(line).ends_with(" more") ? 3 : 2)).find("line 4"),
        std::string::npos)
        << line;
  read_error("7767517\n1 1\nMemoryData m 0 1 out 0=2\n");
}

// Every prefix of a file, and every file with a line less, is read or refused.
TEST(NcnnReader, ManglesOfRealGraphsNeverCrash) {
  EDGESAGE_REQUIRE(test::data_dir(), "published graphs; set EDGESAGE_DATA_DIR");
  for (const char* model : {"mobilenet_ssd", "nanodet_m", "vision_transformer", "shufflenet_v2"}) {
    const std::string text =
        text_of(*test::data_dir() / "data" / "ncnn_param" / (std::string(model) + ".param"));
    for (size_t length = 0; length < text.size(); length += 131)
      static_cast<void>(read_ncnn(text.substr(0, length), "x"));
    Rng rng(7);
    for (int i = 0; i < 400; ++i) {
      std::string mangled = text;
      for (int k = 0; k < 3; ++k) {
        const auto at = static_cast<size_t>(rng.integer(0, static_cast<int64_t>(text.size()) - 1));
        mangled[at] = "0123456789-=,. \nab"[static_cast<size_t>(rng.integer(0, 17))];
      }
      const auto graph = read_ncnn(mangled, "x");
      if (!graph) {
        EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos);
        continue;
      }
      EXPECT_TRUE(validate(*graph));
      EXPECT_GE(graph_totals(*graph).macs, 0);
    }
  }
}

}  // namespace
}  // namespace edgesage
