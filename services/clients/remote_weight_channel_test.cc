#include "services/clients/remote_weight_channel.h"

#include <map>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/rpc/testing_server.h"
#include "services/servers/weight_adapter.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

// One version of one job in memory. Hands tensors over in one piece, however large.
class MemoryChannel final : public WeightChannel {
 public:
  absl::StatusOr<std::string> ReadManifest(const JobId& job, PolicyVersion version, absl::Time) override {
    if (job != "job" || version != 3) return absl::NotFoundError("no such version");
    return std::string("{\"manifest\": 1}");
  }
  absl::Status ReadTensor(const JobId&, PolicyVersion, const std::string& tensor, absl::Time,
                          const std::function<absl::Status(absl::string_view)>& on_chunk) override {
    const auto found = tensors.find(tensor);
    if (found == tensors.end()) return absl::NotFoundError("no tensor " + tensor);
    status_of_chunk = on_chunk(found->second);
    return status_of_chunk;
  }
  absl::Status ReadPatch(const PolicyRef& base, PolicyVersion version, const std::string& tensor, absl::Time,
                         const std::function<absl::Status(absl::string_view)>& on_chunk) override {
    base_asked = base;
    if (base.version >= version) return absl::FailedPreconditionError("another base");
    return on_chunk(tensors[tensor]);
  }
  absl::StatusOr<std::string> ReadModelFile(const JobId&, const std::string& name, absl::Time) override {
    files_asked.push_back(name);
    return std::string("\0binary\xFF", 8);
  }
  std::map<std::string, std::string> tensors;
  absl::Status status_of_chunk;
  std::vector<std::string> files_asked;
  PolicyRef base_asked;
};

class RemoteWeightChannelTest : public ::testing::Test {
 protected:
  ~RemoteWeightChannelTest() override { executor_.Stop(); }
  MemoryChannel channel_;
  Executor executor_;
  WeightAdapter adapter_{channel_, executor_};
  TestingServer server_{adapter_};
  RemoteWeightChannel remote_{server_.peer()};
};

std::string Pattern(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * 2654435761u) >> 13);
  return out;
}

TEST_F(RemoteWeightChannelTest, ReadsTheManifestAndSaysWhenThereIsNone) {
  EXPECT_EQ(*remote_.ReadManifest("job", 3, Soon()), "{\"manifest\": 1}");
  EXPECT_EQ(remote_.ReadManifest("job", 4, Soon()).status(),
            absl::NotFoundError("in-process: no such version"));
}

TEST_F(RemoteWeightChannelTest, ReadsTensorsWholeInBoundedChunks) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{5} << 20}) {
    channel_.tensors["w"] = Pattern(size);
    std::string bytes;
    const absl::Status status = remote_.ReadTensor("job", 3, "w", Soon(), [&](absl::string_view chunk) {
      EXPECT_LE(chunk.size(), size_t{1} << 20);
      bytes.append(chunk.data(), chunk.size());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(bytes.size(), size);
    EXPECT_TRUE(bytes == channel_.tensors["w"]);
  }
}

TEST_F(RemoteWeightChannelTest, ReadsPatchesForTheBaseThatItHas) {
  channel_.tensors["w"] = Pattern((size_t{3} << 20) + 5);
  const PolicyRef base = {"job", 2, std::string(64, 'a'), ""};
  std::string bytes;
  const auto append = [&](absl::string_view chunk) {
    EXPECT_LE(chunk.size(), size_t{1} << 20);
    bytes.append(chunk.data(), chunk.size());
    return absl::OkStatus();
  };
  const absl::Status status = remote_.ReadPatch(base, 3, "w", Soon(), append);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(bytes == channel_.tensors["w"]);
  EXPECT_EQ(channel_.base_asked, base);
  channel_.tensors["w"].clear();  // nothing changed
  bytes.clear();
  EXPECT_TRUE(remote_.ReadPatch(base, 3, "w", Soon(), append).ok());
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(absl::IsFailedPrecondition(remote_.ReadPatch(base, 2, "w", Soon(), append)));
  EXPECT_TRUE(absl::IsInvalidArgument(remote_.ReadPatch({"job", 2, "short", ""}, 3, "w", Soon(), append)));
}

TEST_F(RemoteWeightChannelTest, EndsWhenTheReceiverHasEnough) {
  channel_.tensors["w"] = Pattern(size_t{64} << 20);
  int chunks = 0;
  const absl::Status status = remote_.ReadTensor("job", 3, "w", Soon(), [&](absl::string_view) {
    ++chunks;
    return absl::DataLossError("hash");
  });
  EXPECT_EQ(status, absl::DataLossError("hash"));
  EXPECT_EQ(chunks, 1);
  executor_.Stop();  // the server's side has ended, too
  EXPECT_EQ(channel_.status_of_chunk.code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteWeightChannelTest, SaysWhenThereIsNoSuchTensor) {
  EXPECT_EQ(
      remote_.ReadTensor("job", 3, "x", Soon(), [](absl::string_view) { return absl::OkStatus(); }).code(),
      absl::StatusCode::kNotFound);
}

TEST_F(RemoteWeightChannelTest, ReadsModelFilesByPlainNamesOnly) {
  EXPECT_EQ(*remote_.ReadModelFile("job", "config.json", Soon()), std::string("\0binary\xFF", 8));
  for (const char* name : {"../secret", "/etc/passwd", "..", ".", "", "a\\b"}) {
    const absl::Status status = remote_.ReadModelFile("job", name, Soon()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(channel_.files_asked, std::vector<std::string>{"config.json"});
}

// A peer that sends the chunks a test wants.
class CannedWeights final : public v1::WeightService::Service {
 public:
  grpc::Status PullTensors(grpc::ServerContext*, const v1::PullTensorsRequest*,
                           grpc::ServerWriter<v1::PullTensorsResponse>* writer) override {
    for (const v1::PullTensorsResponse& chunk : chunks) writer->Write(chunk);
    return grpc::Status::OK;
  }
  std::vector<v1::PullTensorsResponse> chunks;
};

TEST(RemoteWeightChannel, CatchesChunksThatAreNotTheNext) {
  const auto chunk = [](const std::string& tensor, int64_t offset, size_t size) {
    v1::PullTensorsResponse out;
    out.set_tensor(tensor);
    out.set_offset(offset);
    out.set_data(std::string(size, 'x'));
    return out;
  };
  const std::vector<std::vector<v1::PullTensorsResponse>> cases = {{chunk("w", 1, 2)},
                                                                   {chunk("w", 0, 2), chunk("w", 0, 2)},
                                                                   {chunk("v", 0, 2)},
                                                                   {chunk("w", 0, (1 << 20) + 1)}};
  for (const auto& chunks : cases) {
    CannedWeights service;
    service.chunks = chunks;
    TestingServer server(service);
    const absl::Status status =
        RemoteWeightChannel(server.peer()).ReadTensor("job", 3, "w", Soon(), [](absl::string_view) {
          return absl::OkStatus();
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("bad response"));
  }
}

}  // namespace
}  // namespace sluice
