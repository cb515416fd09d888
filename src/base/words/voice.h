/* voice.h - findings about a voice in training, and the numbers behind them. Rows of words.h. */
/* clang-format off */

/* --- the recordings --- */

WORD(SAY_VOICE_FAST,
     "The recordings seem to play too fast:", "به نظر می‌رسد ضبط‌ها تندتر از اندازه پخش می‌شوند:")
WORD(SAY_VOICE_SLOW,
     "The recordings seem to play too slow:", "به نظر می‌رسد ضبط‌ها کندتر از اندازه پخش می‌شوند:")
WORD(SAY_VOICE_RATE,
     " %.1f phonemes a second (readers have 8 to 14)", " %.1f واج در ثانیه (خواننده‌ها ۸ تا ۱۴ دارند)")
WORD(SAY_VOICE_F0,
     " a voice of %.0f Hz (most are between 85 and 250)",
     " صدایی %.0f هرتزی (بیشتر صداها میان ۸۵ و ۲۵۰ هرتزند)")
WORD(SAY_VOICE_FAST_ADVICE,
     "Listen to one of them. If it sounds hurried and high, the headers name the wrong sample rate "
     "(sound of 16000 Hz played at 22050 is 1.38 times as fast): write the true rate into the "
     "files and prepare again. If the speaker talks like that, nothing is wrong.",
     "یکی را گوش کنید. اگر شتاب‌زده و زیر است، نرخ نمونه‌برداری نوشته‌شده در فایل درست نیست (۲۲۰۵۰ برای "
     "صدای ۱۶۰۰۰، پخش را ۱٫۳۸ برابر تند می‌کند): نرخ درست را در فایل‌ها بنویسید و دوباره آماده کنید. "
     "اگر گوینده همین‌طور حرف می‌زند، ایرادی نیست.")
WORD(SAY_VOICE_SLOW_ADVICE,
     "Listen to one of them. If it sounds dragging and deep, the headers name the wrong sample rate "
     "(sound of 16000 Hz played at 22050 is 1.38 times as fast): write the true rate into the "
     "files and prepare again. If the speaker talks like that, nothing is wrong.",
     "یکی را گوش کنید. اگر کشدار و بم است، نرخ نمونه‌برداری نوشته‌شده در فایل درست نیست (۲۲۰۵۰ برای "
     "صدای ۱۶۰۰۰، پخش را ۱٫۳۸ برابر تند می‌کند): نرخ درست را در فایل‌ها بنویسید و دوباره آماده کنید. "
     "اگر گوینده همین‌طور حرف می‌زند، ایرادی نیست.")
WORD(SAY_VOICE_SILENCE,
     "%.0f %% of the recordings contain hardly any speech", "%.0f٪ ضبط‌ها تقریباً هیچ گفتاری ندارند")
WORD(SAY_VOICE_SILENCE_LINES,
     "%lld of %lld were left out because they are nothing but silence",
     "%lld از %lld کنار گذاشته شدند چون جز سکوت چیزی ندارند")
WORD(SAY_VOICE_SILENCE_HALF,
     "%lld of the %lld checked are silent for more than half of their time",
     "%lld از %lld ضبطی که دیده شد بیش از نیمی از وقت ساکت‌اند")
WORD(SAY_VOICE_AND, ", and ", "، و ")
WORD(SAY_VOICE_SILENCE_ADVICE,
     "Listen to those named. Record them again, or take their lines out; where speech has long pauses "
     "before or after it, trim_silence: true and a smaller trim_top_db cut them off.",
     "آن‌هایی را که نام برده شده گوش کنید. دوباره ضبطشان کنید یا خطشان را بردارید؛ اگر پیش یا پس از "
     "گفتار سکوتی طولانی هست، `trim_silence: true` و trim_top_db کوچک‌تر آن را می‌برند.")
WORD(SAY_VOICE_CLIPPING,
     "%.0f %% of the recordings are clipped (%lld of the %lld checked; %.2f %% of all samples "
     "are cut off).",
     "%.0f٪ ضبط‌ها clipping دارند (%lld از %lld ضبطی که دیده شد؛ %.2f٪ همهٔ نمونه‌ها بریده است).")
WORD(SAY_VOICE_CLIPPING_ADVICE,
     "The voice will learn the rattle. Use a version of the recordings from before the level was raised, "
     "or record with less gain; turning the volume down afterwards does not bring back what was cut off.",
     "صدا این خش‌خش را یاد می‌گیرد. ضبط‌ها را از نسخهٔ پیش از بلند کردن صدا بردارید، یا با حساسیت کمتر "
     "ضبط کنید؛ کم کردن صدا پس از ضبط، آنچه را بریده شده برنمی‌گرداند.")
