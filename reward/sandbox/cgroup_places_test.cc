#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/base/file.h"
#include "reward/sandbox/control_group.h"

namespace sluice {
namespace {

class CgroupPlacesTest : public ::testing::Test {
 protected:
  CgroupPlacesTest() {
    char made[] = "/tmp/cgroup_places_test.XXXXXX";
    root_ = mkdtemp(made);
  }
  ~CgroupPlacesTest() override { (void)RemoveTree(root_); }
  void Make(const std::string& folder, const std::string& controllers = "") {
    ASSERT_TRUE(MakeDirectories(root_ + folder).ok());
    if (!controllers.empty()) std::ofstream(root_ + folder + "/cgroup.controllers") << controllers << "\n";
  }
  std::string Mount(const std::string& root, const std::string& point, const std::string& type,
                    const std::string& options) {
    return "30 24 0:26 " + root + " " + root_ + point + " rw,relatime shared:4 - " + type + " none " +
           options + "\n";
  }
  std::string root_;
};

TEST_F(CgroupPlacesTest, FindsVersionTwo) {
  Make("/user.slice/mine", "cpuset cpu io memory pids");
  const CgroupPlaces places =
      FindCgroupPlaces(Mount("/", "", "cgroup2", "rw,nsdelegate"), "0::/user.slice/mine\n");
  EXPECT_EQ(places.unified, root_ + "/user.slice/mine");
  EXPECT_EQ(places.unified_mount, root_);
  ASSERT_EQ(places.controllers.size(), 3u);
  for (const auto& [controller, place] : places.controllers) {
    EXPECT_EQ(place.version, 2);
    EXPECT_EQ(place.folder, places.unified);
  }
}

TEST_F(CgroupPlacesTest, AProcessThatMovedAsideFindsTheGroupItLeft) {
  Make("/mine/sluice-supervisor", "memory");
  Make("/mine", "memory pids");
  const CgroupPlaces places =
      FindCgroupPlaces(Mount("/", "", "cgroup2", "rw"), "0::/mine/sluice-supervisor\n");
  EXPECT_EQ(places.unified, root_ + "/mine");
  EXPECT_EQ(places.controllers.size(), 2u);
}

TEST_F(CgroupPlacesTest, FindsVersionOneAlsoWhereControllersShareAMount) {
  Make("/memory/a");
  Make("/cpu,cpuacct/b");
  Make("/pids");
  const CgroupPlaces places = FindCgroupPlaces(Mount("/", "/memory", "cgroup", "rw,memory") +
                                                   Mount("/", "/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct") +
                                                   Mount("/", "/pids", "cgroup", "rw,pids"),
                                               "4:memory:/a\n3:cpu,cpuacct:/b\n2:pids:/\n");
  EXPECT_TRUE(places.unified.empty());
  EXPECT_EQ(places.controllers.at(CgroupController::kMemory).folder, root_ + "/memory/a");
  EXPECT_EQ(places.controllers.at(CgroupController::kCpu).folder, root_ + "/cpu,cpuacct/b");
  EXPECT_EQ(places.controllers.at(CgroupController::kPids).folder, root_ + "/pids");
  EXPECT_EQ(places.controllers.at(CgroupController::kPids).version, 1);
}

TEST_F(CgroupPlacesTest, FindsAHybridHost) {
  Make("/memory");
  Make("/unified", "pids");
  const CgroupPlaces places =
      FindCgroupPlaces(Mount("/", "/memory", "cgroup", "rw,memory") + Mount("/", "/unified", "cgroup2", "rw"),
                       "4:memory:/\n0::/\n");
  EXPECT_EQ(places.unified, root_ + "/unified");
  EXPECT_EQ(places.controllers.at(CgroupController::kMemory).version, 1);
  EXPECT_EQ(places.controllers.at(CgroupController::kPids).version, 2);
  EXPECT_EQ(places.controllers.count(CgroupController::kCpu), 0u);
}

TEST_F(CgroupPlacesTest, AContainersMountShowsItsOwnGroupAsRoot) {
  Make("/memory");
  const CgroupPlaces places =
      FindCgroupPlaces(Mount("/docker/abc", "/memory", "cgroup", "rw,memory"), "4:memory:/docker/abc\n");
  EXPECT_EQ(places.controllers.at(CgroupController::kMemory).folder, root_ + "/memory");
}

TEST_F(CgroupPlacesTest, NothingThereIsNothingFound) {
  EXPECT_TRUE(FindCgroupPlaces("", "").controllers.empty());
  EXPECT_TRUE(FindCgroupPlaces("not a line\n1 2 3\n", "garbage\n:::\n").controllers.empty());
}

// A version 2 tree made of plain files: what is written where.
TEST_F(CgroupPlacesTest, VersionTwoGroupsAreMadeAndLimited) {
  Make("", "memory pids cpu");
  std::ofstream(root_ + "/cgroup.subtree_control") << "";
  CgroupPlaces places;
  places.unified = root_;
  using enum CgroupController;
  for (CgroupController c : {kMemory, kPids, kCpu}) places.controllers[c] = {root_, 2};
  const auto groups = ControlGroups::Create(places);
  // Plain folders have no cgroup.subtree_control of their own, which is what a refusal looks like.
  EXPECT_FALSE(groups->Has(kMemory));
  EXPECT_THAT(groups->why(), ::testing::HasSubstr("cgroup.subtree_control"));
}

}  // namespace
}  // namespace sluice
