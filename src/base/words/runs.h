/* runs.h - runs compared, the live view of a run, and the table of thresholds. Rows of words.h. */
/* clang-format off */

WORD(SAY_HOURS_MINUTES, "%ld h %02ld min", "%ld ساعت و %ld دقیقه")
WORD(SAY_MINUTES_SECONDS, "%ld min %02ld s", "%ld دقیقه و %ld ثانیه")
WORD(SAY_ONLY_SECONDS, "%ld s", "%ld ثانیه")

/* --- compare: what is measured --- */

WORD(SAY_CMP_STEP, "step time", "زمان گام")
WORD(SAY_CMP_THROUGHPUT, "throughput", "سرعت")
WORD(SAY_CMP_FRAMES, "frames", "فریم‌ها")
WORD(SAY_CMP_SPREAD, "variation of step times", "نوسان زمان گام‌ها")
WORD(SAY_CMP_WAIT, "waiting for data", "انتظار برای داده")
WORD(SAY_CMP_BUSY, "model device busy", "مشغولی دستگاه مدل")
WORD(SAY_CMP_UTILISATION, "GPU utilisation", "به‌کارگیری GPU")
WORD(SAY_CMP_PADDING, "padding", "padding (پرکننده)")
WORD(SAY_CMP_MEMORY, "memory on the model device", "حافظه روی دستگاه مدل")
WORD(SAY_CMP_LOSS, "loss at the end", "loss پایانی")
WORD(SAY_CMP_TIME_TO_LOSS, "time to the loss %.4g", "زمان رسیدن به loss %.4g")
WORD(SAY_CMP_MS, "%.*f ms", "%.*f میلی‌ثانیه")
WORD(SAY_CMP_CLIPS, "%s clips/s", "%s کلیپ در ثانیه")
WORD(SAY_CMP_FRAMES_S, "%s frames/s", "%s فریم در ثانیه")
WORD(SAY_CMP_MB, "%.0f MB", "%.0f مگابایت")
WORD(SAY_CMP_GB, "%.2f GB", "%.2f گیگابایت")

/* --- compare: changes --- */

WORD(SAY_CMP_HIGHER, "%.*f %% higher", "%.*f٪ بیشتر")
WORD(SAY_CMP_LOWER, "%.*f %% lower", "%.*f٪ کمتر")
WORD(SAY_CMP_TIMES_HIGH, "%.3g times as high", "%.3g برابر")
WORD(SAY_CMP_FASTER, "%.*f %% faster than", "%.*f٪ بیشتر از")
WORD(SAY_CMP_SLOWER, "%.*f %% slower than", "%.*f٪ کمتر از")
WORD(SAY_CMP_TIMES_FAST, "%.3g times as fast as", "%.3g برابر")
WORD(SAY_CMP_FROM_TO, "%.*f to %.*f %%", "%.*f تا %.*f٪")
WORD(SAY_CMP_FROM_TO_TIMES, "%.3g to %.3g times", "%.3g تا %.3g برابر")
WORD(SAY_CMP_SAME, "the same", "یکسان")
WORD(SAY_CMP_SURE, "%s (95 %% sure: %s)", "%s (با ۹۵٪ اطمینان: %s)")
WORD(SAY_CMP_UNSURE, "no clear difference (95 %% sure: between %s and %s)",
     "تفاوتی که بتوان گفت نیست (با ۹۵٪ اطمینان: میان %s و %s)")
WORD(SAY_CMP_POINTS, "%+.1f points", "%+.1f واحد")
WORD(SAY_CMP_POINTS_SURE, "%+.1f points (95 %% sure: %+.1f to %+.1f)",
     "%+.1f واحد (با ۹۵٪ اطمینان: %+.1f تا %+.1f)")
WORD(SAY_CMP_POINTS_UNSURE, "no clear difference (95 %% sure: %+.1f to %+.1f points)",
     "تفاوتی که بتوان گفت نیست (با ۹۵٪ اطمینان: %+.1f تا %+.1f واحد)")

