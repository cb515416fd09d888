/* rank_worker.h - one rank of a test: a process that a launcher (a test, mpirun) starts several times. */
#ifndef TESTS_RANK_WORKER_H
#define TESTS_RANK_WORKER_H

/* argv: worker SCENARIO [...]. The scenarios are in rank_worker.c. Exit code 0: all well; 1: a result was
 * wrong; 3: as the program would end. */
int rank_worker(int argc, char **argv);

/* A port that nobody has: the system chose it for a socket that is closed again. */
int free_port(void);

#endif
