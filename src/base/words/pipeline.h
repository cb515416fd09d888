/* pipeline.h - sentences about the speed of a training: doctor, walls, gains, swings. Rows of words.h. */
/* clang-format off */

/* --- the verdict --- */

WORD(SAY_DISTURBED,
     "Too disturbed to judge: other programs use the cores, and threads of this one waited for them, "
     "%.0f ms in every second. Ask again when the machine is quiet.",
     "شلوغ‌تر از آن است که بتوان داوری کرد: برنامه‌های دیگر هسته‌ها را گرفته‌اند و نخ‌های این برنامه در "
     "هر ثانیه "
     "%.0f میلی‌ثانیه منتظرشان ماندند. وقتی ماشین خلوت شد دوباره بپرسید.")
WORD(SAY_NOTHING_OVERLAPS,
     "Nothing overlaps: with native_loading off the trainer loads each batch itself, and the model "
     "device waits "
     "%.1f %% of the time, most of it for stage %s.",
     "هیچ کاری هم‌زمان پیش نمی‌رود: با native_loading خاموش، خود آموزش هر batch را می‌خواند و دستگاه "
     "مدل %.1f٪ وقت را "
     "منتظر است، بیشترش برای مرحلهٔ %s.")
WORD(SAY_ALONE_STALLS,
     "The pipeline alone delivers %.0f utterances/s; it is limited by stalls of stage %s, %.1f ms every "
     "%d batches. "
     "Only the training step can tell whether that is too slow: `myxtts diagnose`.",
     "pipeline به‌تنهایی در هر ثانیه %.0f جمله می‌دهد؛ گیرهای مرحلهٔ %s نگهش می‌دارند: %.1f میلی‌ثانیه "
     "در هر %d batch. "
     "این‌که کم است یا نه، به گام آموزش بستگی دارد: `myxtts diagnose`.")
WORD(SAY_ALONE_STAGE,
     "The pipeline alone delivers %.0f utterances/s; it is limited by stage %s (%s). Only the training "
     "step can "
     "tell whether that is too slow: `myxtts diagnose`.",
     "pipeline به‌تنهایی در هر ثانیه %.0f جمله می‌دهد؛ مرحلهٔ %s (%s) نگهش می‌دارد. این‌که کم است یا "
     "نه، به گام آموزش "
     "بستگی دارد: `myxtts diagnose`.")
WORD(SAY_UNEVEN,
     "No stage slows the training down, but its steps come unevenly: the model device is busy %.1f %% "
     "of the time "
     "and waits %.1f %%.",
     "هیچ مرحله‌ای آموزش را کند نمی‌کند، ولی گام‌ها نامنظم می‌آیند: دستگاه مدل %.1f٪ وقت مشغول است و "
     "%.1f٪ منتظر.")
WORD(SAY_ALL_WELL,
     "Nothing slows the training down: the model device is busy %.1f %% of the time and waits %.1f %%.",
     "چیزی آموزش را کند نمی‌کند: دستگاه مدل %.1f٪ وقت مشغول است و %.1f٪ منتظر.")
WORD(SAY_SLOW_DISK,
     "The disk slows the training down: reading takes %.1f ms a batch, and the model device waits %.1f "
     "%% of the "
     "time.",
     "دیسک آموزش را کند می‌کند: خواندن هر batch %.1f میلی‌ثانیه می‌برد و دستگاه مدل %.1f٪ وقت را منتظر "
     "است.")
WORD(SAY_NO_WORKERS,
     "There are no loader workers: the feeder itself needs %.1f ms to load a batch, and the model "
     "device waits "
     "%.1f %% of the time.",
     "loader هیچ workerی ندارد: خود feeder برای خواندن هر batch %.1f میلی‌ثانیه لازم دارد و دستگاه مدل "
     "%.1f٪ وقت را "
     "منتظر است.")