COUNTED(SAY_VOICE_FEW,
     "There is %lld clip, %.1f minutes of speech", "There are %lld clips, %.1f minutes of speech",
     "%lld کلیپ هست، %.1f دقیقه گفتار")
WORD(SAY_VOICE_RARE,
     "; %d of %d phonemes occur fewer than %d times", "؛ %d واج از %d واج کمتر از %d بار آمده‌اند")
WORD(SAY_VOICE_FEW_ADVICE,
     "Expect a voice that resembles the speaker and stumbles over words it has not seen, and judge it "
     "by what is understood, not by its loss. A voice for any text needs an hour or more, in which every "
     "sound occurs many times.",
     "صدایی در انتظارتان است که به گوینده شبیه است و در واژه‌هایی که ندیده می‌لنگد؛ آن را با آنچه "
     "فهمیده می‌شود بسنجید، نه با loss. صدایی برای هر متنی یک ساعت یا بیشتر می‌خواهد، و هر آوا را بارها.")

/* --- the training --- */

WORD(SAY_VOICE_DIVERGED, "The training has diverged: the loss is %.4g at step %lld",
     "آموزش واگرا شده است: loss در گام %2$lld به %1$.4g رسیده")
WORD(SAY_VOICE_DIVERGED_ABOVE, ", far above that of a network that knows nothing",
     "، بسیار بالاتر از شبکه‌ای که هیچ نمی‌داند")
WORD(SAY_VOICE_DIVERGED_FROM, ", having been %.4g at step %lld", "، و در گام %2$lld برابر %1$.4g بوده است")
WORD(SAY_VOICE_DIVERGED_FROM_LOWEST, ", having been %.4g at its lowest", "، و پیش‌تر تا %.4g پایین آمده بود")
WORD(SAY_VOICE_DIVERGED_STOPPED,
     "; the run was stopped there, because no step gave a usable gradient any more",
     "؛ آموزش همان‌جا متوقف شد، چون دیگر هیچ گامی گرادیان قابل استفاده‌ای نمی‌داد")
WORD(SAY_VOICE_STUCK, "The loss does not fall: it was %.4g at step %lld and is %.4g at step %lld",
     "loss پایین نمی‌آید: در گام %2$lld برابر %1$.4g بود و در گام %4$lld برابر %3$.4g است")
WORD(SAY_VOICE_HIGHEST_RATE, "; the highest learning rate was %.3g", "؛ بالاترین نرخ یادگیری %.3g بود")
WORD(SAY_VOICE_DIVERGED_ADVICE,
     "The learning rate is too high. Start again in another --checkpoint-dir with the preset's "
     "learning_rate, or a third of yours; a longer warmup_steps helps too.",
     "نرخ یادگیری زیاد است. در `--checkpoint-dir` دیگری با learning_rate پیش‌فرض، یا یک‌سوم مقدار "
     "خودتان، از نو آغاز کنید؛ warmup_steps بیشتر هم کمک می‌کند.")
WORD(SAY_VOICE_STUCK_ADVICE,
     "Start again in another --checkpoint-dir with the preset's learning_rate (leave the setting out). "
     "If that does not help, the texts may belong to other recordings.",
     "در `--checkpoint-dir` دیگری با learning_rate پیش‌فرض از نو آغاز کنید (تنظیم را ننویسید). اگر کمک "
     "نکرد، شاید متن‌ها از آنِ ضبط‌های دیگری باشند.")
WORD(SAY_VOICE_UNALIGNED, "The network does not know which sound belongs to which symbol: ",
     "شبکه نمی‌داند کدام آوا از آنِ کدام نماد است: ")
WORD(SAY_VOICE_OWN_TEXT, "a recording fits its own text hardly better than another clip's (by %.1f %%)",
     "هر ضبط با متن خودش تقریباً همان‌قدر جور است که با متن کلیپی دیگر (تنها %.1f٪ بهتر)")
WORD(SAY_VOICE_DISTANCE,
     "the distance of recordings from what it expects of their symbols is %.2f, where 1 means it knows "
     "nothing",
     "فاصلهٔ ضبط‌ها از آنچه از نمادهایشان انتظار دارد %.2f است؛ ۱ یعنی هیچ نمی‌داند")
WORD(SAY_VOICE_ONES, ", and %.0f %% of the symbols have one frame", "، و %.0f٪ نمادها یک فریم دارند")
WORD(SAY_VOICE_AT_STEP, ", at step %lld", "، در گام %lld")
WORD(SAY_VOICE_YOUNG,
     "The run has only begun: train longer. If this persists: ",
     "آموزش تازه آغاز شده: ادامه دهید. اگر همین ماند: ")
