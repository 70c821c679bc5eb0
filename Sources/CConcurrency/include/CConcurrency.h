// The hook of the Swift runtime for programs that run jobs on their own threads; see swift/Runtime/Concurrency.h. It has
// Swift's calling convention, which Swift cannot import: the declarations here have C's. No logic.
#ifndef CCONCURRENCY_H
#define CCONCURRENCY_H

#include <stdint.h>

/// Makes the runtime pass each job without an executor of its own to `enqueue`, on any thread. Call it once, before the
/// first such job. Run each job exactly once, with `cconcurrency_run`.
void cconcurrency_take_jobs(void (*enqueue)(uintptr_t job));

/// Runs a job on this thread, isolated to no actor, until it finishes or suspends.
void cconcurrency_run(uintptr_t job);

#endif