COUNTED(SAY_FEW_WORKERS,
     "Too few loader workers: %d needs %.1f ms a batch, and the model device waits %.1f %% of the time.",
     "Too few loader workers: %d of them need %.1f ms a batch, and the model device waits %.1f %% of "
     "the time.",
     "workerهای loader کم‌اند: %d worker برای هر batch %.1f میلی‌ثانیه لازم دارد و دستگاه مدل %.1f٪ وقت "
     "را منتظر است.")
WORD(SAY_FEW_BUFFERS,
     "Too few buffers: no stage is busy all the time, but %s, and what lies between it and the step, "
     "takes longer "
     "or varies more than %d host slots and %d device buffers can cover; the model device waits %.1f %% "
     "of the "
     "time.",
     "بافرها کم‌اند: هیچ مرحله‌ای همیشه مشغول نیست، ولی %s و آنچه میان آن و گام است، بیش از آن طول "
     "می‌کشد یا نوسان "
     "دارد که %d slot میزبان و %d بافر دستگاه بپوشانند؛ دستگاه مدل %.1f٪ وقت را منتظر است.")
WORD(SAY_STEP_LIMITS,
     "The step is the limit, everything else has time to spare: %.1f ms a batch; the model device waits %.1f "
     "%% of the "
     "time.",
     "تنها خود گام سرعت را تعیین می‌کند و هر چیز دیگر جا دارد: هر batch %.1f میلی‌ثانیه؛ دستگاه مدل "
     "%.1f٪ وقت را "
     "منتظر است.")
WORD(SAY_STAGE_SLOW,
     "%s is too slow: %.1f ms a batch, and the model device waits %.1f %% of the time.",
     "%s کند است: هر batch %.1f میلی‌ثانیه، و دستگاه مدل %.1f٪ وقت را منتظر است.")
WORD(SAY_FLAG_OFF,
     "%s is off: %s, and the model device waits %.1f %% of the time. Nothing else costs as much.",
     "%s خاموش است: %s و دستگاه مدل %.1f٪ وقت را منتظر است. هیچ چیز دیگری این‌قدر وقت نمی‌برد.")
WORD(SAY_STALLS,
     "Stage %s stalls every %d steps: %.1f ms instead of %.1f ms; without that training would be %.2f "
     "times as "
     "fast.",
     "مرحلهٔ %s هر %d گام یک بار گیر می‌کند: %.1f به جای %.1f میلی‌ثانیه؛ بدون آن آموزش %.2f برابر "
     "سریع‌تر می‌بود.")
WORD(SAY_OUTLIERS,
     "A few batches take far longer than the rest in stage %s (%lld of %lld): without them training "
     "would be %.2f "
     "times as fast. Long clips can do that.",
     "چند batch در مرحلهٔ %s بسیار بیش از بقیه طول می‌کشند (%lld از %lld): بدون آن‌ها سرعت آموزش %.2f "
     "برابر می‌شد. "
     "کلیپ‌های بلند ممکن است چنین کنند.")

/* What it means that a switch is off. */
WORD(SAY_NO_PREFETCH, "a batch is copied only when the step needs it",
     "هر batch تازه وقتی کپی می‌شود که گام به آن نیاز دارد")
WORD(SAY_NO_OVERLAP, "copy, preprocessing and step run one after the other",
     "کپی و پیش‌پردازش و گام یکی پس از دیگری انجام می‌شوند")
WORD(SAY_SHARED_COPY, "copies queue behind other work of the data device",
     "کپی‌ها پشت کارهای دیگر دستگاه داده در صف می‌مانند")

/* --- causes, as people read them --- */

WORD(SAY_CAUSE_NONE, "none", "هیچ")
WORD(SAY_CAUSE_STORAGE, "storage", "دیسک")
WORD(SAY_CAUSE_WORKERS, "workers", "کمبود worker")
WORD(SAY_CAUSE_BUFFERS, "buffers", "کمبود بافر")
WORD(SAY_CAUSE_BANDWIDTH, "bandwidth", "پهنای باند")
WORD(SAY_CAUSE_COMPUTE, "compute", "محاسبه")
WORD(SAY_CAUSE_STALL, "stall", "گیر")
WORD(SAY_CAUSE_OUTLIERS, "outliers", "چند batch بسیار کند")
WORD(SAY_CAUSE_SETTING, "setting", "تنظیم")

