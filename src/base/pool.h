/* pool: threads that work for one run at a time. All runs of a process share them. */
#ifndef TP_POOL_H
#define TP_POOL_H
#include "base/base.h"

/* n threads that go through the same work side by side, one of them the caller's. Between two jobs
 * the others wait, first awake, then asleep. */
typedef struct tp_crew tp_crew;
tp_crew *tp_crew_take(int n);      /* n > 1; NULL: the system gives no thread */
tp_crew *tp_crew_give(tp_crew *c); /* NULL; the next take of as many gets it */
/* Calls fn(ud, who) for each who below n, 0 in the caller; returns when all have ended. The caller
 * also does shares that no other thread has begun. gather: they meet, so all begin at once, and the
 * caller waits so many seconds for them (0: they do not meet); false: not all came, and nothing
 * ran. */
typedef void tp_crewfn(void *ud, int who);
bool tp_crew_is_ours(const tp_crew *c); /* false: a fork lies between */
bool tp_crew_run(tp_crew *c, tp_crewfn *fn, void *ud, double gather);
/* Inside of fn: goes on when all n are here. False: one of them has stopped, and will not come. */
bool tp_crew_meet(tp_crew *c);
/* ends the job as soon as possible: no thread waits any more */
void tp_crew_stop(tp_crew *c);
bool tp_crew_stopped(const tp_crew *c);
#endif
