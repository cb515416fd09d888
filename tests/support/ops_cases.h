/* ops_cases.h - THE table of op cases: every op of ops.h over plain and odd shapes, for finite differences,
 * for one table against another, for padding and for throughput (ops_testing.h runs them). Plain C. */
#ifndef MYXTTS_OPS_CASES_H
#define MYXTTS_OPS_CASES_H

#include "ops_testing.h"

/* The steps of every op's case, and the products of one. */
typedef void OpsCaseStep(OpsRun *r, const int *s);
typedef double OpsCaseFlops(const int *s);
OpsCaseStep linear_build, linear_go, linear_back;
OpsCaseStep norm_build, norm_go, norm_back;
OpsCaseStep attention_build, attention_go, attention_back;
OpsCaseStep embed_build, embed_go, embed_back;
OpsCaseStep table_build, table_go, table_back;
OpsCaseStep conv_build, conv_go, conv_back;
OpsCaseStep dropout_build, dropout_go, dropout_back;
OpsCaseStep add_build, add_go;
OpsCaseStep add_vector_build, add_vector_go, add_vector_back;
OpsCaseStep pool_build, pool_go, pool_back;
OpsCaseStep broadcast_build, broadcast_go, broadcast_back;
OpsCaseStep gather_build, gather_go, gather_back;
OpsCaseStep groups_build, groups_go;
OpsCaseStep bands_build, bands_go;
OpsCaseStep fill_build, fill_go;
OpsCaseStep frames_build, frames_go;
OpsCaseStep loss_build, loss_go, loss_back;
OpsCaseStep norm2_build, norm2_go;
OpsCaseStep guard_build, guard_go;
OpsCaseStep adamw_build, adamw_go;
OpsCaseStep convert_build, convert_go;
OpsCaseStep align_build, align_go;
OpsCaseStep place_build, place_go;
OpsCaseStep repeat_build, repeat_go, repeat_back;
OpsCaseStep means_build, means_go;
OpsCaseStep traits_build, traits_go, traits_back;
OpsCaseStep align_loss_build, align_loss_go, align_loss_back;
OpsCaseStep traits_loss_build, traits_loss_go, traits_loss_back;
OpsCaseStep filter_norm_build, filter_norm_go, filter_norm_back;
OpsCaseStep linears_build, linears_go, linears_back;
OpsCaseStep linear_add_build, linear_add_go;
OpsCaseStep scale_build, scale_go;
OpsCaseStep spread_build, spread_go;
OpsCaseStep wave_build, wave_go, wave_back;
OpsCaseStep refine_build, refine_go;
OpsCaseStep spectral_build, spectral_go, spectral_back;
OpsCaseStep seen_build, seen_go, seen_back;
OpsCaseFlops linear_flops, attention_flops, conv_flops;

/* The first members of a case after its name. */
#define LINEAR(...) \
    linear_build, linear_go, linear_back, linear_flops, { __VA_ARGS__ }
#define NORM(...) \
    norm_build, norm_go, norm_back, NULL, { __VA_ARGS__ }
#define ATTENTION(...) \
    attention_build, attention_go, attention_back, attention_flops, { __VA_ARGS__ }
#define EMBED(...) \
    embed_build, embed_go, embed_back, NULL, { __VA_ARGS__ }
#define CONV(...) \
    conv_build, conv_go, conv_back, conv_flops, { __VA_ARGS__ }
#define OTHER(op, ...) \
    op##_build, op##_go, NULL, NULL, { __VA_ARGS__ }
#define OTHER_BACK(op, ...) \
    op##_build, op##_go, op##_back, NULL, { __VA_ARGS__ }

extern const OpsCase ops_cases[];
extern const int ops_case_count;

extern const OpsCase ops_speed_cases[];
extern const int ops_speed_case_count;

#endif