/* --- evidence --- */

WORD(SAY_PROOF_STAGE,
     "%s: %.2f ms a batch, at work %.0f %% of the time; training would be %.2f times as fast if it took "
     "no time",
     "%s: هر batch %.2f میلی‌ثانیه، %.0f٪ وقت مشغول؛ اگر هیچ وقتی نمی‌گرفت سرعت آموزش %.2f برابر می‌شد")
WORD(SAY_PROOF_STAGE_ALONE,
     "%s: %.2f ms a batch, at work %.0f %% of the time; the pipeline would be %.2f times as fast if it "
     "took no "
     "time",
     "%s: هر batch %.2f میلی‌ثانیه، %.0f٪ وقت مشغول؛ اگر هیچ وقتی نمی‌گرفت سرعت pipeline %.2f برابر می‌شد")
WORD(SAY_PROOF_STEP, "step: %.2f ms a batch, at work %.0f %% of the time",
     "گام: هر batch %.2f میلی‌ثانیه، %.0f٪ وقت مشغول")
WORD(SAY_PROOF_FEEDER,
     "the feeder waited %.0f %% of the time for loaded batches and %.0f %% for device buffers",
     "feeder %.0f٪ وقت را منتظر batchهای خوانده‌شده بود و %.0f٪ را منتظر بافرهای دستگاه")
COUNTED(SAY_PROOF_STOCK,
     "ready on average: %.1f of %d host slot, and %.1f batches in %d device buffers beside the one "
     "in use",
     "ready on average: %.1f of %d host slots, and %.1f batches in %d device buffers beside the one "
     "in use",
     "موجودی، به طور میانگین: %.1f از %d slot میزبان، و %.1f batch در %d بافر دستگاه، جز آن‌که در کار است")
WORD(SAY_PROOF_CYCLE, "%s takes %.1f ms longer every %d batches (seen %d times)",
     "%1$s در هر %3$d batch یک بار %2$.1f میلی‌ثانیه بیشتر طول می‌کشد (%4$d بار دیده شد)")
COUNTED(SAY_PROOF_CPU, "host CPU %.0f %% of %d core", "host CPU %.0f %% of %d cores",
     "CPU میزبان: %.0f٪ از %d هسته")
WORD(SAY_PROOF_CHECK,
     "self-check: the model of the pipeline gives %.2f ms a batch for the present settings, measured "
     "%.2f ms "
     "(%+.1f %%)",
     "خودآزمایی: مدل pipeline برای تنظیم‌های کنونی هر batch را %.2f میلی‌ثانیه می‌دهد، سنجیده‌شده %.2f "
     "میلی‌ثانیه (%+.1f٪)")
WORD(SAY_PROOF_UNTRUSTED, "; the forecasts are not to be trusted", "؛ به پیش‌بینی‌ها نمی‌توان تکیه کرد")

/* --- the stages --- */

WORD(SAY_STAGE_READ, "Reading", "خواندن")
WORD(SAY_STAGE_DECODE, "Decoding", "رمزگشایی")
WORD(SAY_STAGE_H2D, "The copy to the data device", "کپی به دستگاه داده")
WORD(SAY_STAGE_PREPROCESS, "Preprocessing", "پیش‌پردازش")
WORD(SAY_STAGE_PEER, "The copy between the devices", "کپی میان دستگاه‌ها")
WORD(SAY_STAGE_STEP, "The step", "گام")
WORD(SAY_STAGE_SUM, "The sum over ranks", "جمع میان rankها")

