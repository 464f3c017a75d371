#include "core/base/file.h"

#include <pthread.h>

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

TEST(ReadFile, NeedsLittleStack) {
  // As the threads that answer /metrics have it, when a library takes its share of their stack.
  const std::string path = Path("stack");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(300000, 'x')).ok());
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 48 << 10), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                +[](void* argument) -> void* {
                  const auto text = ReadFile(*static_cast<const std::string*>(argument));
                  return reinterpret_cast<void*>(text.ok() ? text->size() : 0);
                },
                const_cast<std::string*>(&path)),
            0);
  void* size = nullptr;
  ASSERT_EQ(pthread_join(thread, &size), 0);
  EXPECT_EQ(reinterpret_cast<size_t>(size), 300000u);
  pthread_attr_destroy(&attributes);
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
