/* make_store_seed.c - seeds for fuzz_store: a small store of its own, with one way of damage in the head of
 * each file. usage: make_store_seed FOLDER */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cache/store/store.h"

static void put(const char *dir, const char *name, int how, const Buf *index, const Buf *segment)
{
    Buf b = {0};
    char head[3] = {(char)how, (char)(index->size & 255), (char)(index->size >> 8)};
    buf_add(&b, head, 3);
    buf_add(&b, index->data, index->size);
    buf_add(&b, segment->data, segment->size);
    char *path = file_join(dir, name);
    file_replace(path, b.data, b.size, NULL);
}

int main(int argc, char **argv)
{
    char tmp[] = "/tmp/fuzz-seed-XXXXXX", name[16], *index_path, *segment_path;
    Err err = {0};
    Buf index = {0}, segment = {0};
    StoreBuild *b;
    static const unsigned char zeros[2000];
    if (argc < 2 || !mkdtemp(tmp) || store_build_open(&b, tmp, "mel", NULL, (Hash128){0, 0}, 1, &err))
        return 1;
    for (unsigned i = 0; i < 3; i++) {
        StoreRecord r = {.id = name,
                         .id_size = (uint32_t)snprintf(name, sizeof name, "clip-%04u", i),
                         .items = 2,
                         .status = i == 2,
                         .payload = zeros,
                         .payload_size = i * 900};
        if (store_build_add(b, &r, &err))
            return 1;
    }
    if (store_build_commit(b, zeros, 64, 0, &err))
        return 1;
    store_build_close(b);
    index_path = store_index_path(tmp, "mel");
    segment_path = store_segment_path(tmp, "mel", 1, 0);
    if (file_read(&index, index_path, 1 << 20, &err) || file_read(&segment, segment_path, 1 << 20, &err))
        return 1;
    for (int how = 0; how < 16; how++) {
        snprintf(name, sizeof name, "seed-%02d", how);
        put(argv[1], name, how, &index, &segment);
    }
    unlink(index_path);
    unlink(segment_path);
    rmdir(tmp);
    return 0;
}