WORD(SAY_TWICE_READ, "storage twice as fast", "دیسکی دو برابر سریع‌تر")
WORD(SAY_TWICE_DECODE, "decoding twice as fast", "رمزگشایی دو برابر سریع‌تر")
WORD(SAY_TWICE_H2D, "copies to the data device twice as fast", "کپی به دستگاه داده دو برابر سریع‌تر")
WORD(SAY_TWICE_PREPROCESS, "preprocessing twice as fast", "پیش‌پردازش دو برابر سریع‌تر")
WORD(SAY_TWICE_PEER, "copies between the devices twice as fast", "کپی میان دستگاه‌ها دو برابر سریع‌تر")
WORD(SAY_TWICE_STEP, "the step twice as fast", "گام دو برابر سریع‌تر")
WORD(SAY_TWICE_SUM, "the sum over ranks twice as fast", "جمع میان rankها دو برابر سریع‌تر")

WORD(SAY_ADVICE_READ,
     "Put the dataset's cache on a faster disk (a local SSD), or halve what is read with mel_storage: "
     "float16.",
     "کش مجموعه را روی دیسک سریع‌تری (SSD محلی) بگذارید، یا با `mel_storage: float16` خواندنی‌ها را نصف "
     "کنید.")
WORD(SAY_ADVICE_DECODE,
     "All cores are at work: preprocessing_mode: precompute, or a machine with more cores.",
     "همهٔ هسته‌ها مشغول‌اند: `preprocessing_mode: precompute`، یا ماشینی با هسته‌های بیشتر.")
WORD(SAY_ADVICE_H2D,
     "Keep pin_memory on; mel_storage: float16 halves what is copied; look at the GPU's PCIe link (width, "
     "generation).",
     "pin_memory را روشن نگه دارید؛ `mel_storage: float16` کپی‌ها را نصف می‌کند؛ اتصال PCIe کارت را "
     "ببینید (عرض و نسل).")
WORD(SAY_ADVICE_PREPROCESS,
     "preprocessing_mode: precompute computes the mels before the run; a faster data device helps too.",
     "با `preprocessing_mode: precompute`، mel پیش از اجرا ساخته می‌شود؛ دستگاه دادهٔ سریع‌تر هم کمک "
     "می‌کند.")
WORD(SAY_ADVICE_PEER,
     "Use one GPU for data and model, or GPUs with a direct link between them.",
     "برای داده و مدل یک GPU به کار ببرید، یا GPUهایی که اتصال مستقیم دارند.")
WORD(SAY_ADVICE_STEP,
     "The data side has time to spare: only a faster step (mixed_precision, enable_graph_mode, a smaller "
     "model_size, a "
     "faster GPU) makes training faster.",
     "سمت داده جا دارد: تنها گامی سریع‌تر (mixed_precision، enable_graph_mode، model_size کوچک‌تر، GPU "
     "سریع‌تر) "
     "آموزش را تندتر می‌کند.")
WORD(SAY_ADVICE_SUM,
     "A faster link between the ranks, a larger batch_size for each of them, or fewer ranks.",
     "اتصالی سریع‌تر میان rankها، batch_size بزرگ‌تر برای هر کدام، یا rankهای کمتر.")

/* --- walls --- */

WORD(SAY_WALL_STALL, "%.1f ms instead of %.1f ms every %d batches, seen %d times",
     "هر %3$d batch یک بار %1$.1f به جای %2$.1f میلی‌ثانیه، %4$d بار دیده شد")
WORD(SAY_WALL_OUTLIERS, "%lld of %lld batches take far longer than the others",
     "%lld از %lld batch بسیار بیش از بقیه طول می‌کشند")
WORD(SAY_WALL_SETTING, "%s is off", "%s خاموش است")
WORD(SAY_WALL_TRAINER, "the trainer itself needs %.1f ms a batch for it",
     "خود آموزش برای آن در هر batch %.1f میلی‌ثانیه لازم دارد")
COUNTED(SAY_WALL_WORKERS, "%d worker needs %.1f ms a batch", "%d workers need %.1f ms a batch",
     "%d worker برای هر batch %.1f میلی‌ثانیه لازم دارد")
