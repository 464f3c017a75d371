// What a candidate's process gives up before its first instruction.
#pragma once

#include "reward/sandbox/jail/failure.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

// Reads the seccomp program that Restrict installs, once.
Failure LoadFilter(int fd, uint32_t bytes);

// A Landlock ruleset for the box: reading and executing everywhere, writing in the scratch folders alone, no
// TCP, no signal and no abstract socket out of the domain, as far as the kernel's version knows. -1 with
// `failure` unset: this kernel has no Landlock.
int MakeRuleset(Failure& failure);

// The same where the host's tree is all there is: of it only the paths of `setup` can be read, and only
// `work` written.
int MakeHostRuleset(const Setup& setup, int work, Failure& failure);

struct Restrictions {
  uint32_t candidate_id;
  uint32_t without;  // Parts
  int ruleset;       // -1: none
};

// Becomes the candidate's user in a user namespace of its own, without capabilities, never to gain any, not
// dumpable, under Landlock and the filter. The order's limits are set on the way.
Failure Restrict(const Restrictions& restrictions, const RunOrder& order);

// Drops every capability of the calling thread.
Failure DropCapabilities();

}  // namespace sluice::jail
