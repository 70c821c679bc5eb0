// The hook by which the Swift runtime lets a program run its jobs itself, as in swift/Runtime/Concurrency.h. It uses
// Swift's calling convention, which Swift's importer does not know: what is declared here uses C's. No logic.
#ifndef CCONCURRENCY_H
#define CCONCURRENCY_H

#include <stdint.h>

/// From here on the runtime gives each job that may run on any thread to `enqueue`, which may be called on any thread. To be
/// called before the first such job, and once. Each job is to be run once, with `cconcurrency_run`.
void cconcurrency_take_jobs(void (*enqueue)(uintptr_t job));

/// Runs a job on this thread, isolated to no actor, until it ends or waits.
void cconcurrency_run(uintptr_t job);

#endif