WORD(SAY_VOICE_UNALIGNED_ADVICE,
     "Make sure that the texts belong to the recordings (a list shifted by one line is enough to cause this) "
     "and that `language` is right. Then train longer, with batches of 16 clips or more.",
     "ببینید متن‌ها از آنِ همین ضبط‌ها باشند (جابه‌جا شدن فهرست به اندازهٔ یک خط کافی است) و `language` "
     "زبان آن‌ها باشد. سپس بیشتر آموزش دهید، با batchهای ۱۶ کلیپی یا بزرگ‌تر.")
WORD(SAY_VOICE_COLLAPSED,
     "The durations have collapsed: %.0f %% of the symbols have one frame, and a tenth of the symbols "
     "has %.0f %% of all frames (%.1f frames a symbol on average).",
     "دیرش‌ها فروریخته‌اند: %.0f٪ نمادها یک فریم دارند و یک‌دهم نمادها %.0f٪ همهٔ فریم‌ها را (به طور "
     "میانگین %.1f فریم برای هر نماد).")
WORD(SAY_VOICE_COLLAPSED_ADVICE,
     "Look at the alignment of some clips with `myxtts align`. Long pauses inside recordings, texts "
     "with words that are not spoken, and music do this: cut them out, then train again.",
     "هم‌ترازی چند کلیپ را با `myxtts align` ببینید. سکوت‌های بلند میان ضبط‌ها، متن‌هایی با واژه‌های "
     "نگفته، و موسیقی چنین می‌کنند: آن‌ها را ببرید و دوباره آموزش دهید.")
WORD(SAY_VOICE_METRONOME,
     "The predicted durations are nearly the same for all symbols: they explain %.0f %% of how the real "
     "ones differ (%lld clips).",
     "دیرش‌های پیش‌بینی‌شده برای همهٔ نمادها تقریباً یکی است: تنها %.0f٪ تفاوت دیرش‌های واقعی را توضیح "
     "می‌دهند (%lld کلیپ).")
WORD(SAY_VOICE_METRONOME_ADVICE,
     "The voice would speak like a metronome. Train longer; if that does not help, raise "
     "duration_loss_weight.",
     "صدا مانند مترونوم حرف خواهد زد. بیشتر آموزش دهید؛ اگر همین ماند، duration_loss_weight را بالا ببرید.")
WORD(SAY_VOICE_FLAT,
     "The melody is not learned: the predicted pitch explains %.0f %% of how the real one moves (%lld "
     "clips).",
     "آهنگ صدا یاد گرفته نشده: زیروبمی پیش‌بینی‌شده تنها %.0f٪ حرکت زیروبمی واقعی را توضیح می‌دهد (%lld "
     "کلیپ).")
WORD(SAY_VOICE_FLAT_STEP,
     "The melody is not learned: at step %lld the error of the predicted pitch is %.3f a frame; saying "
     "the speaker's mean for every symbol would give %.3f.",
     "آهنگ صدا یاد گرفته نشده: در گام %lld خطای زیروبمی پیش‌بینی‌شده در هر فریم %.3f است؛ اگر برای هر "
     "نماد میانگین گوینده گفته می‌شد %.3f می‌بود.")
WORD(SAY_VOICE_FLAT_ADVICE,
     "The voice would sound flat. Train longer; if that does not help, raise pitch_loss_weight, and check "
     "by ear that the recordings have a single voice and no music or noise, so that their pitch can be "
     "found.",
     "صدا یکنواخت خواهد بود. بیشتر آموزش دهید؛ اگر همین ماند، pitch_loss_weight را بالا ببرید و گوش "
     "کنید که در ضبط‌ها تنها یک صدا، بی موسیقی و نویز، باشد: نخست باید زیروبمی خودشان پیدا شود.")
WORD(SAY_VOICE_BY_HEART,
     "The voice has been learning its clips by heart since step %lld: the loss of held-out clips was "
     "%.4f there and %.4f in the last %d validations (%+.1f %%), while the training loss went from %.4f "
     "to %.4f",
     "صدا از گام %1$lld کلیپ‌هایش را حفظ می‌کند: loss کلیپ‌های کنارگذاشته آنجا %2$.4f بود و در %4$d "
     "اعتبارسنجی آخر %3$.4f بوده است (%5$+.1f٪)، در حالی که loss آموزش از %6$.4f به %7$.4f رسید")
