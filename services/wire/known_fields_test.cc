#include "services/wire/known_fields.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sluice/v1/job.pb.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Field 4000, a varint, as a newer peer would have written it.
const std::string& NewerField() {
  static const auto* field = new std::string("\x80\xfa\x01\x07", 4);
  return *field;
}

template <typename Message>
void AddNewerField(Message& message) {
  ASSERT_TRUE(message.ParseFromString(message.SerializeAsString() + NewerField()));
}

TEST(KnownFieldsTest, PassesWhatThisVersionWrites) {
  v1::SubmitJobRequest request;
  request.mutable_spec()->set_name("a");
  request.mutable_spec()->mutable_reward()->add_component()->set_name("math");
  EXPECT_TRUE(CheckKnownFields(request).ok());
}

TEST(KnownFieldsTest, NamesFieldsOfANewerPeerAtAnyDepth) {
  v1::SubmitJobRequest request;
  AddNewerField(request);
  EXPECT_THAT(std::string(CheckKnownFields(request).message()), HasSubstr("the request has field 4000"));

  request.Clear();
  AddNewerField(*request.mutable_spec());
  EXPECT_EQ(CheckKnownFields(request).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(CheckKnownFields(request).message()), HasSubstr("spec has field 4000"));

  request.Clear();
  request.mutable_spec()->mutable_reward()->add_component()->set_name("math");
  AddNewerField(*request.mutable_spec()->mutable_reward()->add_component());
  EXPECT_THAT(std::string(CheckKnownFields(request).message()),
              HasSubstr("spec.reward.component has field 4000"));
}

TEST(KnownFieldsTest, NamesValuesOfANewerPeer) {
  v1::SubmitJobRequest request;
  request.mutable_spec()->mutable_reward()->set_combination(static_cast<v1::RewardSpec::Combination>(77));
  EXPECT_THAT(std::string(CheckKnownFields(request).message()),
              HasSubstr("spec.reward.combination has the value 77"));
}

}  // namespace
}  // namespace sluice
