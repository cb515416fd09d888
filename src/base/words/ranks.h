/* ranks.h - the verdict on ranks that train together. Rows of words.h. */
/* clang-format off */

/* --- who holds the others up, and why --- */

WORD(SAY_RANKS_ONE, "Rank %d on %s", "rank %d روی %s")
WORD(SAY_RANKS_HOST, "The %d ranks on %s", "%d عدد rank روی %s")
WORD(SAY_RANKS_SLOW, "%s %s: %s %.1f ms a batch there and %.1f ms elsewhere",
     "%s %s: %s آنجا برای هر batch %.1f میلی‌ثانیه طول می‌کشد و جاهای دیگر %.1f میلی‌ثانیه")
WORD(SAY_RANKS_STALLS, ", with a stall every %d steps", "، با یک ایست در هر %d گام")
WORD(SAY_RANKS_WITHOUT, ". Without that, training would be %.2f times as fast.",
     ". بدون آن، سرعت آموزش %.2f برابر می‌شد.")
WORD(SAY_RANKS_READ_ONE, "waits for its disk", "منتظر دیسک خود است")
WORD(SAY_RANKS_READ_MANY, "wait for their disk", "منتظر دیسک خودند")
WORD(SAY_RANKS_READ_WORK, "reading takes", "خواندن")
WORD(SAY_RANKS_DECODE_ONE, "waits for its loader", "منتظر loader خود است")
WORD(SAY_RANKS_DECODE_MANY, "wait for their loaders", "منتظر loader خودند")
WORD(SAY_RANKS_DECODE_WORK, "decoding takes", "رمزگشایی")
WORD(SAY_RANKS_H2D_ONE, "waits for copies to its GPU", "منتظر کپی به GPU خود است")
WORD(SAY_RANKS_H2D_MANY, "wait for copies to their GPUs", "منتظر کپی به GPU خودند")
WORD(SAY_RANKS_COPY_WORK, "a copy takes", "هر کپی")
WORD(SAY_RANKS_PREPROCESS_ONE, "waits for its preprocessing", "منتظر پیش‌پردازش خود است")
WORD(SAY_RANKS_PREPROCESS_MANY, "wait for their preprocessing", "منتظر پیش‌پردازش خودند")
WORD(SAY_RANKS_PREPROCESS_WORK, "it takes", "این کار")
WORD(SAY_RANKS_PEER_ONE, "waits for copies between its GPUs", "منتظر کپی میان GPUهای خود است")
WORD(SAY_RANKS_PEER_MANY, "wait for copies between their GPUs", "منتظر کپی میان GPUهای خودند")
WORD(SAY_RANKS_STEP_ONE, "computes more slowly", "کندتر حساب می‌کند")
WORD(SAY_RANKS_STEP_MANY, "compute more slowly", "کندتر حساب می‌کنند")
WORD(SAY_RANKS_STEP_WORK, "the step's own work takes", "کار خود گام")
WORD(SAY_RANKS_LINK,
     "The link between the ranks holds them up: %.1f %% of a step is communication that the backward "
     "pass does not hide.",
     "اتصال میان rankها معطلشان می‌کند: %.1f٪ هر گام ارتباطی است که پشت گذر پس‌رو پنهان نمی‌شود.")
WORD(SAY_RANKS_DATA,
     "All ranks wait equally for their data, %.1f %% of the time; what holds them up is stage %s (%s).",
     "همهٔ rankها به یک اندازه منتظر دادهٔ خودند، %.1f٪ از وقتشان؛ آنچه معطلشان می‌کند مرحلهٔ %s است (%s).")
WORD(SAY_RANKS_WELL,
     "No rank holds the others up: communication that is not hidden takes %.1f %% of a step, and a rank "
     "spends %.1f %% of its time waiting for later ones.",
     "هیچ rankی بقیه را معطل نمی‌کند: ارتباطی که پنهان نمی‌شود %.1f٪ هر گام است، و هر rank %.1f٪ از وقتش را "
     "در انتظار دیرترها می‌گذراند.")

/* --- what it rests on --- */

COUNTED(SAY_RANKS_STEPS, "%lld steps of %d ranks on %d host: %.2f ms each, %.1f clips/s",
     "%lld steps of %d ranks on %d hosts: %.2f ms each, %.1f clips/s",
     "%lld گام از %d عدد rank روی %d میزبان: هر گام %.2f میلی‌ثانیه، %.1f کلیپ در ثانیه")