WORD(SAY_VOICE_RISES_MOST, "; most of the rise is in %s", "؛ بیشتر این افزایش در %s است")
WORD(SAY_VOICE_BY_HEART_ADVICE,
     "More recordings help most, then a smaller model_size or more dropout. Use "
     "best.safetensors: it is chosen by how close it sounds to the recordings, not by this loss; "
     "early_stopping_patience ends a run by itself when it sounds no better.",
     "ضبط‌های بیشتر از همه بهتر است، سپس model_size کوچک‌تر یا dropout بیشتر. با best.safetensors حرف "
     "بزنید: ملاک برگزیدنش نزدیکی صدا به ضبط‌هاست، نه این loss؛ early_stopping_patience وقتی صدا دیگر "
     "بهتر نشود آموزش را خودش پایان می‌دهد.")
WORD(SAY_VOICE_DEAF,
     "The judge hardly understands the recordings themselves: of their %lld words it heard %lld wrong "
     "(%.0f %%). So what it hears of the voice (%.0f %% wrong) says nothing.",
     "داور خود ضبط‌ها را هم به‌سختی می‌فهمد: از %lld واژهٔ آن‌ها %lld را نادرست شنید (%.0f٪). پس آنچه "
     "از صدا می‌شنود (%.0f٪ نادرست) چیزی نمی‌گوید.")
WORD(SAY_VOICE_DEAF_ADVICE,
     "Listen to some recordings while reading their texts. Texts of other clips do this, as do noise, a "
     "wrong sample rate, and a language that the judge does not know.",
     "چند ضبط را با متنشان در برابر چشم گوش کنید. متنی که از آنِ کلیپ دیگری است چنین می‌کند، و نیز "
     "نویز، نرخ نمونه‌برداری نادرست، و زبانی که داور نمی‌داند.")
WORD(SAY_VOICE_WORDS,
     "Of %lld words the judge heard %lld wrong (%.1f %%); of the %lld words in the recordings, %lld (%.1f "
     "%%).",
     "داور از %lld واژه %lld را نادرست شنید (%.1f٪)؛ از %lld واژهٔ خود ضبط‌ها %lld را (%.1f٪).")
WORD(SAY_VOICE_LENGTH,
     " It speaks for %.2f times as long as the recordings.", " حرف زدنش %.2f برابر ضبط‌ها طول می‌کشد.")
WORD(SAY_VOICE_BETTER,
     "It was %.0f %% at step %lld and is improving: train longer. ",
     "در گام %2$lld این عدد %1$.0f٪ بود و رو به بهبود است: ادامه دهید. ")
WORD(SAY_VOICE_WORDS_ADVICE,
     "Listen to some sentences. See the other findings first, if there are any; then train longer, on "
     "more recordings, or with a larger model_size.",
     "چند جمله را گوش کنید. اگر یافتهٔ دیگری هست نخست به آن برسید؛ سپس بیشتر، با ضبط‌های بیشتر، یا با "
     "model_size بزرگ‌تر آموزش دهید.")
WORD(SAY_VOICE_TEXTS,
     "%lld of %zu lines have a text that does not seem to match the speech: it fits the recording hardly "
     "better than another clip's text does. The clearest case is %s.",
     "متن %lld خط از %zu خط گویا آن نیست که گفته می‌شود: با ضبط تقریباً همان‌قدر جور است که متن کلیپی "
     "دیگر. روشن‌ترینشان %s است.")
WORD(SAY_VOICE_NOT_NAMED, "not named", "بی‌نام")
WORD(SAY_VOICE_TEXTS_ADVICE,
     "Listen to the clips in the list (worst first) and correct their texts or remove their lines: "
     "they teach wrong sounds.",
     "کلیپ‌های فهرست را گوش کنید (بدترین‌ها اول‌اند) و متنشان را درست کنید یا خطشان را بردارید: آوای "
     "نادرست یاد می‌دهند.")

/* --- causes, as people read them --- */

WORD(SAY_VOICE_CAUSE_SAMPLE_RATE, "sample_rate", "نرخ نمونه‌برداری")
WORD(SAY_VOICE_CAUSE_SILENCE, "silence", "سکوت")
WORD(SAY_VOICE_CAUSE_LOSS, "loss", "سیر loss")
WORD(SAY_VOICE_CAUSE_ALIGNMENT, "alignment", "هم‌ترازی")
WORD(SAY_VOICE_CAUSE_DURATIONS, "durations", "دیرش‌ها")
WORD(SAY_VOICE_CAUSE_WORDS, "words", "واژه‌ها")
WORD(SAY_VOICE_CAUSE_TEXTS, "texts", "متن‌ها")
WORD(SAY_VOICE_CAUSE_CLIPPING, "clipping", "بریدگی صدا")
WORD(SAY_VOICE_CAUSE_OVERFITTING, "overfitting", "حفظ کردن کلیپ‌ها")
WORD(SAY_VOICE_CAUSE_PITCH, "pitch", "زیروبمی")
WORD(SAY_VOICE_CAUSE_FEW_CLIPS, "few_clips", "کم بودن کلیپ‌ها")

