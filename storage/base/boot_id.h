// Names this run of the machine.
#pragma once

#include <string>

namespace kerolox {

// What the kernel wrote into `file` (/proc/sys/kernel/random/boot_id). Where that cannot be read,
// each call answers a value that no call ever answered, here or in an earlier run, so that every
// comparison says "rebooted", which is the safe mistake. The boot time in /proc/stat is no
// substitute: a machine without a clock of its own starts each run at the same time.
std::string read_boot_id(const char* file);

}  // namespace kerolox