WORD(SAY_WALL_BUFFERS, "%d host slots and %d device buffers do not cover how much it varies",
     "%d slot میزبان و %d بافر دستگاه نوسان آن را نمی‌پوشانند")
WORD(SAY_WALL_SLOW, "%.1f ms a batch, at work %.0f %% of the time",
     "هر batch %.1f میلی‌ثانیه، %.0f٪ وقت مشغول")
WORD(SAY_WALL_WAITS, "; the model device waits %.1f %% of the time", "؛ دستگاه مدل %.1f٪ وقت را منتظر است")
WORD(SAY_SET_THIS, "Set %s.", "بگذارید %s.")
WORD(SAY_ADVICE_PRECOMPUTE, "preprocessing_mode: precompute decodes every clip once, before training.",
     "با `preprocessing_mode: precompute` هر کلیپ یک بار، پیش از آموزش، رمزگشایی می‌شود.")
WORD(SAY_ADVICE_CORES, "A machine with more cores.", "ماشینی با هسته‌های بیشتر.")
WORD(SAY_ADVICE_BUFFERS, "More of both: prefetch_buffer_size and pipeline_buffer_size.",
     "از هر دو بیشتر: prefetch_buffer_size و pipeline_buffer_size.")
WORD(SAY_ADVICE_STALL,
     "Look for what recurs at that rate: a background job, a flush, a garbage collection, the network "
     "file system. "
     "More buffers hide what is short.",
     "ببینید چه چیزی با همین فاصله تکرار می‌شود: کاری در پس‌زمینه، flush، جمع‌آوری زباله، فایل‌سیستم "
     "شبکه. اگر کوتاه "
     "باشد، بافرهای بیشتر آن را می‌پوشانند.")
WORD(SAY_ADVICE_OUTLIERS,
     "Look at the longest clips: a smaller max_mel_frames or more length_buckets evens the batches out.",
     "بلندترین کلیپ‌ها را ببینید: max_mel_frames کوچک‌تر یا length_buckets بیشتر batchها را یکدست می‌کند.")
WORD(SAY_WALL_LINE, "%s (%s): %s. Without it %.2f times the throughput",
     "%s (%s): %s. بدون آن سرعت %.2f برابر می‌شود")
WORD(SAY_WALL_LINE_EVERY, "%s (%s every %d steps): %s. Without it %.2f times the throughput",
     "%s (%s، هر %d گام): %s. بدون آن سرعت %.2f برابر می‌شود")
WORD(SAY_WALL_TOGETHER, ", with those before it %.2f times", "، همراه با پیشینیانش %.2f برابر")

/* --- how evenly steps come --- */

WORD(SAY_SWING_LENGTHS, "Step times vary by %.0f %%, and the lengths of the clips explain %.0f %% of that.",
     "زمان گام‌ها %.0f٪ نوسان دارد و %.0f٪ آن از طول کلیپ‌هاست.")
WORD(SAY_SWING_LENGTHS_RARE,
     "Step times vary by %.0f %%, and the lengths of the clips explain %.0f %% of that, apart from a "
     "few that are "
     "far longer.",
     "زمان گام‌ها %.0f٪ نوسان دارد و %.0f٪ آن از طول کلیپ‌هاست، جز چند گام که بسیار طولانی‌ترند.")
WORD(SAY_SWING_VARY, "Step times vary by %.0f %%", "زمان گام‌ها %.0f٪ نوسان دارد")
WORD(SAY_SWING_WOULD_VARY, "The step times of a trainer would vary by %.0f %%",
     "زمان گام‌های یک آموزش %.0f٪ نوسان می‌داشت")
WORD(SAY_SWING_EXPLAINED,
     ", of which the lengths of the clips explain %.0f %%", "، که %.0f٪ آن از طول کلیپ‌هاست")
WORD(SAY_SWING_PERIODIC,
     ": stage %s takes longer every %d steps.", ": مرحلهٔ %s هر %d گام یک بار بیشتر طول می‌کشد.")
