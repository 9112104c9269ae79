// SQLite's door to the operating system, with a fault in it: the Nth call that
// changes something fails, once or from then on.
#pragma once

namespace fettle::records::test {

// Becomes SQLite's default file system; harmless until armed.
void install_failing_vfs();
// The nth (from 1) writing call from now on fails with `code` (SQLITE_IOERR_WRITE,
// SQLITE_FULL); with `for_good`, so do all after it.
void arm(int nth, int code, bool for_good);
// The nth writing call from now on is half done when SIGKILL ends the process.
void arm_kill(int nth);
// Ends the faults; returns how many writing calls there were since arm.
int disarm();

}  // namespace fettle::records::test
