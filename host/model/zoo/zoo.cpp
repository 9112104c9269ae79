// The list of networks (zoo.h).
#include "host/model/zoo/zoo.h"

namespace fettle::model {

std::span<const ZooNetwork> zoo() {
  static const ZooNetwork kNetworks[] = {
      {"resnet-18", "ResNet v1 of 18 layers (He and others, 2015)", write_resnet_18, {1, 1000}},
      {"resnet-34", "ResNet v1 of 34 layers", write_resnet_34, {1, 1000}},
      {"resnet-50",
       "ResNet v1.5 of 50 layers, the stride in the 3x3 convolutions",
       write_resnet_50,
       {1, 1000}},
      {"vgg-16", "VGG of 16 layers (Simonyan and Zisserman, 2014)", write_vgg_16, {1, 1000}},
      {"mobilenet-v1",
       "MobileNet v1, width 1 (Howard and others, 2017)",
       write_mobilenet_v1,
       {1, 1000}},
      {"mobilenet-v2",
       "MobileNet v2, width 1 (Sandler and others, 2018)",
       write_mobilenet_v2,
       {1, 1000}},
      {"squeezenet-1.1", "SqueezeNet 1.1 (Iandola and others, 2016)", write_squeezenet, {1, 1000}},
      {"inception-v3",
       "Inception v3, 299x299 (Szegedy and others, 2015)",
       write_inception_v3,
       {1, 1000}},
      {"densenet-121",
       "DenseNet of 121 layers (Huang and others, 2016)",
       write_densenet_121,
       {1, 1000}},
      {"bert-base",
       "BERT-base's encoder over 128 tokens (Devlin and others, 2018)",
       write_bert_base,
       {1, 128, 768}},
  };
  return kNetworks;
}

const ZooNetwork* find_in_zoo(const std::string& name) {
  for (const ZooNetwork& network : zoo()) {
    if (name == network.name) return &network;
  }
  return nullptr;
}

Result<void> write_zoo_network(const ZooNetwork& network, std::uint64_t seed,
                               const std::string& path) {
  NetworkWriter writer(network.name, seed);
  const NetworkWriter::Tensor output = network.write(writer);
  return writer.save(output, network.output, path);
}

}  // namespace fettle::model