COUNTED(SAY_RANKS_SUM,
     "the sum of %.1f MB of gradients in %d bucket takes %.2f ms, of which %.2f ms are not hidden",
     "the sum of %.1f MB of gradients in %d buckets takes %.2f ms, of which %.2f ms are not hidden",
     "جمع %.1f مگابایت گرادیان در %d دسته %.2f میلی‌ثانیه طول می‌کشد که %.2f میلی‌ثانیهٔ آن پنهان نمی‌شود")
WORD(SAY_RANKS_EXPOSED, "communication that is not hidden: %.2f ms a step",
     "ارتباطی که پنهان نمی‌شود: %.2f میلی‌ثانیه در هر گام")
WORD(SAY_RANKS_WAITS, "a rank waits %.1f %% of its time for later ranks and %.1f %% for its own data",
     "هر rank %.1f٪ از وقتش منتظر rankهای دیرتر است و %.1f٪ منتظر دادهٔ خودش")
WORD(SAY_RANKS_UNEVEN,
     "a step is as long as its slowest rank's: because that is not always the same one, steps are %.1f %% "
     "longer",
     "هر گام به درازای گام کندترین rank است: چون این همیشه همان یکی نیست، گام‌ها %.1f٪ درازترند")

/* --- what would help --- */

WORD(SAY_RANKS_GAIN_RANK, "rank %d as fast as the others", "rank %d به سرعت بقیه")
WORD(SAY_RANKS_GAIN_NO_RANK, "without rank %d", "بدون rank %d")
WORD(SAY_RANKS_GAIN_HOST, "%s as fast as the other hosts", "%s به سرعت میزبان‌های دیگر")
WORD(SAY_RANKS_GAIN_NO_HOST, "without %s", "بدون %s")
WORD(SAY_RANKS_GAIN_LINK, "a link between the ranks twice as fast", "اتصالی دو برابر تندتر میان rankها")
WORD(SAY_RANKS_GAIN_BATCH, "batches twice as large", "batchهای دو برابر بزرگ‌تر")
COUNTED(SAY_RANKS_GAIN_HALF, "%d rank instead of %d", "%d ranks instead of %d", "%d عدد rank به جای %d")
WORD(SAY_RANKS_STEP_REMEDY,
     "Look at that GPU: its clock and temperature (nvidia-smi), other programs on it, or a slower model.",
     "آن GPU را ببینید: فرکانس و دمایش (nvidia-smi)، برنامه‌های دیگر روی آن، یا مدلی کندتر از بقیه.")

/* --- the section of the report --- */

WORD(SAY_RANKS_TITLE, "Ranks", "rankها")
WORD(SAY_RANKS_TOGETHER, "together", "روی هم")
COUNTED(SAY_RANKS_ALL, "%d on %d host, %.2f ms a step, %.1f clips/s",
     "%d on %d hosts, %.2f ms a step, %.1f clips/s",
     "%d روی %d میزبان، %.2f میلی‌ثانیه در هر گام، %.1f کلیپ در ثانیه")
WORD(SAY_RANKS_ROW_EXPOSED, "communication, not hidden", "ارتباط پنهان‌نشده")
WORD(SAY_RANKS_OF_STEP, "%.1f %% of step time", "%.1f٪ زمان گام")
WORD(SAY_RANKS_ROW_LATE, "waiting for later ranks", "انتظار برای rankهای دیرتر")
WORD(SAY_RANKS_MEAN, "mean of all", "میانگین همه")
WORD(SAY_RANKS_ROW, "rank %d on %s", "rank %d روی %s")
WORD(SAY_RANKS_AT_FAULT, "holds the others up", "بقیه را معطل می‌کند")
WORD(SAY_RANKS_TIMES, "data %.2f ms, own work %.2f ms, sum %.2f ms; %+.2f ms later than the typical rank",
     "داده %.2f، کار خودش %.2f، جمع %.2f میلی‌ثانیه؛ %+.2f میلی‌ثانیه دیرتر از rank معمول")
WORD(SAY_RANKS_WHY, "all ranks wait for the slowest", "همهٔ rankها منتظر کندترین می‌مانند")
