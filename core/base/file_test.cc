#include "core/base/file.h"

#include "core/base/hash.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

std::string Path(const std::string& name) { return ::testing::TempDir() + "/file_test_" + name; }

TEST(WriteFileAtomically, ReplacesTheWholeFile) {
  const std::string path = Path("replace");
  ASSERT_TRUE(WriteFileAtomically(path, "a long first content").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "second").ok());
  EXPECT_EQ(*ReadFile(path), "second");
}

TEST(WriteFileAtomically, NamesThePathWhenTheFolderIsMissing) {
  const absl::Status status = WriteFileAtomically(Path("no/such/folder/x"), "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no/such/folder"), absl::string_view::npos);
}

TEST(WriteFileAtomically, ReportsAFullDisk) {
  EXPECT_EQ(ErrnoStatus(ENOSPC, "x").code(), absl::StatusCode::kResourceExhausted);
}

TEST(ReadFile, RefusesAFileOverTheLimit) {
  ASSERT_TRUE(WriteFileAtomically(Path("large"), std::string(100, 'x')).ok());
  EXPECT_EQ(ReadFile(Path("large"), 99).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(ReadFile(Path("large"), 100).ok());
}

TEST(FileLock, RefusesASecondHolderUntilTheFirstIsGone) {
  auto first = FileLock::Acquire(Path("lock"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(FileLock::Acquire(Path("lock")).status().code(), absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(FileLock::Acquire(Path("lock")).ok());
}

TEST(Sha256Hex, GivesTheKnownAnswerOfTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace sluice
