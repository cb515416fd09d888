/* sections.h - the sections and charts of a report: names, values, remarks. Rows of words.h. */
/* clang-format off */

WORD(SAY_UNSHOWABLE, "a finding whose text cannot be shown", "یافته‌ای که متنش نمایش‌دادنی نیست")
COUNTED(SAY_CORES_AND_MEMORY, "%d core, %s", "%d cores, %s", "%d هسته، %s")
COUNTED(SAY_WORKERS_AND_CORES, "%d, %d core", "%d, %d cores", "%d، با %d هسته")
COUNTED(SAY_OF_CORES, "%.0f %% of %d core", "%.0f %% of %d cores", "%.0f٪ از %d هسته")
WORD(SAY_MS_FOR_MIB, "%.1f ms for 1 MiB", "%.1f میلی‌ثانیه برای ۱ مگابایت")
WORD(SAY_WAITS_OF_STEP, "waits %.1f %% of step time", "%.1f٪ زمان گام در انتظار")
WORD(SAY_ON, "on", "روشن")
WORD(SAY_OFF, "off", "خاموش")
WORD(SAY_FORWARD, "forward", "پیش‌رو")
WORD(SAY_LOSS, "loss", "محاسبهٔ loss")
WORD(SAY_BACKWARD, "backward", "پس‌رو")
WORD(SAY_OPTIMISER, "optimiser", "بهینه‌ساز")
WORD(SAY_REAL_DISK, "the real disk, not the simulated one", "دیسک واقعی، نه شبیه‌سازی‌شده")
WORD(SAY_SIMULATED_TIMES, "simulated: times are those of --sim", "شبیه‌سازی‌شده: زمان‌ها از `--sim` است")
WORD(SAY_SYSTEM, "system", "سیستم")
WORD(SAY_HOST, "host", "میزبان")
WORD(SAY_GPU_IN_RUN, "GPU during the run (NVML)", "GPU در هنگام اجرا (NVML)")
WORD(SAY_GPU_NUMBERS,
     "%.0f %% utilisation, %s, %.0f W, %.0f MHz, %.0f degrees",
     "%.0f٪ به‌کارگیری، %s، %.0f وات، %.0f مگاهرتز، %.0f درجه")
WORD(SAY_NO_NVML, "NVML is not available", "NVML نیست")
WORD(SAY_NO_GPU, "the model device is not a GPU", "دستگاه مدل GPU نیست")
WORD(SAY_LOADING_ITSELF,
     "each batch by the trainer itself, nothing overlaps (native_loading off)",
     "هر batch را خود آموزش می‌خواند و هیچ کاری هم‌زمان نیست (native_loading خاموش)")
WORD(SAY_LOADING_FEEDER,
     "asynchronous, but the feeder itself does the reading (num_workers 0)",
     "ناهمگام، ولی feeder خودش می‌خواند (`num_workers 0`)")
WORD(SAY_LOADING_WORKERS, "asynchronous, by worker threads", "ناهمگام، با نخ‌های worker")
WORD(SAY_LOADING, "loading", "بارگذاری")
WORD(SAY_MEL_FROM_FILES,
     "audio files, decoded in every epoch (on_the_fly)",
     "فایل‌های صوتی، در هر دور رمزگشایی می‌شوند (on_the_fly)")
WORD(SAY_MEL_FROM_CACHE, "the prepared cache", "کش آماده‌شده")
WORD(SAY_CHOSEN_AUTO, "chosen by preprocessing_mode auto", "برگزیدهٔ `preprocessing_mode auto`")
WORD(SAY_MEL_SOURCE, "source of the mels", "mel از کجاست")
WORD(SAY_BY_MAPPING, "through a mapping", "با mmap")
WORD(SAY_BY_PREAD, "with pread", "با pread")
WORD(SAY_CACHE_READ, "cache is read", "خواندن کش")
WORD(SAY_BY_WORKERS, "by the loader's workers on the CPU", "با workerهای loader روی CPU")
WORD(SAY_BY_DEVICE,
     "on the data device, kernels of stream preprocess, ", "روی دستگاه داده، کرنل‌های جریان preprocess، ")