/* --- compare: the verdict and what weakens it --- */

WORD(SAY_CMP_FEW_STEPS, "B is %s A%s, but the logs hold too few steps to be sure of it.",
     "سرعت B %s سرعت A است%s، ولی گام‌های این logها برای اطمینان کم است.")
WORD(SAY_CMP_VERDICT, "B is %s A%s (95 %% sure: %s).", "سرعت B %s سرعت A است%s (با ۹۵٪ اطمینان: %s).")
WORD(SAY_CMP_NO_VERDICT,
     "No clear difference in speed%s: that of B is between %s and %s (95 %% sure).",
     "نمی‌شود گفت کدام تندتر است%s: سرعت B میان %s و %s از سرعت A است (با ۹۵٪ اطمینان).")
WORD(SAY_CMP_IN_STEPS, ", in steps", "، به شمار گام")
WORD(SAY_CMP_WARMUP,
     "%s ended at step %lld, within its warm-up of %lld steps: the learning rate was still rising, and its "
     "loss says little.",
     "%s در گام %lld تمام شد، درون warmup خود که %lld گام است: نرخ یادگیری هنوز بالا می‌رفت و loss آن چندان "
     "چیزی نمی‌گوید.")
WORD(SAY_CMP_OTHER_BATCHES,
     "%s continued with another batch size: the %zu batch times before that are left out.",
     "%s با batchهایی به اندازهٔ دیگر ادامه یافت: %zu زمان پیش از آن به شمار نیامد.")
WORD(SAY_CMP_ONCE,
     "Memory, loss and the time to a loss are single values from each run; their difference may be chance.",
     "حافظه و loss و زمان رسیدن به loss از هر آموزش تنها یک مقدارند؛ تفاوتشان شاید از بخت باشد.")
WORD(SAY_CMP_BOOTSTRAP,
     "Intervals come from a bootstrap over pieces of consecutive steps; the first steps of each run are left "
     "out.",
     "بازه‌ها از bootstrap روی تکه‌هایی از گام‌های پیاپی به دست آمده‌اند؛ نخستین گام‌های هر آموزش "
     "کنار گذاشته "
     "شده‌اند.")
WORD(SAY_CMP_TIMES_OF, "%s: %s (%zu batch times)", "%s: %s (%zu زمان batch)")
WORD(SAY_CMP_AGAINST, "B against A", "B در برابر A")
WORD(SAY_CMP_SETTINGS_DIFFER, "settings that differ", "تنظیم‌هایی که فرق دارند")
WORD(SAY_CMP_NO_SETTINGS, "Neither log records the settings of its run.",
     "هیچ‌کدام از دو log تنظیم‌های آموزشش را ندارد.")
WORD(SAY_CMP_ONE_WITHOUT_SETTINGS, "The log of %s does not record the settings of its run.",
     "log مربوط به %s تنظیم‌های آموزشش را ندارد.")
WORD(SAY_CMP_BOTH, "A %s, B %s", "A %s، B %s")
WORD(SAY_CMP_TITLE, "Two runs compared", "مقایسهٔ دو آموزش")
WORD(SAY_CMP_MEASURES, "Measures", "اندازه‌ها")
WORD(SAY_CMP_RUNS, "Runs and settings that differ", "دو آموزش و تنظیم‌هایی که فرق دارند")
WORD(SAY_CMP_CHART_TIMES, "Batch times", "زمان batchها")
WORD(SAY_CMP_CHART_HOW_LONG, "How long a batch takes", "هر batch چه‌قدر طول می‌کشد")
WORD(SAY_CMP_CHART_LOSS, "Loss over the time of training", "loss در طول زمان آموزش")

/* --- scaling: which size of a batch --- */

WORD(SAY_SCALING_ONE, "One run: %s clips/s with batches of %.3g; scaling needs runs of two batch sizes.",
     "یک اجرا: %s کلیپ در ثانیه با batchهای %.3g تایی؛ برای مقایسه، اجراهایی با دو اندازهٔ batch لازم است.")
