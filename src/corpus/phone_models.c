/* phone_models.c - see phone_models.h. */
#include "corpus/phone_models.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "ops/host/vector.h"

enum { W = LISTEN_WIDTH, COLUMNS = 2 * W + 1 };
static const double spread_least = 0.05, /* of a feature; features of speech have a variance of about 1 */
    first_spread = 0.6,                  /* what espeak-ng says too narrowly */
    spread_frames = 60;                  /* that the common spread is worth */

int phone_models_state(PhoneModels *m, const char name[8])
{
    int i = 0;
    while (i < m->phones && memcmp(m->names[i], name, 8) != 0)
        i++;
    if (i == PHONES_MOST)
        return STATE_SILENCE;
    if (i == m->phones)
        memcpy(m->names[m->phones++], name, 8);
    m->states = 1 + PHONE_STATES * m->phones;
    return 1 + PHONE_STATES * i;
}

static const ProductsF32 *products(void) { return vectors_choose(NULL)->products.f32; }

static size_t table_numbers(const PhoneModels *m)
{
    return (size_t)(m->states + PRODUCT_PANEL - 1) / PRODUCT_PANEL * PRODUCT_PANEL * COLUMNS;
}

int phone_models_open(PhoneModels *m, Err *err)
{
    const size_t n = (size_t)m->states;
    m->mean = mem_calloc(n * W, sizeof *m->mean);
    m->spread = mem_calloc(n * W, sizeof *m->spread);
    m->table = mem_calloc(table_numbers(m), sizeof *m->table);
    m->log_share = mem_calloc(n, sizeof *m->log_share);
    m->sum = mem_calloc(n * W, sizeof *m->sum);
    m->square = mem_calloc(n * W, sizeof *m->square);
    m->count = mem_calloc(n, sizeof *m->count);
    if (m->mean && m->spread && m->table && m->log_share && m->sum && m->square && m->count)
        return 0;
    phone_models_close(m);
    return err_set(err, ERR_NOMEM, "no memory for the sounds of a voice");
}

int phone_models_copy(PhoneModels *to, const PhoneModels *from, Err *err)
{
    const size_t n = (size_t)from->states;
    *to = (PhoneModels){.phones = from->phones, .states = from->states};
    memcpy(to->names, from->names, sizeof to->names);
    int rc = phone_models_open(to, err);
    if (rc)
        return rc;
    memcpy(to->mean, from->mean, n * W * sizeof *to->mean);
    memcpy(to->spread, from->spread, n * W * sizeof *to->spread);
    memcpy(to->table, from->table, table_numbers(from) * sizeof *to->table);
    memcpy(to->log_share, from->log_share, n * sizeof *to->log_share);
    return 0;
}

void phone_models_close(PhoneModels *m)
{
    free(m->mean);
    free(m->spread);
    free(m->table);
    free(m->log_share);
    free(m->sum);
    free(m->square);
    free(m->count);
    *m = (PhoneModels){0};
}

void phone_models_learn(PhoneModels *m, int state, const float *feature)
{
    m->count[state]++;
    for (int k = 0; k < W; k++) {
        m->sum[state * W + k] += (double)feature[k];
        m->square[state * W + k] += (double)feature[k] * (double)feature[k];
    }
}

/* Variance within states, over all of them. */
static void common_spread(const PhoneModels *m, double out[W])
{
    double n = 1;
    for (int k = 0; k < W; k++)
        out[k] = k < LISTEN_CEPSTRA ? 1.0 : 0.3;
    for (int s = 1; s < m->states; s++) {
        for (int k = 0; k < W && m->count[s] > 0; k++)
            out[k] += m->square[s * W + k] - m->sum[s * W + k] * m->sum[s * W + k] / m->count[s];
        n += m->count[s];
    }
    for (int k = 0; k < W; k++)
        out[k] = fmax(out[k] / n, spread_least * (k < LISTEN_CEPSTRA ? 1.0 : 0.3));
}

/* log N(x) = sum of a x^2 + b x, + c: a product of matrices for many frames. */
static void make_table(PhoneModels *m)
{
    const int panel = products()->panel;
    for (int s = 0; s < m->states; s++) {
        float *column = m->table + s / panel * panel * COLUMNS + s % panel;
        double c = 0;
        for (int k = 0; k < W; k++) {
            const double mean = (double)m->mean[s * W + k], var = (double)m->spread[s * W + k];
            column[k * panel] = (float)(-0.5 / var);
            column[(W + k) * panel] = (float)(mean / var);
            c += -0.5 * (log(2 * M_PI * var) + mean * mean / var);
        }
        column[2 * W * panel] = (float)c;
    }
}

void phone_models_update(PhoneModels *m, double weight)
{
    double common[W], all = 0;
    const int first = weight <= 0;
    common_spread(m, common);
    for (int s = 0; s < m->states; s++)
        all += m->count[s] + 5;
    for (int s = 0; s < m->states; s++) {
        const double n = m->count[s];
        m->log_share[s] = (float)log((n + 5) / all);
        for (int k = 0; k < W; k++) {
            float *mean = &m->mean[s * W + k], *var = &m->spread[s * W + k];
            const double old = first ? 0 : (double)*mean, prior = first ? 1e-3 : weight;
            const double new_mean = (m->sum[s * W + k] + prior * old) / (n + prior);
            double own =
                n > 0 ? m->square[s * W + k] / n - 2 * new_mean * m->sum[s * W + k] / n + new_mean * new_mean
                      : common[k];
            own = (own * n + common[k] * spread_frames) / (n + spread_frames);
            if (first && s != STATE_SILENCE)
                own = fmax(common[k], k < LISTEN_CEPSTRA ? first_spread : 0.3 * first_spread);
            *mean = (float)new_mean;
            *var = (float)fmax(own, spread_least * (k < LISTEN_CEPSTRA ? 1.0 : 0.3));
        }
    }
    memset(m->sum, 0, (size_t)(m->states * W) * sizeof *m->sum);
    memset(m->square, 0, (size_t)(m->states * W) * sizeof *m->square);
    memset(m->count, 0, (size_t)m->states * sizeof *m->count);
    make_table(m);
}

void phone_models_score(const PhoneModels *m, const Listening *l, int64_t first, int count, float *out)
{
    float x[SCORE_FRAMES][COLUMNS] = {0};
    ASSERT(count <= SCORE_FRAMES);
    for (int i = 0; i < count; i++) {
        listening_feature(l, first + i, x[i] + W);
        for (int k = 0; k < W; k++)
            x[i][k] = x[i][W + k] * x[i][W + k];
        x[i][2 * W] = 1;
    }
    products()->multiply(&(Product_f32){.c = out,
                                        .a = x[0],
                                        .panels = m->table,
                                        .m = count,
                                        .n = m->states,
                                        .k = COLUMNS,
                                        .lda = COLUMNS,
                                        .ldc = m->states,
                                        .scale = 1});
    for (int i = 0; i < count; i++) {
        float *row = out + i * m->states, most = -HUGE_VALF, sum = 0;
        for (int s = 0; s < m->states; s++)
            most = fmaxf(most, row[s] + m->log_share[s]);
        for (int s = 0; s < m->states; s++) {
            const float d = row[s] + m->log_share[s] - most;
            sum += d > -16.0f ? expf(d) : 0.0f;
        }
        const float all = most + logf(fmaxf(sum, FLT_MIN)); /* at least 1: that of the likeliest */
        for (int s = 0; s < m->states; s++)
            row[s] -= all;
    }
}