WORD(SAY_PREPROCESSING, "preprocessing", "پیش‌پردازش")
WORD(SAY_PINNED, "pinned", "قفل‌شده")
WORD(SAY_PAGEABLE, "pageable", "معمولی")
WORD(SAY_OWN_STREAM, "on a stream of its own", "روی جریان خودش")
WORD(SAY_SHARED_STREAM, "on the preprocessing's stream", "روی جریان پیش‌پردازش")
WORD(SAY_COPY_DATA, "copy to the data device", "کپی به دستگاه داده")
WORD(SAY_COPY_MEMORY, "%s memory, %s", "حافظهٔ %s، %s")
WORD(SAY_FROM_PINNED, "from pinned host memory", "از حافظهٔ قفل‌شدهٔ میزبان")
WORD(SAY_DIRECTLY, "directly between the GPUs", "مستقیم میان GPUها")
WORD(SAY_SAME_DEVICE, "on one device", "روی یک دستگاه")
WORD(SAY_THROUGH_HOST, "through host memory", "از راه حافظهٔ میزبان")
WORD(SAY_COPY_MODEL, "copy to the model device", "کپی به دستگاه مدل")
WORD(SAY_OVERLAP_NO_PREFETCH,
     "a batch is copied when the device has nothing left to do (prefetch_to_gpu off)",
     "هر batch وقتی کپی می‌شود که دستگاه دیگر کاری ندارد (prefetch_to_gpu خاموش)")
WORD(SAY_OVERLAP_NONE,
     "the next batch waits for the step (optimize_cpu_gpu_overlap off)",
     "batch بعدی منتظر گام می‌ماند (optimize_cpu_gpu_overlap خاموش)")
WORD(SAY_OVERLAP_ALL,
     "copy, preprocessing and step run side by side", "کپی و پیش‌پردازش و گام هم‌زمان پیش می‌روند")
WORD(SAY_OVERLAP, "overlap", "هم‌زمانی")
WORD(SAY_STEP_SIMULATED,
     "simulated: takes the machine's step_ms", "شبیه‌سازی‌شده: به اندازهٔ step_ms ماشین طول می‌کشد")
WORD(SAY_STEP_REAL,
     "the real network, real gradients, no file written", "شبکهٔ واقعی، گرادیان واقعی، بدون نوشتن فایل")
WORD(SAY_TRAINING_STEP, "training step", "گام آموزش")
WORD(SAY_NONE_SIMULATED, "none (simulated)", "هیچ (شبیه‌سازی‌شده)")
WORD(SAY_BF16, "bf16 with fp32 masters", "bf16 با وزن‌های اصلی fp32")
WORD(SAY_FP32, "fp32", "همه fp32")
WORD(SAY_ARITHMETIC, "arithmetic", "دقت محاسبه")
WORD(SAY_WORKERS, "workers in use", "workerهای در کار")
WORD(SAY_SLOTS_GROW,
     "both grow when the model device waits", "هر دو وقتی دستگاه مدل منتظر بماند بیشتر می‌شوند")
WORD(SAY_SLOTS, "host slots, device buffers", "slotهای میزبان، بافرهای دستگاه")
WORD(SAY_SLOTS_GROWN,
     "%d of at most %d (%d at the start), %d of at most %d",
     "%d از حداکثر %d (در آغاز %d)، %d از حداکثر %d")