WORD(SAY_SCALING_SMALLEST, "The smallest batch, %.3g, is as fast as any: %s clips/s.",
     "کوچک‌ترین batch، یعنی %.3g، به تندی هر batch دیگری است: %s کلیپ در ثانیه.")
WORD(SAY_SCALING_FASTEST,
     "Batches of %.3g are the fastest: %s clips/s, %.3g times those of %.3g (%.0f %% of linear).",
     "batchهای %.3g تایی تندترین‌اند: %s کلیپ در ثانیه، %.3g برابر batchهای %.3g تایی (%.0f٪ رشد خطی).")
WORD(SAY_SCALING_GROWS, " Speed still grows at the largest batch tried.",
     " در بزرگ‌ترین batch آزموده هم هنوز رشد می‌کند.")
WORD(SAY_SCALING_ENOUGH,
     "Batches of %.3g are enough: %s clips/s; %.3g reach %s, which is within 3 %% or cannot be told apart.",
     "batchهای %.3g تایی بس‌اند: %s کلیپ در ثانیه؛ %.3g تایی‌ها به %s می‌رسند که حداکثر ۳٪ فرق دارد یا از آن "
     "بازشناختنی نیست.")
WORD(SAY_SCALING_MEMORY, " Each additional clip in a batch takes about %.1f MB on the model device.",
     " هر کلیپ بیشتر در batch حدود %.1f مگابایت از حافظهٔ دستگاه مدل می‌گیرد.")
WORD(SAY_SCALING_DIFFER, "The runs differ in more than the batch size: %s.",
     "اجراها در چیزی بیش از اندازهٔ batch فرق دارند: %s.")

/* --- monitor --- */

WORD(SAY_VIEW_SOUNDS, "sounds", "صدا")
WORD(SAY_VIEW_WORDS, "words", "واژه‌ها")
WORD(SAY_VIEW_RUN, "run", "آموزش")
WORD(SAY_VIEW_STEP, "step", "گام")
WORD(SAY_VIEW_BATCH, "batch", "یک batch")
WORD(SAY_VIEW_LOSS, "loss", "مقدار loss")
WORD(SAY_VIEW_SPEED, "speed", "سرعت")
WORD(SAY_VIEW_WAITS, "waits", "انتظار")
WORD(SAY_VIEW_QUEUE, "queue", "صف")
WORD(SAY_VIEW_MEMORY, "memory", "حافظه")
WORD(SAY_VIEW_MACHINE, "machine", "ماشین")
WORD(SAY_VIEW_NOTES, "notes", "یادداشت")
WORD(SAY_VIEW_BUSY, "busy", "مشغول")
WORD(SAY_VIEW_WAIT, "wait", "انتظار")
WORD(SAY_VIEW_PADDING, "padding", "پرکننده")
WORD(SAY_VIEW_WORDS_WRONG, "words wrong", "واژه‌های نادرست")
WORD(SAY_VIEW_SHARE, "%s %.1f %%", "%s %.1f٪")
WORD(SAY_VIEW_NOT_A_NUMBER, "not a number", "نه یک عدد")
WORD(SAY_VIEW_ENDED, "ended", "پایان یافته")
WORD(SAY_VIEW_ENDED_AGO, "ended, %s ago", "پایان یافته، %s پیش")
WORD(SAY_VIEW_SILENT, "no new line for %s: stopped, or stuck",
     "از %s پیش خط تازه‌ای نیامده: ایستاده یا گیر کرده")
