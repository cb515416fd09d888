/* links.h - how long it takes ranks to add up their gradients: the links between them and what a sum costs
 * there. Ranks that share a host have near links; hosts are joined by far links, each shared by the ranks of
 * its host. The cost is that of a ring, which is also that of an all-to-all of slices followed by an
 * all-gather: every rank sends and receives 2 (N - 1) / N of the bytes, and the slowest link on the way sets
 * the pace. Every step along the ring costs the link's latency. Threads: any. */
#ifndef MYXTTS_LINKS_H
#define MYXTTS_LINKS_H

typedef struct Link {
    double bytes_per_s;
    double seconds; /* a message takes besides its bytes */
} Link;

typedef struct Links {
    int ranks, hosts; /* ranks is a multiple of hosts */
    Link near, far;   /* between ranks of a host; between hosts */
} Links;

/* What is assumed of links that are not described: GPUs of one host on NVLink, hosts on 400 Gbit/s. */
#define LINK_NEAR_GBPS 400.0
#define LINK_NEAR_US 3.0
#define LINK_FAR_GBPS 50.0
#define LINK_FAR_US 5.0

/* Fills in what was not said: a bandwidth of 0, a latency below 0. On a single host, the link that is
 * described is the one between its GPUs. */
void links_complete(Links *l);
/* A sum of `bytes` bytes takes links_latency + bytes * links_per_byte. Both are 0 for one rank. */
double links_latency(const Links *l);
double links_per_byte(const Links *l);

#endif