WORD(SAY_BUFFERS_GROW, "device buffers grow from 3", "بافرهای دستگاه از ۳ بیشتر می‌شوند")
WORD(SAY_SLOTS_NOW, "%d, %d of at most %d", "%d، %d از حداکثر %d")
WORD(SAY_ONE_AT_A_TIME, "one at a time", "یکی‌یکی")
WORD(SAY_SIDE_BY_SIDE, "side by side", "هم‌زمان")
WORD(SAY_READ, "read", "خواندن")
WORD(SAY_MS_A_BATCH, "%.2f ms a batch", "%.2f میلی‌ثانیه برای هر batch")
WORD(SAY_ONE_WORKER, "work of one worker", "کار یک worker")
WORD(SAY_DECODE, "decode", "رمزگشایی")
WORD(SAY_BATCH_BYTES, "a batch on the host", "یک batch در میزبان")
WORD(SAY_PADDING, "padding", "padding (پرکننده)")
WORD(SAY_OF_FRAMES, "%.2f %% of the frames", "%.2f٪ فریم‌ها")
WORD(SAY_LOST_CLIPS, "clips that could not be loaded", "کلیپ‌هایی که خوانده نشدند")
WORD(SAY_NUMBER, "%lld", "%lld مورد")
WORD(SAY_HOST_CPU, "host CPU", "CPU میزبان")
WORD(SAY_CAPTURED, "captured for each shape", "برای هر اندازه ضبط می‌شود")
WORD(SAY_NOT_CAPTURED, "off: every kernel is launched separately", "خاموش: هر کرنل جداگانه اجرا می‌شود")
WORD(SAY_CUDA_GRAPHS, "step as CUDA graphs", "گام به شکل CUDA graph")
WORD(SAY_FUSED, "fused kernels", "کرنل‌های یکی‌شده")
WORD(SAY_OF_THE_STEP, "%.2f ms, %.0f %% of the step", "%.2f میلی‌ثانیه، %.0f٪ گام")
WORD(SAY_NO_PHASES, "a simulated step has none", "گام شبیه‌سازی‌شده بخشی ندارد")
WORD(SAY_PHASES, "phases of the step", "بخش‌های گام")
WORD(SAY_BATCHES, "batches", "batchها")
WORD(SAY_BATCH_MEMORY,
     "%s on the data device, %s more on the model device, %s pinned",
     "%s روی دستگاه داده، %s دیگر روی دستگاه مدل، %s قفل‌شده")
WORD(SAY_NETWORK, "network", "شبکه")
WORD(SAY_NETWORK_MEMORY, "%s for %.2f million parameters", "%s برای %.2f میلیون پارامتر")
WORD(SAY_NO_NETWORK, "there is none on a simulated GPU", "روی GPU شبیه‌سازی‌شده نیست")
WORD(SAY_CAP_DATA, "cap of the data device", "سقف دستگاه داده")
WORD(SAY_CAP_MODEL, "cap of the model device", "سقف دستگاه مدل")
WORD(SAY_READS, "1 MiB reads", "خواندن ۱ مگابایتی")
WORD(SAY_READ_TIMES,
     "%.2f ms mean, %.2f ms median, %.2f ms worst of %d",
     "میانگین %.2f، میانه %.2f و بدترین %.2f میلی‌ثانیه از %d بار")
WORD(SAY_READ_RATE, "rate", "نرخ خواندن")
WORD(SAY_PER_SECOND, "%s/s", "%s در ثانیه")
WORD(SAY_O_DIRECT, "O_DIRECT reads", "خواندن با O_DIRECT")
WORD(SAY_DROPPED, "reads after dropping the pages", "خواندن پس از کنار گذاشتن صفحه‌ها")
WORD(SAY_SEGMENTS, "cache segments", "بخش کش")
WORD(SAY_AUDIO_FILES, "audio files", "فایل صوتی")
WORD(SAY_READ_HOW, "how", "چگونه")
WORD(SAY_READ_OF, "%s of %d %s", "%s، %d %s")
WORD(SAY_THE_BOTTLENECK, "the bottleneck", "گلوگاه همین است")
WORD(SAY_STAGE_TIMES,
     "%.2f ms a batch; busy %.0f %%, blocked on input %.0f %%, on output %.0f %%",
     "هر batch %.2f میلی‌ثانیه؛ مشغول %.0f٪، منتظر ورودی %.0f٪، منتظر خروجی %.0f٪")