WORD(SAY_VIEW_EMPTY, "no step yet", "هنوز هیچ گامی")
WORD(SAY_VIEW_LAST_LINE, "%s, last line %s ago", "%s، خط آخر %s پیش")
WORD(SAY_VIEW_RUNNING, "running", "در جریان")
WORD(SAY_VIEW_PREPARING, "preparing", "آماده‌سازی")
WORD(SAY_VIEW_WARMUP, "warm-up", "گرم شدن")
WORD(SAY_VIEW_VALIDATING, "validating", "اعتبارسنجی")
WORD(SAY_VIEW_LISTENING, "listening", "گوش دادن")
WORD(SAY_VIEW_VALIDATION, "validation %s at step %lld", "اعتبارسنجی %s در گام %lld")
WORD(SAY_VIEW_OF_STEPS, " of %s %s %.0f %%", " از %s %s %.0f٪")
WORD(SAY_VIEW_LEFT, "%s left", "%s مانده")
WORD(SAY_VIEW_TIMES, "%.2f ms ±%.1f %%", "%.2f میلی‌ثانیه ±%.1f٪")
WORD(SAY_VIEW_TIMES_RANGE, "%.1f to %.1f ms", "%.1f تا %.1f میلی‌ثانیه")
WORD(SAY_VIEW_OF_GB, "%.1f of %.1f GB", "%.1f از %.1f گیگابایت")
WORD(SAY_VIEW_WATTS, "%.0f W", "%.0f وات")
WORD(SAY_VIEW_MHZ, "%.0f MHz", "%.0f مگاهرتز")
WORD(SAY_VIEW_DEGREES, "%.0f °C", "%.0f درجه")
WORD(SAY_VIEW_WRONG, "%.0f %% wrong", "%.0f٪ نادرست")
WORD(SAY_VIEW_WRONG_IN_RECORDINGS, ", %.0f %% in the recordings", "، %.0f٪ در ضبط‌ها")
WORD(SAY_VIEW_READY_OF, "%.1f of %.0f batches ready", "%.1f batch از %.0f آماده")
WORD(SAY_VIEW_READY, "%.1f batches ready", "%.1f batch آماده")
WORD(SAY_VIEW_ON_MODEL, "%.2f GB on the model device", "%.2f گیگابایت روی دستگاه مدل")
WORD(SAY_VIEW_BATCHES_OF, "batches of %s", "batchهای %s تایی")
WORD(SAY_VIEW_MODEL_ON, "model on %s", "مدل روی %s")
WORD(SAY_VIEW_DATA_ON, "data on %s", "داده روی %s")
WORD(SAY_VIEW_NO_NVML, "not measured: no NVML on this machine", "سنجیده نشده: این ماشین NVML ندارد")
COUNTED(SAY_VIEW_LEFT_OUT, "%lld step left out", "%lld steps left out", "%lld گام کنار گذاشته شد")
COUNTED(SAY_VIEW_RESUMED, ", resumed %d time", ", resumed %d times", "، %d بار از سر گرفته شد")
WORD(SAY_VIEW_STEP_LINE, "step %lld", "گام %lld")
WORD(SAY_VIEW_STEP_OF_LINE, "step %lld/%lld", "گام %lld از %lld")
WORD(SAY_VIEW_LOSS_LINE, "loss %s", "مقدار loss %s")
WORD(SAY_VIEW_BATCH_LINE, "batch %s", "هر batch %s")
WORD(SAY_VIEW_QUEUE_LINE, "queue %.1f", "صف %.1f")
WORD(SAY_VIEW_GPU_LINE, "GPU %d %.0f %%", "کارت GPU %d %.0f٪")

/* --- thresholds --- */

WORD(SAY_LIMIT_MEASURE, "measure", "اندازه")
WORD(SAY_LIMIT_NOTE, "; %s", "؛ %s")
WORD(SAY_LIMIT_FROM, ">= %s", "از %s")
WORD(SAY_LIMIT_BELOW, "< %s", "کمتر از %s")
WORD(SAY_LIMIT_ABOVE, "> %s", "بیش از %s")
WORD(SAY_LIMIT_BETWEEN, "%s to %s", "%s تا %s")
WORD(SAY_LIMIT_PERCENT, "%g %%", "%g٪")
WORD(SAY_LIMIT_POINTS, "%g points", "%g واحد")
WORD(SAY_LIMIT_NUMBER, "%g", "عدد %g")
WORD(SAY_LIMIT_MS, "%g ms", "%g میلی‌ثانیه")
WORD(SAY_LIMIT_TIMES, "%g times", "%g برابر")
WORD(SAY_LIMIT_HZ, "%g Hz", "%g هرتز")
WORD(SAY_LIMIT_MINUTES, "%g min", "%g دقیقه")
WORD(SAY_GPU_BUSY_LIMIT, "model device busy", "مشغولی دستگاه مدل")
WORD(SAY_GPU_SWING_LIMIT, "model GPU utilisation swings", "نوسان به‌کارگیری GPU مدل")
WORD(SAY_WAIT_LIMIT, "trainer waits on data, share of step time", "انتظار آموزش برای داده، سهم از زمان گام")
WORD(SAY_LOAD_LIMIT, "load stage, share of step time when not hidden",
     "مرحلهٔ بارگذاری، سهم آشکار از زمان گام")
