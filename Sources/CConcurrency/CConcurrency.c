#include "CConcurrency.h"

#define swiftcc __attribute__((swiftcall))

/// The runtime's own implementation of the hook; not called.
typedef swiftcc void (*original)(uintptr_t job);

extern swiftcc void (*swift_task_enqueueGlobal_hook)(uintptr_t job, original);

/// The executor is a SerialExecutorRef of two words; both are zero if the job is isolated to no actor.
extern swiftcc void swift_job_run(uintptr_t job, uintptr_t identity, uintptr_t implementation);

static void (*enqueue)(uintptr_t job);

static swiftcc void hook(uintptr_t job, original original) {
    (void)original;
    enqueue(job);
}

void cconcurrency_take_jobs(void (*function)(uintptr_t job)) {
    enqueue = function;
    swift_task_enqueueGlobal_hook = hook;
}

void cconcurrency_run(uintptr_t job) { swift_job_run(job, 0, 0); }