WORD(SAY_AFTER_WARM_UP, "after the warm-up", "پس از گرم شدن")
WORD(SAY_OBSERVED, "observed", "دیده‌شده")
WORD(SAY_BATCHES_OF, "%lld batches of %d", "%lld batch، هر کدام %d کلیپ")
WORD(SAY_THROUGHPUT, "throughput", "سرعت")
WORD(SAY_UTTERANCES, "%.1f utterances/s, %.2f ms a batch", "%.1f جمله در ثانیه، هر batch %.2f میلی‌ثانیه")
WORD(SAY_DEVICE_BUSY, "model device busy", "مشغول بودن دستگاه مدل")
WORD(SAY_WAITS_ON_DATA, "trainer waits on data", "انتظار آموزش برای داده")
WORD(SAY_OF_STEP_TIME, "%.1f %% of step time", "%.1f٪ زمان گام")
WORD(SAY_STEP_CYCLE, "cycle of step times, lags 2-20", "دورهٔ زمان گام‌ها، تأخیر ۲ تا ۲۰")
WORD(SAY_HIGHEST_LAG, "highest autocorrelation %.2f at lag %d", "بالاترین خودهمبستگی %.2f در تأخیر %d")
WORD(SAY_GPU_SWINGS, "GPU utilisation swings", "نوسان به‌کارگیری GPU")
WORD(SAY_POINTS, "%.0f points", "%.0f واحد درصد")
WORD(SAY_LOADING_SHOWN, "loading, not hidden", "بارگذاری پنهان‌نشده")
WORD(SAY_TRANSFER_SHOWN, "transfer, not hidden", "انتقال پنهان‌نشده")
WORD(SAY_UNTRUSTED, "not to be trusted", "نمی‌توان به آن تکیه کرد")
WORD(SAY_SELF_CHECK, "self-check of the forecast", "خودآزمایی پیش‌بینی")
WORD(SAY_FOUND_ITSELF, "The trainer loads each batch itself", "هر batch را خود آموزش می‌خواند")
WORD(SAY_FOUND_ITSELF_WHY,
     "the model device waits for every batch", "دستگاه مدل برای هر batch منتظر می‌ماند")
WORD(SAY_FOUND_ITSELF_FIX, "set native_loading: true", "بگذارید `native_loading: true`")
WORD(SAY_FOUND_LOST, "Clips could not be loaded", "بعضی کلیپ‌ها خوانده نشدند")
WORD(SAY_FOUND_LOST_WHY, "they are missing from training", "در آموزش نیستند")
WORD(SAY_SEE_LOG, "see the log", "log را ببینید")
WORD(SAY_FOUND_LOST_FIX, "run myxtts prepare --verify", "`myxtts prepare --verify` را بزنید")
WORD(SAY_FOUND_DISK, "The disk is slow", "دیسک کند است")
WORD(SAY_FOUND_DISK_WHY, "data that is not in memory arrives late", "داده‌ای که در حافظه نیست دیر می‌رسد")
WORD(SAY_FOUND_DISK_FIX,
     "copy the dataset to a local SSD, or use mel_storage: float16",
     "مجموعه را روی SSD محلی کپی کنید، یا `mel_storage: float16` بگذارید")
WORD(SAY_FOUND_IDLE_WHY,
     "the model device could be used better", "از دستگاه مدل آن‌گونه که می‌شد استفاده نمی‌شود")
