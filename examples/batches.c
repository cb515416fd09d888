/* batches.c - goes through a dataset once, batch by batch, as a training does.
 *
 *   cc batches.c -o batches $(pkg-config --cflags --libs myxtts)
 *   ./batches DIR          a folder with metadata.csv and wavs/ */
#include <inttypes.h>
#include <myxtts.h>
#include <stdio.h>

static void print_batch(const myxtts_batch *b)
{
    myxtts_array a;
    printf("batch %" PRId64 ":", myxtts_batch_index(b));
    for (int i = 0; myxtts_batch_array(b, i, &a) == 0; i++) {
        printf(" %s [", a.name);
        for (int d = 0; d < a.dimensions; d++)
            printf("%s%" PRId64, d ? ", " : "", a.shape[d]);
        printf("]"); /* its numbers are at a.data, on the loader's device */
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *settings[] = {"batch_size", "8", "seed", "1", NULL};
    myxtts_loader_options options = MYXTTS_LOADER_OPTIONS;
    myxtts_error e;
    myxtts_loader *loader;
    myxtts_batch *b;
    int rc;

    options.data = argc > 1 ? argv[1] : ".";
    options.settings = settings;
    options.epochs = 1;
    rc = myxtts_loader_open(&loader, &options, &e);
    while (!rc && (rc = myxtts_loader_next(loader, &b, NULL, &e)) == 1) {
        print_batch(b);
        myxtts_batch_release(b); /* its buffer is free for another one */
        rc = 0;
    }
    if (rc < 0)
        fprintf(stderr, "error: %s\n", e.message);
    myxtts_loader_close(loader);
    return rc < 0;
}