WORD(SAY_TRANSFER_LIMIT, "transfer stage, share of step time when not hidden",
     "مرحلهٔ انتقال، سهم آشکار از زمان گام")
WORD(SAY_VARIATION_LIMIT, "step time variation (std / mean)", "نوسان زمان گام (انحراف معیار / میانگین)")
WORD(SAY_JITTER_LIMIT, "jitter of the step itself, without lengths and stalls",
     "لرزش خود گام، بدون درازاها و گیرها")
WORD(SAY_JITTER_NOTE, "above this, jitter is reported", "بیش از آن، لرزش نام برده می‌شود")
WORD(SAY_CYCLE_LIMIT, "cycle: highest autocorrelation of step times, lags 2-20",
     "دوره: بالاترین خودهمبستگی زمان گام‌ها، با فاصلهٔ ۲ تا ۲۰")
WORD(SAY_CYCLE_NOTE, "from here on, a periodic stall is reported with its period",
     "از اینجا گیر دوره‌ای است و دوره‌اش گفته می‌شود")
WORD(SAY_STORAGE_LIMIT, "storage, 1 MiB reads past the page cache", "دیسک، خواندن ۱ مگابایت بدون کش صفحه‌ها")
WORD(SAY_PADDING_LIMIT, "padding share", "سهم padding (پرکننده)")
WORD(SAY_STALL_LIMIT, "throughput that a periodic stall or outliers cost",
     "سرعتی که گیر دوره‌ای یا گام‌های پرت می‌گیرند")
WORD(SAY_UNNAMED_NOTE, "less than this is not reported", "کمتر از این گفته نمی‌شود")
WORD(SAY_STEP_LIMIT, "step time over the time per batch of the next slowest stage",
     "زمان گام به زمان هر batch در کندترین مرحلهٔ دیگر")
WORD(SAY_STEP_NOTE, "above this, the step is the limit, everything else has time to spare (bottleneck "
     "step, cause compute)",
     "بیش از آن: گلوگاه خود گام است و هر چیز دیگر جا دارد (گلوگاه step، علت compute)")
WORD(SAY_FORECAST_LIMIT, "forecast of the present settings against what was measured",
     "پیش‌بینی تنظیم‌های کنونی در برابر سنجیده‌شده")
WORD(SAY_FORECAST_NOTE, "above this, the forecasts are not to be trusted",
     "بیش از آن به پیش‌بینی‌ها اعتمادی نیست")
WORD(SAY_GAIN_LIMIT, "predicted gain that makes a change worthwhile",
     "سود پیش‌بینی‌شدهٔ تغییری که به کردنش می‌ارزد")
WORD(SAY_EXPOSED_LIMIT, "ranks: communication that is not hidden, share of step time",
     "rankها: ارتباطی که پنهان نمی‌شود، سهم از زمان گام")
WORD(SAY_EXPOSED_NOTE, "above this, the link is reported", "بیش از آن، اتصال نام برده می‌شود")
WORD(SAY_LATE_LIMIT, "ranks: throughput that a slow rank or host costs",
     "rankها: سرعتی که یک rank یا میزبان کند می‌گیرد")
