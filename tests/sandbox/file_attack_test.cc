// Attacks by memory and files: more than allowed, names and kinds that hurt whoever collects them, links out.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/sandbox/attack.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

class FileAttackTest : public AttackTest {};
TEST_P(FileAttackTest, IsContained) { Run(GetParam()); }

int64_t Number(const RunResult& result) {
  int64_t number = -1;
  EXPECT_TRUE(absl::SimpleAtoi(result.output.substr(0, result.output.find('\n')), &number)) << result.output;
  return number;
}

void ExpectBytesBounded(SandboxBox&, const RunResult& result) {
  if (result.end != RunEnd::kExited) return;
  EXPECT_GT(Number(result), 1 << 20) << "nothing could be written";
  // Private folders may each have the limit; together they stay below that of memory.
  EXPECT_LE(Number(result), 3 * AttackLimits().file_bytes);
}

void ExpectFilesBounded(SandboxBox&, const RunResult& result) {
  EXPECT_GT(Number(result), 100);
  EXPECT_LE(Number(result), AttackLimits().files);
}

void ExpectBombsRefused(SandboxBox& box, const RunResult&) {
  EXPECT_EQ(box.ReadFile("sparse", 1 << 20).status().code(), absl::StatusCode::kResourceExhausted);
  for (const char* name :
       {"loop_a", "endless", "dot", "folder", "folder/up", "dot/sparse", "folder/up/sparse"}) {
    EXPECT_FALSE(box.ReadFile(name, 1 << 20).ok()) << name;
  }
}

void ExpectLinksRefused(SandboxBox& box, const RunResult&) {
  for (const char* name : {"passwd", "self", "service", "up", "folder/passwd", "folder/hostname"}) {
    auto read = box.ReadFile(name, 1 << 20);
    EXPECT_FALSE(read.ok()) << name << ": " << read.value_or("").substr(0, 100);
  }
}

void ExpectSpecialFilesRefused(SandboxBox& box, const RunResult&) {
  for (const char* name : {"fifo", "socket", "folder", "null", "."}) {
    EXPECT_FALSE(box.ReadFile(name, 1 << 20).ok()) << name;
  }
}

void ExpectDescriptorsBounded(SandboxBox&, const RunResult& result) {
  EXPECT_LE(Number(result), AttackLimits().open_files);
  EXPECT_THAT(result.output, HasSubstr("EMFILE"));
}

INSTANTIATE_TEST_SUITE_P(Memory, FileAttackTest,
                         testing::Values(Attack{"03_memory_touched.py", {RunEnd::kMemoryLimit}},
                                         Attack{"03_memory_touched.cc", {RunEnd::kMemoryLimit}},
                                         Attack{"03_memory_caught.py", {RunEnd::kMemoryLimit}},
                                         Attack{"04_memory_in_children.py", {RunEnd::kMemoryLimit}},
                                         Attack{"05_sysv_left.py", {RunEnd::kExited, RunEnd::kSignalled}},
                                         Attack{"05_sysv_memory.py",
                                                {RunEnd::kMemoryLimit, RunEnd::kExited, RunEnd::kSignalled}},
                                         Attack{"06_fill_memfd.py", {RunEnd::kMemoryLimit, RunEnd::kExited}}),
                         AttackName);

INSTANTIATE_TEST_SUITE_P(
    Files, FileAttackTest,
    testing::Values(
        Attack{"06_fill_memory_files.py",
               {RunEnd::kExited, RunEnd::kMemoryLimit},
               AttackLimits(),
               0,
               "",
               ExpectBytesBounded},
        Attack{"07_huge_file.py", {RunEnd::kExited}, AttackLimits(), 2},
        Attack{"08_sparse_and_link_bombs.py", {RunEnd::kExited}, AttackLimits(), 0, "", ExpectBombsRefused},
        Attack{"09_inode_flood.py", {RunEnd::kExited}, AttackLimits(), 0, "", ExpectFilesBounded},
        Attack{"19_descriptor_exhaustion.py",
               {RunEnd::kExited},
               AttackLimits(),
               0,
               "",
               ExpectDescriptorsBounded},
        Attack{"19_descriptors_in_flight.py", {RunEnd::kExited, RunEnd::kMemoryLimit, RunEnd::kTimeLimit}},
        Attack{"24_output_link.py", {RunEnd::kExited}, AttackLimits(), 0, "", ExpectLinksRefused},
        Attack{"26_special_files.py", {RunEnd::kExited}, AttackLimits(), 4, "", ExpectSpecialFilesRefused},
        Attack{"27_hard_links.py", {RunEnd::kExited}, AttackLimits(), 6},
        Attack{"28_odd_names.py", {RunEnd::kExited}},
        Attack{"47_kernel_files.py", {RunEnd::kExited}, AttackLimits(), 40},
        Attack{"51_search_files.py", {RunEnd::kExited}, AttackLimits(), 10},
        Attack{"53_leave_files.py", {RunEnd::kExited}, AttackLimits(), 1},
        Attack{"55_deep_folders.py", {RunEnd::kExited, RunEnd::kTimeLimit}}),
    AttackName);

// The service writes where the program has put links to a folder of the host.
TEST_F(FileAttackTest, Attack25LinkWhereTheServiceWrites) {
  std::string victim = host_folder() + "/victim";
  std::ofstream(victim) << "untouched";
  auto box = Open();
  ASSERT_NE(box, nullptr);
  RunResult result =
      RunAttack(*box, Attack{"25_link_where_service_writes.py", {}, AttackLimits(), 0, host_folder()});
  EXPECT_THAT(result.output, HasSubstr("done")) << result.error_output;
  for (const char* name : {"script", "folder/victim", "folder/new", "real/script"}) {
    (void)box->WriteFile(name, "overwritten", true);
  }
  std::ifstream in(victim);
  std::string text;
  in >> text;
  EXPECT_EQ(text, "untouched");
  EXPECT_FALSE(std::filesystem::exists(host_folder() + "/new"));
  struct stat status;
  ASSERT_EQ(stat(victim.c_str(), &status), 0);
  EXPECT_FALSE(status.st_mode & S_IXUSR);
  std::filesystem::remove(victim);
}

TEST_F(FileAttackTest, Attack28NamesThatLeaveTheFolder) {
  auto box = Open();
  ASSERT_NE(box, nullptr);
  const std::string zero("a\0b", 3);
  for (const std::string& name :
       {"../" + AttackMark(), "/tmp/" + AttackMark(), "a/../../" + AttackMark(), zero, std::string(""),
        std::string(".."), std::string("."), std::string("a/.."), std::string("/")}) {
    EXPECT_EQ(box->WriteFile(name, "x").code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_FALSE(box->ReadFile(name, 100).ok()) << name;
  }
  EXPECT_FALSE(box->WriteFile(std::string(300, 'x'), "x").ok());
  EXPECT_TRUE(box->WriteFile("folder/file", "x").ok());
  EXPECT_EQ(box->ReadFile("folder/file", 100).value_or(""), "x");
}

}  // namespace
}  // namespace sluice
