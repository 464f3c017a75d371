#include "core/spec/tensors/manifest.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

Manifest Sample() {
  Manifest manifest;
  manifest.job = "job-1";
  manifest.version = 3;
  manifest.parent = 2;
  manifest.tensors = {{"a", DType::kBF16, {2, 3}, 12, std::string(64, 'a')},
                      {"b", DType::kF32, {}, 4, std::string(64, 'b')}};
  manifest.model_files = {{"config.json", std::string(64, 'c')}};
  return manifest;
}

TEST(Manifest, ReadsWhatItWrote) {
  const std::string json = SerializeManifest(Sample());
  const absl::StatusOr<Manifest> read = ParseManifest(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SerializeManifest(*read), json);
  EXPECT_EQ(read->tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read->parent, 2);
}

TEST(Manifest, IsTheSameBytesInAnyOrderOfTensors) {
  Manifest other = Sample();
  std::swap(other.tensors[0], other.tensors[1]);
  EXPECT_EQ(ManifestHash(SerializeManifest(other)), ManifestHash(SerializeManifest(Sample())));
  other.tensors[0].sha256[0] = '0';
  EXPECT_NE(ManifestHash(SerializeManifest(other)), ManifestHash(SerializeManifest(Sample())));
}

TEST(Manifest, NamesTheFieldWhenItRefuses) {
  const nlohmann::json good = nlohmann::json::parse(SerializeManifest(Sample()));
  const auto error_with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return std::string(ParseManifest(bad.dump()).status().message());
  };
  EXPECT_THAT(error_with("/tensors/0/bytes", 13), HasSubstr("bytes"));
  EXPECT_THAT(error_with("/tensors/0/shape", {int64_t{1} << 62, 8}), HasSubstr("overflows"));
  EXPECT_THAT(error_with("/tensors/0/shape", {-2, -3}), HasSubstr("shape"));
  EXPECT_THAT(error_with("/tensors/0/dtype", "F99"), HasSubstr("F99"));
  EXPECT_THAT(error_with("/tensors/0/sha256", "short"), HasSubstr("sha256"));
  EXPECT_THAT(error_with("/tensors/0/name", ""), HasSubstr("name"));
  EXPECT_THAT(error_with("/tensors/1/name", "a"), HasSubstr("not after"));
  EXPECT_THAT(error_with("/tensors/0/extra", 1), HasSubstr("extra"));
  EXPECT_THAT(error_with("/surprise", 1), HasSubstr("surprise"));
  EXPECT_THAT(error_with("/format", "other"), HasSubstr("format"));
  EXPECT_THAT(error_with("/parent", 3), HasSubstr("parent"));
  EXPECT_THAT(error_with("/version", -1), HasSubstr("version"));
  EXPECT_THAT(error_with("/model_files/..~1x", std::string(64, 'a')), HasSubstr("model_files"));
  EXPECT_THAT(error_with("/model_files", nullptr), HasSubstr("model_files"));
  EXPECT_FALSE(ParseManifest("").ok());
  EXPECT_FALSE(ParseManifest("[]").ok());
}

}  // namespace
}  // namespace sluice
