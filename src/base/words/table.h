/* table.h - all sentences, by what they are about; included with WORD and COUNTED defined (words.h). */
#include "base/words/checks.h"
#include "base/words/corpus.h"
#include "base/words/pipeline.h"
#include "base/words/ranks.h"
#include "base/words/report.h"
#include "base/words/runs.h"
#include "base/words/sections.h"
#include "base/words/voice.h"