WORD(SAY_TITLE_HARDWARE, "Hardware", "سخت‌افزار")
WORD(SAY_TITLE_CONFIGURATION, "Configuration", "تنظیم‌ها")
WORD(SAY_TITLE_CODE_PATH, "Code path in use", "مسیر کد در این اجرا")
WORD(SAY_TITLE_LOADER, "Loader", "loader و خواندن داده")
WORD(SAY_TITLE_GRAPH, "Graph and fused kernels", "گراف و کرنل‌های یکی‌شده")
WORD(SAY_TITLE_MEMORY, "Memory", "حافظه")
WORD(SAY_TITLE_STORAGE, "Storage past the page cache", "دیسک، بی کش سیستم‌عامل")
WORD(SAY_TITLE_PIPELINE, "Pipeline and training run", "pipeline و اجرای آموزش")
WORD(SAY_MODEL_DEVICE, "model device", "دستگاه مدل")
WORD(SAY_DATA_DEVICE, "data device", "دستگاه داده")
WORD(SAY_STEP_VARIATION, "step time variation", "نوسان زمان گام")
WORD(SAY_CHART_STEPS, "Step times", "زمان گام‌ها")
WORD(SAY_STEP, "step", "گام")
WORD(SAY_MS, "ms", "میلی‌ثانیه")
WORD(SAY_CHART_HISTOGRAM, "Distribution of step times", "پراکندگی زمان گام‌ها")
WORD(SAY_STEPS, "steps", "گام‌ها")
WORD(SAY_CHART_STAGES, "What each stage did with its time", "هر مرحله با وقتش چه کرد")
WORD(SAY_OF_ITS_TIME, "percent of its time", "درصد وقتش")
WORD(SAY_CHART_STOCK, "Batches in stock", "batchهای آماده")
WORD(SAY_CHART_STAGE_TIMES, "Time of each stage, batch by batch", "زمان هر مرحله، batch به batch")
WORD(SAY_BATCH, "batch", "شماره")
WORD(SAY_BATCH_COUNT, "batches", "تعداد")
WORD(SAY_CHART_AUTOCORRELATION, "Autocorrelation of step times", "خودهمبستگی زمان گام‌ها")
WORD(SAY_LAG, "lag (steps)", "تأخیر (گام)")
WORD(SAY_CORRELATION, "correlation", "همبستگی")
WORD(SAY_CHART_GPU, "GPU utilisation (NVML)", "به‌کارگیری GPU (NVML)")
WORD(SAY_SECONDS, "s", "ثانیه")
WORD(SAY_STEP_END_TO_END, "step, end to end", "گام، از پایان تا پایان")
WORD(SAY_ON_MODEL_DEVICE, "on the model device", "روی دستگاه مدل")
WORD(SAY_SLOTS_READY, "host slots ready", "slotهای آمادهٔ میزبان")
WORD(SAY_STEP_TIMES, "step times", "زمان گام‌ها")
WORD(SAY_MODEL_GPU, "model GPU", "GPU مدل")
WORD(SAY_STALL_PERIOD, "period of the stall", "دورهٔ گیر")
WORD(SAY_BUSY, "busy", "مشغول")
WORD(SAY_WAITING_DATA, "waiting for data", "در انتظار داده")
WORD(SAY_WAITING_RANKS, "waiting for ranks", "در انتظار rankها")
WORD(SAY_BLOCKED_IN, "blocked on input", "منتظر ورودی")
WORD(SAY_BLOCKED_OUT, "blocked on output", "منتظر خروجی")

/* --- pictures of a training --- */

WORD(SAY_PICTURE_LOSS, "Loss", "سیر loss")
WORD(SAY_PICTURE_LOSS_NOTE, "Training and validation over the steps.", "آموزش و اعتبارسنجی در طول گام‌ها.")
WORD(SAY_PICTURE_ALIGNMENT, "Alignment", "هم‌ترازی")
WORD(SAY_PICTURE_ALIGNMENT_NOTE,
     "Symbols upwards, time to the right: how well each moment fits each symbol, and the path that was "
     "chosen. A path that climbs steadily along bright cells is what to look for; a pattern that "
     "repeats from bottom to top says that the network does not tell symbols apart yet.",
     "نمادها رو به بالا، زمان به سوی راست: هر لحظه چه اندازه با هر نماد جور است، و مسیری که برگزیده شد. "
     "مسیر خوب پیوسته از خانه‌های روشن بالا می‌رود؛ نقشی که از پایین تا بالا تکرار شود یعنی شبکه هنوز "
     "نمادها را از هم بازنمی‌شناسد.")
WORD(SAY_PICTURE_MEL, "Mel", "نمودار mel")
WORD(SAY_PICTURE_MEL_NOTE,
     "The recording above; below it what the network makes of text and durations.",
     "بالا ضبط؛ پایین آنچه شبکه از متن و دیرش‌ها می‌سازد.")
WORD(SAY_PICTURE_PITCH, "Pitch", "زیروبمی")
WORD(SAY_PICTURE_PITCH_NOTE,
     "For each symbol: in the recording, and as predicted from the text.",
     "برای هر نماد: در ضبط، و آن‌گونه که از متن پیش‌بینی می‌شود.")
COUNTED(SAY_MACHINE, "%s (%s), %d core", "%s (%s), %d cores", "%s (%s)، %d هسته")
COUNTED(SAY_MACHINE_AND_DATA,
     "%s (%s), data on %s, %d core", "%s (%s), data on %s, %d cores", "%s (%s)، داده روی %s، %d هسته")
