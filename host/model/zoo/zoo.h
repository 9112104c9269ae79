// Networks that everybody knows, made without a download: their structure as published, for one
// image of the usual size, with seeded weights instead of trained ones.
#pragma once

#include <span>
#include <stop_token>
#include <string>

#include "host/model/zoo/network_writer.h"

namespace fettle::model {

struct ZooNetwork {
  const char* name;
  const char* words;  // what it is, and of whom
  // Returns its output.
  NetworkWriter::Tensor (*write)(NetworkWriter& writer);
  NetworkWriter::Shape output;
};

std::span<const ZooNetwork> zoo();
const ZooNetwork* find_in_zoo(const std::string& name);  // null: none

enum class ZooNumbers {
  Float32,
  Int8,  // quantised (passes/quantize.h) with scales of what four small seeded images make of it
  PowersOfTwo,  // the same, with scales that are powers of two
};

// Internal: the file cannot be written; Canceled: it was stopped. Quantised ones are computed by
// the reference first, which takes some seconds; Unsupported: one with an operator that
// export_onnx() does not write.
Result<void> write_zoo_network(const ZooNetwork& network, std::uint64_t seed,
                               const std::string& path, ZooNumbers numbers = ZooNumbers::Float32,
                               const std::stop_token& stop = {});

// The structures.
NetworkWriter::Tensor write_resnet_18(NetworkWriter& writer);
NetworkWriter::Tensor write_resnet_34(NetworkWriter& writer);
NetworkWriter::Tensor write_resnet_50(NetworkWriter& writer);
NetworkWriter::Tensor write_vgg_16(NetworkWriter& writer);
NetworkWriter::Tensor write_mobilenet_v1(NetworkWriter& writer);
NetworkWriter::Tensor write_mobilenet_v2(NetworkWriter& writer);
NetworkWriter::Tensor write_squeezenet(NetworkWriter& writer);
NetworkWriter::Tensor write_inception_v3(NetworkWriter& writer);
NetworkWriter::Tensor write_densenet_121(NetworkWriter& writer);
NetworkWriter::Tensor write_bert_base(NetworkWriter& writer);

}  // namespace fettle::model
