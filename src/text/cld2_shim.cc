/* cld2_shim.cc - see cld2_shim.h. */
#include "text/cld2_shim.h"

#include <cstdio> // compact_lang_det.h uses FILE without it
#include <cstring>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

void cld2_detect(Cld2Guess guess[3], const char *text, int n)
{
    const CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language language[3];
    int percent[3], text_bytes = 0;
    double score[3];
    bool reliable = false;
    CLD2::ExtDetectLanguageSummary(text, n, true, &hints, CLD2::kCLDFlagBestEffort, language, percent, score,
                                   nullptr, &text_bytes, &reliable);
    for (int i = 0; i < 3; i++) {
        std::memset(&guess[i], 0, sizeof guess[i]);
        if (language[i] == CLD2::UNKNOWN_LANGUAGE || percent[i] <= 0)
            continue;
        std::strncpy(guess[i].code, CLD2::LanguageCode(language[i]), sizeof guess[i].code - 1);
        guess[i].percent = percent[i];
    }
}

int cld2_sure(char code[8], const char *text, int n)
{
    const int nearly_all = 90;
    const double much_like = 600; // lists of names and of loanwords reach 550, sentences 1000
    const CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language language[3];
    int percent[3], text_bytes = 0;
    double score[3];
    bool reliable = false;
    CLD2::ExtDetectLanguageSummary(text, n, true, &hints, 0, language, percent, score, nullptr, &text_bytes,
                                   &reliable);
    std::memset(code, 0, 8);
    if (!reliable || language[0] == CLD2::UNKNOWN_LANGUAGE || percent[0] < nearly_all || score[0] < much_like)
        return 0;
    std::strncpy(code, CLD2::LanguageCode(language[0]), 7);
    return 1;
}