WORD(SAY_OWN_TEXT_LIMIT, "voice: how much better a clip fits its own text than another",
     "صدا: آنچه متن خود کلیپ از آن توضیح می‌دهد و متن دیگر نه")
WORD(SAY_OWN_TEXT_NOTE, "less: the alignment is not learned", "کمتر: هم‌ترازی یاد گرفته نشده")
WORD(SAY_COST_LIMIT, "voice: distance of the mel from the alignment, where texts were not compared",
     "صدا: فاصلهٔ mel از هم‌ترازی، جایی که متن‌ها مقایسه نشده‌اند")
WORD(SAY_COST_NOTE, "1: it knows nothing", "۱: هیچ نمی‌داند")
WORD(SAY_ONES_LIMIT, "voice: symbols with one frame", "صدا: نمادهای یک‌فریمی")
WORD(SAY_ONES_NOTE, "where a symbol has 3 frames or more on average",
     "جایی که هر نماد به طور میانگین ۳ فریم یا بیشتر دارد")
WORD(SAY_HELD_LIMIT, "voice: frames that the longest tenth of the symbols has",
     "صدا: فریم‌های یک‌دهم درازترین نمادها")
WORD(SAY_DURATIONS_LIMIT, "voice: variation of durations that is predicted",
     "صدا: سهم پیش‌بینی‌شدهٔ نوسان کشش‌ها")
WORD(SAY_PITCH_LIMIT, "voice: variation of pitch that is predicted", "صدا: سهم پیش‌بینی‌شدهٔ نوسان زیروبمی")
WORD(SAY_SUSPECT_LIMIT, "voice: how much worse a text fits than the rest, robust deviations",
     "صدا: متنی که بدتر از بقیه می‌خورد، به انحراف مقاوم")
WORD(SAY_WORDS_LIMIT, "voice: words heard wrong, beyond those of the recordings",
     "صدا: واژه‌های نادرست شنیده‌شده، افزون بر ضبط‌ها")
WORD(SAY_DEAF_LIMIT, "voice: words of the recordings themselves heard wrong",
     "صدا: واژه‌های نادرست شنیده‌شده در خود ضبط‌ها")
WORD(SAY_DEAF_NOTE, "above this, the judge says nothing about the voice",
     "بیش از آن، داور چیزی دربارهٔ صدا نمی‌گوید")
WORD(SAY_RISE_LIMIT, "voice: validation loss above its lowest", "صدا: loss اعتبارسنجی بالای کمترین مقدارش")
WORD(SAY_RISE_NOTE, "while the training loss falls", "در حالی که loss آموزش پایین می‌آید")
WORD(SAY_SILENT_LIMIT, "recordings: clips that are mostly silence", "ضبط‌ها: کلیپ‌هایی که بیشترشان سکوت است")
WORD(SAY_CLIPPED_LIMIT, "recordings: clips that are clipped", "ضبط‌ها: کلیپ‌هایی که clipping دارند")
WORD(SAY_FAST_LIMIT, "recordings: phonemes a second, most", "ضبط‌ها: واج در ثانیه، بیشترین")
WORD(SAY_FAST_NOTE, "with a high voice from 14.5 on", "با صدای زیر از ۱۴٫۵")
WORD(SAY_SLOW_LIMIT, "recordings: phonemes a second, least", "ضبط‌ها: واج در ثانیه، کمترین")
WORD(SAY_SLOW_NOTE, "with a deep voice from 8 on", "با صدای بم از ۸")
WORD(SAY_HIGH_LIMIT, "recordings: fundamental frequency, most", "ضبط‌ها: بسامد پایه، بیشترین")
WORD(SAY_LOW_LIMIT, "recordings: fundamental frequency, least", "ضبط‌ها: بسامد پایه، کمترین")
WORD(SAY_CLIPS_LIMIT, "recordings: clips", "ضبط‌ها: شمار کلیپ‌ها")
WORD(SAY_MINUTES_LIMIT, "recordings: minutes of speech", "ضبط‌ها: دقیقه‌های گفتار")
