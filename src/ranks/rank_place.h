/* rank_place.h - which of several processes this is. A launcher (torchrun, mpirun, srun) says so in the
 * environment; nothing else is consulted. Threads: any, as long as the environment is not changed. */
#ifndef MYXTTS_RANK_PLACE_H
#define MYXTTS_RANK_PLACE_H

#include <stddef.h>

#include "base/err.h"

/* Who started the processes, in the order in which their variables are looked for. */
typedef enum {
    LAUNCHER_NONE,    /* none: one process */
    LAUNCHER_TORCH,   /* RANK, WORLD_SIZE, LOCAL_RANK: torchrun, or another launcher that sets these */
    LAUNCHER_OPENMPI, /* OMPI_COMM_WORLD_RANK, ..._SIZE, ..._LOCAL_RANK: mpirun of OpenMPI */
    LAUNCHER_PMI,     /* PMI_RANK, PMI_SIZE, MPI_LOCALRANKID: mpiexec of MPICH or Intel */
    LAUNCHER_SLURM    /* SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID inside a step of srun */
} Launcher;

typedef struct RankPlace {
    int rank, count;   /* 0 .. count - 1; count 1: alone */
    int local, locals; /* the same among the processes of this host; locals 0: the launcher does not say */
    Launcher launcher;
    char host[64]; /* this machine */
} RankPlace;

/* ERR_USAGE for variables that are incomplete, not numbers, or contradict each other. A process that is not
 * a task of an srun step (the batch script of a Slurm job, a shell inside it) is alone, whatever
 * SLURM_NTASKS says. */
int rank_place_read(RankPlace *p, Err *err);
const char *launcher_name(Launcher l); /* "mpirun", for messages */

/* Where rank 0 listens when no MPI tells: MYXTTS_ADDRESS and MYXTTS_PORT, else MASTER_ADDR and
 * MASTER_PORT + 1 (torchrun's own store has MASTER_PORT), else the first host of SLURM_STEP_NODELIST and a
 * port made from SLURM_JOB_ID. */
typedef struct RankMeeting {
    char address[256]; /* a name or an address */
    int port;
    unsigned char token[16]; /* the same for all processes of a job: MYXTTS_TOKEN and the job's name */
} RankMeeting;
int rank_place_meeting(RankMeeting *m, const RankPlace *p, Err *err);

#endif
