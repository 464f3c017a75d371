// Files of a box, seen from the service, whatever the candidate put in their place.
#include "reward/sandbox/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reward/sandbox/sandbox_fixture.h"

namespace sluice {
namespace {

using ScratchTest = SandboxFixture;

TEST_F(ScratchTest, FilesGoInAndOut) {
  ASSERT_TRUE(box_->WriteFile("a/b/c.txt", "one").ok());
  ASSERT_TRUE(box_->WriteFile("a/b/c.txt", std::string(300000, 'x')).ok());
  ASSERT_TRUE(box_->WriteFile("run.sh", "#!/bin/sh\necho script\n", true).ok());
  EXPECT_EQ(Python("import os\nprint(os.path.getsize('a/b/c.txt'), os.stat('run.sh').st_uid == os.getuid())")
                .output,
            "300000 True\n");
  EXPECT_EQ(Program({"/work/run.sh"}).output, "script\n");
  Python("open('a/out', 'wb').write(bytes(range(256)))\nos = __import__('os'); os.remove('a/b/c.txt')");
  EXPECT_EQ(box_->ReadFile("a/out", 1000)->size(), 256u);
  EXPECT_EQ(box_->ReadFile("a/out", 255).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(box_->ReadFile("a/b/c.txt", 1000).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ScratchTest, NamesThatLeaveTheBoxAreRefused) {
  for (const std::string& name :
       {std::string("../x"), std::string("/etc/x"), std::string("a/../../x"), std::string(""),
        std::string("a\0b", 3), std::string("a//b"), std::string("."), std::string("a/")}) {
    EXPECT_EQ(box_->WriteFile(name, "x").code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(box_->ReadFile(name, 10).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(ScratchTest, LinksAreNotFollowed) {
  ASSERT_EQ(
      Python("import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'folder')\n"
             "os.symlink('/proc/self/root/etc/passwd', 'magic')\nos.mkdir('d')\nos.symlink('..', 'd/up')\n"
             "open('target', 'w').write('t')\nos.symlink('target', 'inside')")
          .exit_code,
      0);
  for (const char* name : {"link", "folder/passwd", "magic", "d/up/target", "inside"}) {
    EXPECT_FALSE(box_->ReadFile(name, 1 << 20).ok()) << name;
  }
  EXPECT_FALSE(box_->WriteFile("folder/x", "x").ok());
  EXPECT_TRUE(box_->WriteFile("inside", "new").ok());  // in the link's place
  EXPECT_EQ(Python("import os\nprint(open('target').read(), os.path.islink('inside'))").output, "t False\n");
}

TEST_F(ScratchTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(Python("import os\nos.mkfifo('fifo')\nos.mkdir('dir')").exit_code, 0);
  EXPECT_EQ(box_->ReadFile("fifo", 10).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(box_->ReadFile("dir", 10).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(box_->WriteFile("fifo", "x").ok());
  EXPECT_FALSE(box_->WriteFile("dir", "x").ok());
}

TEST_F(ScratchTest, SparseFilesAndRightsDoNotHarm) {
  ASSERT_EQ(Python("import os\nf = open('sparse', 'wb'); os.truncate('sparse', 60 << 20)\n"
                   "open('secret', 'w').write('s'); os.chmod('secret', 0)")
                .exit_code,
            0);
  EXPECT_EQ(box_->ReadFile("sparse", 1 << 20).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(box_->ReadFile("secret", 10).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(ScratchTest, TheBoxesLimitHoldsForTheServiceToo) {
  EXPECT_FALSE(box_->WriteFile("huge", std::string(65 << 20, 'x')).ok());
}

}  // namespace
}  // namespace sluice
