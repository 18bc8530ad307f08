/* pool: threads of the process that work for one run at a time. */
#ifndef TP_POOL_H
#define TP_POOL_H
#include "base/base.h"

/* n threads, the caller's among them; between jobs the others wait, first awake, then asleep. */
typedef struct tp_crew tp_crew;
tp_crew *tp_crew_take(int n);      /* n > 1; NULL: no thread */
tp_crew *tp_crew_give(tp_crew *c); /* NULL; to the next who takes as many */
/* fn(ud, who) for who below n, 0 and all that no thread has begun by the caller; returns when all
 * have ended. gather: they meet: so many seconds for all to begin (0: they do not); false: some did
 * not come, nothing ran. */
typedef void tp_crewfn(void *ud, int who);
bool tp_crew_is_ours(const tp_crew *c); /* false: before a fork */
bool tp_crew_run(tp_crew *c, tp_crewfn *fn, void *ud, double gather);
/* In fn: waits for all n. False: one has stopped. */
bool tp_crew_meet(tp_crew *c);
/* ends the job soon */
void tp_crew_stop(tp_crew *c);
bool tp_crew_stopped(const tp_crew *c);
#endif