WORD(SAY_SWING_JITTER,
     ": the times of stage %s jitter irregularly.", ": زمان مرحلهٔ %s بی‌قاعده بالا و پایین می‌رود.")
WORD(SAY_SWING_FIND_CYCLE,
     "Look for what recurs every %d steps: a background job, a flush, a garbage collection, the network "
     "file "
     "system.",
     "ببینید چه چیزی هر %d گام تکرار می‌شود: کاری در پس‌زمینه، flush، جمع‌آوری زباله، فایل‌سیستم شبکه.")
WORD(SAY_SWING_FIND_STEP,
     "Look for other work on the model device, and for a clock that changes (power, temperature).",
     "ببینید دستگاه مدل کار دیگری هم می‌کند یا نه، و آیا فرکانسش تغییر می‌کند (توان، دما).")
WORD(SAY_SWING_FIND_STAGE,
     "A larger prefetch_buffer_size and pipeline_buffer_size even it out; look for other work on what "
     "stage %s "
     "uses.",
     "prefetch_buffer_size و pipeline_buffer_size بزرگ‌تر آن را هموار می‌کنند؛ ببینید کار دیگری همان "
     "منابع مرحلهٔ %s را "
     "می‌گیرد یا نه.")
WORD(SAY_SWING_WHY_STEP, "steps of the same length should take the same time",
     "گام‌های هم‌اندازه باید به یک اندازه طول بکشند")
WORD(SAY_SWING_WHY_STAGE,
     "the model device is busy and idle by turns", "دستگاه مدل گاه مشغول است و گاه بیکار")

WORD(SAY_NOTE_TRAINER_SEES,
     "deviation / mean; a trainer would see %.1f %%", "انحراف تقسیم بر میانگین؛ آموزش %.1f٪ می‌دید")
WORD(SAY_NOTE_BY_LENGTHS, "the lengths of the clips explain %.0f %% of it", "%.0f٪ آن از طول کلیپ‌هاست")
WORD(SAY_PERCENT_1, "%.1f %%", "%.1f٪")

/* --- what to do --- */

WORD(SAY_REMEDY_SET, "Set %s: %.2f times the throughput, by the model of the pipeline.",
     "بگذارید %s: به گفتهٔ مدل pipeline سرعت %.2f برابر می‌شود.")
WORD(SAY_REMEDY_TRY,
     "Set %s: %.2f times the throughput, by the model of the pipeline, which does not fit this run: "
     "try it.",
     "بگذارید %s: مدل pipeline می‌گوید سرعت %.2f برابر می‌شود، ولی با این اجرا نمی‌خواند؛ بیازمایید.")
WORD(SAY_REMEDY_FIRST, "Against %s: %s (%.2f times the throughput without it)",
     "برای %s: %s (بدون آن سرعت %.2f برابر)")
WORD(SAY_REMEDY_THEN, "Then %s: %s (%.2f times the throughput together with the above)",
     "سپس %s: %s (همراه با موارد بالا سرعت %.2f برابر)")
WORD(SAY_CHANGE_WHY, "predicted throughput %.2f times", "پیش‌بینی: سرعت %.2f برابر")

/* --- during a run --- */

WORD(SAY_WATCH_WAITED, "the model device waited %.0f %% of the time for data: %s",
     "دستگاه مدل %.0f٪ وقت را منتظر داده بود: %s")
WORD(SAY_WATCH_TRY, " Try %s", " این را بیازمایید: %s")

/* --- at the end of a training --- */

WORD(SAY_END_VERDICT, "verdict", "نظر پزشک")
WORD(SAY_END_SWINGS, "swings", "نوسان")
WORD(SAY_END_VOICE, "voice", "صدا")
WORD(SAY_END_GAIN,
     "%s would give %.2f times the throughput (forecast)", "%s سرعت را %.2f برابر می‌کند (پیش‌بینی)")