/* --- the report --- */

WORD(SAY_VOICE_TITLE, "VOICE", "صدا")
WORD(SAY_VOICE_FINDINGS, "FINDINGS", "یافته‌ها")
WORD(SAY_VOICE_RECORDINGS, "recordings", "ضبط‌ها")
WORD(SAY_VOICE_LOSSES, "losses", "lossها")
WORD(SAY_VOICE_ALIGNMENT, "alignment", "هم‌ترازی")
WORD(SAY_VOICE_DURATIONS_ROW, "durations", "دیرش‌ها")
WORD(SAY_VOICE_PREDICTED, "predicted", "پیش‌بینی")
WORD(SAY_VOICE_WORDS_ROW, "words", "واژه‌ها")
COUNTED(SAY_VOICE_ROW_CLIPS, "%lld clip, %.1f minutes", "%lld clips, %.1f minutes", "%lld کلیپ، %.1f دقیقه")
WORD(SAY_VOICE_ROW_RATE, ", %.1f phonemes a second", "، %.1f واج در ثانیه")
WORD(SAY_VOICE_ROW_HZ, ", %.0f Hz", "، %.0f هرتز")
WORD(SAY_VOICE_ROW_LOOKED,
     "; of %lld checked, %lld are mostly silence, %lld clipped",
     "؛ از %lld ضبطی که دیده شد %lld بیشتر سکوت است و %lld بریدگی دارد")
WORD(SAY_VOICE_ROW_SILENT, "; %lld silent ones were left out", "؛ %lld ضبط ساکت کنار گذاشته شد")
WORD(SAY_VOICE_ROW_TRAINING, "training %.4f at step %lld", "آموزش %.4f در گام %lld")
WORD(SAY_VOICE_ROW_HELD_OUT, "held-out clips %.4f", "کلیپ‌های کنارگذاشته %.4f")
WORD(SAY_VOICE_ROW_LOWEST, " at step %lld (lowest %.4f at %lld)", " در گام %lld (کمترین %.4f در گام %lld)")
WORD(SAY_VOICE_ROW_NO_LOSS, "none in the log", "در log چیزی نیست")
COUNTED(SAY_VOICE_ROW_ALIGNMENT,
     "distance %.2f, %.1f %% less than with the text of another clip (%zu clip)",
     "distance %.2f, %.1f %% less than with the text of another clip (%zu clips)",
     "فاصله %.2f، %.1f٪ کمتر از فاصله با متن کلیپی دیگر (%zu کلیپ)")
WORD(SAY_VOICE_ROW_DURATIONS,
     "%.1f frames a symbol; %.0f %% of the symbols have one, the longest tenth has %.0f %% of all",
     "%.1f فریم برای هر نماد؛ %.0f٪ نمادها یک فریم دارند و بلندترین یک‌دهم %.0f٪ همه را")
COUNTED(SAY_VOICE_ROW_PREDICTED,
     "%.0f %% of how durations differ and %.0f %% of how the pitch moves, %lld clip",
     "%.0f %% of how durations differ and %.0f %% of how the pitch moves, %lld clips",
     "%.0f٪ تفاوت دیرش‌ها و %.0f٪ حرکت زیروبمی، %lld کلیپ")
WORD(SAY_VOICE_ROW_WORDS, "%.1f %% of %lld words were heard wrong, in the recordings %.1f %% (step %lld)",
     "%.1f٪ از %lld واژه نادرست شنیده شد، از ضبط‌ها %.1f٪ (گام %lld)")
WORD(SAY_VOICE_ROW_UNHEARD, "not measured: whether the voice can be understood is not known",
     "سنجیده نشده: نمی‌دانیم صدا فهمیده می‌شود یا نه")
WORD(SAY_VOICE_NO_FINDINGS, "none in what was looked at:", "در آنچه دیده شد چیزی نیست:")
WORD(SAY_VOICE_SAW_LOG, " the log,", " log،")
WORD(SAY_VOICE_SAW_RECORDINGS, " the recordings,", " ضبط‌ها،")
WORD(SAY_VOICE_SAW_ALIGNMENT, " the alignment,", " هم‌ترازی،")
WORD(SAY_VOICE_SAW_WORDS, " the words", " واژه‌ها")
WORD(SAY_VOICE_NOBODY, " but nobody listened", " ولی کسی گوش نداده است")
