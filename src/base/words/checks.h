/* checks.h - what is said about settings, machine and data before a training. Rows of words.h. */
/* clang-format off */

/* --- areas --- */

WORD(SAY_AREA_CONFIGURATION, "Configuration file", "فایل تنظیم‌ها")
WORD(SAY_AREA_LOADER, "Loading", "بارگذاری")
WORD(SAY_AREA_SHAPES, "Shapes and padding", "اندازه‌ها و padding")
WORD(SAY_AREA_GRAPH, "Graph, fused kernels, precision", "گراف، کرنل‌های درهم‌آمیخته، دقت")
WORD(SAY_AREA_DEVICES, "Devices", "دستگاه‌ها")
WORD(SAY_AREA_MEMORY, "Memory plan", "برآورد حافظه")
WORD(SAY_AREA_DATA, "Dataset and caches", "داده و کش‌ها")
WORD(SAY_AREA_STORAGE, "Disk space and permissions", "فضای دیسک و مجوزها")
WORD(SAY_AREA_LIMITS, "Limits of the process (ulimit)", "محدودیت‌های پردازه (ulimit)")

/* --- around a finding --- */

WORD(SAY_CHECK_NOW, "now", "اکنون")
WORD(SAY_CHECK_WHY, "why", "چرا")
WORD(SAY_CHECK_FIX, "fix", "چاره")
COUNTED(SAY_CHECK_ERRORS, "%d error", "%d errors", "%d خطا")
COUNTED(SAY_CHECK_WARNINGS, "%d warning", "%d warnings", "%d هشدار")
COUNTED(SAY_CHECK_NOTES, "%d note", "%d notes", "%d تذکر")
WORD(SAY_CHECK_NO_FILE, "defaults and command line", "پیش‌فرض‌ها و خط فرمان")
WORD(SAY_CHECK_NO_CHANGES, "no changes needed", "تغییری لازم نیست")
WORD(SAY_CHECK_CHANGED, "changed; the old file is now %s. Validating again:",
     "تغییر کرد؛ فایل پیشین اکنون %s است. بررسی دوباره:")
WORD(SAY_CHECK_MEASURED, "none: the file says that this value was measured",
     "هیچ: در فایل نوشته شده که این مقدار با اندازه‌گیری به دست آمده است")
WORD(SAY_CHECK_COMMAND_LINE, "on the command line: --%s %s", "در خط فرمان: `--%s %s`")
WORD(SAY_CHECK_UNREADABLE, "no command accepts the file until this is fixed",
     "تا این درست نشود هیچ فرمانی فایل را نمی‌پذیرد")
WORD(SAY_CHECK_LEAVE_OUT, "leave the setting out", "این تنظیم را ننویسید")
WORD(SAY_CHECK_NO_FIRST_STEP, "the run would end before its first step",
     "آموزش پیش از نخستین گام پایان می‌یابد")
WORD(SAY_CHECK_LEFT_OUT, "they are left out of training", "در آموزش کنار گذاشته می‌شوند")

/* --- loading --- */

WORD(SAY_CHECK_NATIVE, "the asynchronous pipeline is off", "خط لولهٔ ناهمگام خاموش است")
WORD(SAY_CHECK_NATIVE_WHY,
     "the trainer reads, decodes and copies each batch itself, and the device waits for all of it",
     "خود آموزش هر batch را می‌خواند، رمزگشایی و کپی می‌کند، و دستگاه در همهٔ این مدت منتظر می‌ماند")
WORD(SAY_CHECK_PREFETCH, "batches are copied only when they are needed",
     "هر batch تازه وقتی کپی می‌شود که لازم است")
WORD(SAY_CHECK_PREFETCH_WHY, "the device waits for every copy", "دستگاه برای هر کپی منتظر می‌ماند")
WORD(SAY_CHECK_STREAM, "copies share a stream with other work", "کپی‌ها با کارهای دیگر در یک جریان‌اند")
WORD(SAY_CHECK_STREAM_WHY, "a copy waits for the kernels queued before it",
     "هر کپی منتظر کرنل‌های پیش از خود می‌ماند")
WORD(SAY_CHECK_OVERLAP, "copy, preprocessing and step run one after the other",
     "کپی، پیش‌پردازش و گام پشت سر هم اجرا می‌شوند")
WORD(SAY_CHECK_OVERLAP_WHY, "their times add up instead of being hidden behind the step",
     "زمان‌هایشان به جای آنکه پشت گام پنهان شود روی هم جمع می‌شود")
WORD(SAY_CHECK_PIN, "batches are in pageable memory", "batchها در حافظهٔ معمولی‌اند")
WORD(SAY_CHECK_PIN_WHY, "the driver has to copy each batch once more on its way to the GPU",
     "درایور باید هر batch را در راه GPU یک بار دیگر هم کپی کند")
WORD(SAY_CHECK_OFF_HERE, "%s is off, which makes no difference on device %s",
     "%s خاموش است، که روی دستگاه %s فرقی نمی‌کند")
WORD(SAY_CHECK_OFF_HERE_WHY, "on a GPU it would slow training down", "روی GPU آموزش را کند می‌کند")
WORD(SAY_CHECK_CORES, "cores", "هسته‌ها")
WORD(SAY_CHECK_CORES_NOTE, "available to this process", "در دسترس این پردازه")
WORD(SAY_CHECK_WORKERS, "workers", "workerها")
WORD(SAY_CHECK_NO_WORKERS, "there are no worker threads", "هیچ نخ workerی نیست")
WORD(SAY_CHECK_NO_WORKERS_WHY, "nothing is read while the rest of the pipeline works",
     "تا بقیهٔ خط لوله کار می‌کند چیزی خوانده نمی‌شود")
COUNTED(SAY_CHECK_MANY_WORKERS, "%d workers on %d core", "%d workers on %d cores", "%d worker روی %d هسته")
WORD(SAY_CHECK_MANY_WORKERS_WHY,
     "threads that outnumber the cores take turns, and hold up the one that feeds the device",
     "نخ‌هایی که از هسته‌ها بیشترند به نوبت کار می‌کنند و نخی را که به دستگاه داده می‌رساند معطل می‌کنند")
COUNTED(SAY_CHECK_FEW_WORKERS, "%d worker on %d cores, and audio is decoded during training",
     "%d workers on %d cores, and audio is decoded during training",
     "%d worker روی %d هسته، در حالی که صدا هنگام آموزش رمزگشایی می‌شود")
WORD(SAY_CHECK_FEW_WORKERS_WHY,
     "decoding takes most of a worker's time, and more than half of the cores have no part in it",
     "بیشتر وقت هر worker صرف رمزگشایی می‌شود و بیش از نیمی از هسته‌ها در آن سهمی ندارند")
WORD(SAY_CHECK_ONE_SLOT, "with a single slot nothing is loaded ahead; 2 are used",
     "با یک جای خالی چیزی از پیش بارگذاری نمی‌شود؛ ۲ جا به کار می‌رود")
WORD(SAY_CHECK_ONE_SLOT_WHY, "while one batch is copied, the next has to be filled",
     "تا یک batch کپی می‌شود، بعدی باید پر شود")
WORD(SAY_CHECK_UNVERIFIED, "records of the cache are used unchecked", "رکوردهای کش بی‌وارسی به کار می‌روند")
WORD(SAY_CHECK_UNVERIFIED_WHY, "a damaged record would be trained on",
     "آموزش با رکورد آسیب‌دیده هم انجام می‌شود")
WORD(SAY_CHECK_UNMAPPED, "caches are read, not mapped", "کش‌ها خوانده می‌شوند، نه mmap")
WORD(SAY_CHECK_UNMAPPED_WHY,
     "each record is copied once more; on some network disks this is still the better way",
     "هر رکورد یک بار بیشتر کپی می‌شود؛ با این همه روی بعضی دیسک‌های شبکه این راه بهتر است")

/* --- graph, precision, schedule --- */

WORD(SAY_CHECK_OFF_NO_GPU, "%s is off, which makes no difference without a GPU",
     "%s خاموش است، که بدون GPU فرقی نمی‌کند")
WORD(SAY_CHECK_OFF_NO_GPU_WHY, "on a GPU every step would take longer", "روی GPU هر گام بیشتر طول می‌کشد")
WORD(SAY_CHECK_EAGER, "every operation is checked as it runs", "هر عمل هنگام اجرا وارسی می‌شود")
WORD(SAY_CHECK_EAGER_WHY, "steps are slow, and are not captured as a graph",
     "گام‌ها کندند و به صورت گراف ضبط نمی‌شوند")
WORD(SAY_CHECK_GRAPH, "graph mode", "حالت گراف")
WORD(SAY_CHECK_GRAPH_NOTE, "graphs are captured only on a GPU", "گراف تنها روی GPU ضبط می‌شود")
WORD(SAY_CHECK_NO_GRAPH, "steps are launched kernel by kernel", "گام‌ها کرنل به کرنل اجرا می‌شوند")
WORD(SAY_CHECK_NO_GRAPH_WHY,
     "the host launches every kernel of every step separately, and a busy host holds up the GPU",
     "میزبان هر کرنل هر گام را از نو روانه می‌کند، و اگر سرش شلوغ باشد GPU را معطل می‌کند")
WORD(SAY_CHECK_NO_FUSION, "fused kernels are off", "کرنل‌های درهم‌آمیخته خاموش‌اند")
WORD(SAY_CHECK_NO_FUSION_WHY, "every operation then reads and writes all of its data separately",
     "آنگاه هر عمل همهٔ عددهایش را جداگانه می‌خواند و می‌نویسد")
WORD(SAY_CHECK_PRECISION, "mixed precision", "دقت آمیخته")
WORD(SAY_CHECK_FLOAT_ANYWAY, "device %s computes in float either way",
     "دستگاه %s در هر صورت با float حساب می‌کند")
WORD(SAY_CHECK_NO_MODEL_DEVICE, "there is no model device", "دستگاه مدل نیست")
WORD(SAY_CHECK_CAPABILITY, "compute capability %s", "توان محاسباتی %s")
WORD(SAY_CHECK_OLD_CAPABILITY, "compute capability %s, 8.0 is needed", "توان محاسباتی %s؛ 8.0 لازم است")
WORD(SAY_CHECK_NO_CAPABILITY, "compute capability not known", "توان محاسباتی نامعلوم")
WORD(SAY_CHECK_NO_BF16, "%s (%s) has matrix units for bf16, but mixed precision is off",
     "%s (%s) واحد ماتریسی bf16 دارد، ولی دقت آمیخته خاموش است")
WORD(SAY_CHECK_NO_BF16_WHY, "matrix products are slower in float, and activations take twice the memory",
     "ضرب‌ها با float بیشتر طول می‌کشند و activationها دو برابر حافظه می‌گیرند")
WORD(SAY_CHECK_SHORT_RUN, "the run ends at step %lld, before its warm-up of %d steps is over",
     "آموزش در گام %lld پایان می‌یابد، پیش از پایان گرم‌کردن %d گامی")
WORD(SAY_CHECK_SHORT_RUN_WHY, "the learning rate never reaches learning_rate",
     "نرخ یادگیری هیچ‌گاه به learning_rate نمی‌رسد")

/* --- devices --- */

WORD(SAY_CHECK_NO_DRIVER, "no NVIDIA driver on this machine (libcuda.so.1 does not load)",
     "این ماشین درایور NVIDIA ندارد (libcuda.so.1 بارگذاری نمی‌شود)")
WORD(SAY_CHECK_ODD_DRIVER, "the NVIDIA driver lacks functions that every version has",
     "درایور NVIDIA تابع‌هایی را که هر نسخه‌ای دارد ندارد")
WORD(SAY_CHECK_DEAD_DRIVER, "the NVIDIA driver does not start (error %d)",
     "درایور NVIDIA راه نمی‌افتد (خطای %d)")
WORD(SAY_CHECK_BLIND_DRIVER, "the NVIDIA driver shows no GPU to this process",
     "درایور NVIDIA هیچ GPUیی به این پردازه نشان نمی‌دهد")
WORD(SAY_CHECK_DUMB_GPU, "GPU that does not answer", "GPU بی‌پاسخ")
WORD(SAY_CHECK_GPU_OF_NONE, "%s is GPU %s, but there is no GPU: %s",
     "%s برابر GPU %s است، ولی GPUیی نیست: %s")
COUNTED(SAY_CHECK_GPU_OF_FEWER, "%s is GPU %s, but there is only %d GPU, number 0",
     "%s is GPU %s, but there are only %d GPUs, from number 0 on",
     "%s برابر GPU %s است، ولی تنها %d عدد GPU هست، با شمارش از صفر")
WORD(SAY_CHECK_GPU_MISSING_WHY, "nothing can run on a device that is not there",
     "روی دستگاهی که نیست چیزی اجرا نمی‌شود")
WORD(SAY_CHECK_CLOSED, "device %s cannot be opened: %s", "دستگاه %s باز نمی‌شود: %s")
WORD(SAY_CHECK_CLOSED_WHY, "nothing can run on it", "چیزی روی آن اجرا نمی‌شود")
WORD(SAY_CHECK_BOTH_CLOSED_WHY, "nothing can run on the devices", "چیزی روی این دستگاه‌ها اجرا نمی‌شود")
WORD(SAY_CHECK_OF_MEMORY, "%s of memory", "%s حافظه")
COUNTED(SAY_CHECK_FALLS_BACK, "%s falls back to the CPU although there is %d GPU",
     "%s falls back to the CPU although there are %d GPUs", "%s به CPU برمی‌گردد، با اینکه %d عدد GPU هست")
WORD(SAY_CHECK_DID_NOT_OPEN, "the GPU could not be opened", "GPU باز نشد")
WORD(SAY_CHECK_CAP_OFF, "%s is %d MB, but memory limits are switched off",
     "%s برابر %d مگابایت است، ولی سقف‌های حافظه خاموش‌اند")
WORD(SAY_CHECK_CAP_OFF_WHY,
     "if a limit is not enforced, the work of the other device can run out of memory",
     "اگر سقفی رعایت نشود، شاید حافظه برای کار دستگاه دیگر کم بیاید")
WORD(SAY_CHECK_CAP_HIGH, "the limit of %d MB is more than device %s has (%s)",
     "سقف %d مگابایت از حافظهٔ دستگاه %s (%s) بیشتر است")
WORD(SAY_CHECK_CAP_HIGH_WHY, "the plan would count on memory that is not there",
     "برآورد روی حافظه‌ای حساب می‌کند که نیست")
WORD(SAY_CHECK_CONNECTION, "connection", "اتصال")
WORD(SAY_CHECK_NOT_KNOWN, "not known", "نامعلوم")
WORD(SAY_CHECK_LINK, "link of %s", "اتصال %s")
WORD(SAY_CHECK_ONE_WAY, "one direction", "در یک جهت")
WORD(SAY_CHECK_LANES, "device %s has %d of the %d PCIe lanes it could use",
     "دستگاه %1$s از %3$d خط PCIe که می‌تواند به کار ببرد %2$d تا دارد")
WORD(SAY_CHECK_LANES_WHY, "every copy to it takes longer in proportion",
     "هر کپی به آن به همین نسبت بیشتر طول می‌کشد")
WORD(SAY_CHECK_LANES_FIX, "another slot on the mainboard, or an undamaged riser",
     "شکاف دیگری روی مادربورد، یا رایزری سالم")
WORD(SAY_CHECK_PEER_COPY, "copy between devices", "کپی میان دو دستگاه")
WORD(SAY_CHECK_NO_GPU, "not measured: GPU memory, generation, graph capture (%s)",
     "سنجیده نشد: حافظهٔ GPU، نسل آن، ضبط گراف (%s)")
WORD(SAY_CHECK_NO_GPU_WHY, "these checks need a GPU", "این بررسی‌ها GPU می‌خواهند")
WORD(SAY_CHECK_NO_SIM_WHY, "there is no simulated machine to run on",
     "ماشین شبیه‌سازی‌شده‌ای نیست که روی آن اجرا شود")
WORD(SAY_CHECK_IDLE_GPU, "there are %d GPUs, and one does both jobs",
     "%d عدد GPU هست و هر دو کار را یکی می‌کند")
WORD(SAY_CHECK_IDLE_GPU_WHY,
     "a second GPU can prepare batches while the first one trains; `myxtts profile dual` measures how "
     "much that gains",
     "یک GPU دیگر می‌تواند تا اولی آموزش می‌دهد batchها را آماده کند؛ `myxtts profile dual` می‌سنجد که این "
     "چه اندازه سود دارد")
WORD(SAY_CHECK_IDLE_GPU_FIX, "data_gpu: a number other than model_gpu's", "در data_gpu شماره‌ای جز model_gpu")

/* --- the dataset and its caches --- */

WORD(SAY_CHECK_CACHES, "caches", "کش‌ها")
WORD(SAY_CHECK_DAMAGED, "damaged", "آسیب‌دیده")
WORD(SAY_CHECK_NOT_PREPARED, "not prepared", "آماده‌نشده")
COUNTED(SAY_CHECK_ESTIMATE, "about %s, estimated from the header of %d clip",
     "about %s, estimated from the headers of %d clips", "نزدیک به %s، با برآورد از سرآیند %d کلیپ")
WORD(SAY_CHECK_CACHES_DAMAGED, "the caches are damaged: %s", "کش‌ها آسیب دیده‌اند: %s")
WORD(SAY_CHECK_CACHES_NOT_READY, "the caches are not ready: %s", "کش‌ها آماده نیستند: %s")
WORD(SAY_CHECK_CACHES_WHY,
     "without caches, padding and memory cannot be measured; training builds them first, which takes time",
     "بدون کش نه padding را می‌توان سنجید و نه حافظه را؛ آموزش نخست کش‌ها را می‌سازد و این زمان می‌برد")
COUNTED(SAY_CHECK_FRESH, "%llu of %zu clip", "%llu of %zu clips", "%llu از %zu کلیپ")
WORD(SAY_CHECK_FRESH_NOTE, "%s; new or changed: %llu, rejected: %llu, without audio: %llu",
     "%s؛ تازه یا تغییریافته: %llu، ردشده: %llu، بدون ضبط: %llu")
WORD(SAY_CHECK_STALE,
     "the caches are out of date (new clips: %llu, changed texts: %llu, changed recordings: %llu)",
     "کش‌ها کهنه‌اند (کلیپ تازه: %llu، متن تغییریافته: %llu، ضبط تغییریافته: %llu)")
WORD(SAY_CHECK_STALE_WHY, "training rebuilds them before its first step; nothing out of date is used",
     "آموزش پیش از نخستین گام آن‌ها را دوباره می‌سازد؛ چیز کهنه‌ای به کار نمی‌رود")
WORD(SAY_CHECK_STALE_VALUE, "%llu out of date", "%llu کهنه")
COUNTED(SAY_CHECK_TOUCHED, "%llu recording has a different date than when it was prepared",
     "%llu recordings have different dates than when they were prepared",
     "تاریخ %llu ضبط با زمان آماده‌سازی فرق دارد")
WORD(SAY_CHECK_TOUCHED_WHY,
     "copying does that; `prepare` and `train` read them once and rebuild only what has changed",
     "کپی کردن چنین می‌کند؛ `prepare` و `train` آن‌ها را یک بار می‌خوانند و تنها آنچه را تغییر کرده "
     "دوباره می‌سازند")
COUNTED(SAY_CHECK_SILENT, "%llu line of the metadata has no recording",
     "%llu lines of the metadata have no recording", "%llu خط فهرست ضبط ندارد")
WORD(SAY_CHECK_LIST, "`myxtts info --data-path %s` lists them",
     "`myxtts info --data-path %s` آن‌ها را فهرست می‌کند")
WORD(SAY_CHECK_LIST_REASONS, "`myxtts info --data-path %s` lists them with their reasons",
     "`myxtts info --data-path %s` آن‌ها را با دلیلشان فهرست می‌کند")
WORD(SAY_CHECK_PART, "%zu of %zu", "%zu از %zu")
WORD(SAY_CHECK_BUCKETS, "length buckets: %d, clips: %u", "دسته‌های طول: %d، کلیپ‌ها: %u")
WORD(SAY_CHECK_ONE_SHAPE, "one fixed shape for every batch", "یک اندازهٔ ثابت برای همهٔ batchها")
WORD(SAY_CHECK_PADDED, "%.0f %% of the frames in a batch are padding",
     "%.0f٪ فریم‌های هر batch جز padding نیست")
WORD(SAY_CHECK_PADDED_WHY, "the device computes them and throws them away",
     "دستگاه آن‌ها را حساب می‌کند و دور می‌ریزد")
WORD(SAY_CHECK_PADDED_VALUE, "%.1f %%, measured over %u clips", "%.1f٪، سنجیده روی %u کلیپ")
WORD(SAY_CHECK_PADDED_HOPELESS,
     "no number of buckets does better with these lengths; a larger dataset or a smaller batch_size would",
     "با این طول‌ها هیچ شمار دیگری از دسته‌ها بهتر نیست؛ دادهٔ بیشتر یا batch_size کوچک‌تر بهتر است")
WORD(SAY_CHECK_PADDED_BUCKETS, "length_buckets: %d (%.1f %% measured)",
     "`length_buckets: %d` (%.1f٪ سنجیده شد)")
WORD(SAY_CHECK_PADDED_FREE, "pad_to_fixed_length: false (%.1f %% measured with %d buckets)",
     "`pad_to_fixed_length: false` (با %2$d دسته %1$.1f٪ سنجیده شد)")
WORD(SAY_CHECK_CLIPS, "clips", "کلیپ‌ها")
WORD(SAY_CHECK_SPLIT, "%u for training, %u for validation", "%u برای آموزش، %u برای اعتبارسنجی")
COUNTED(SAY_CHECK_SPEAKERS, "%d speaker", "%d speakers", "%d گوینده")
WORD(SAY_CHECK_REJECTED, "%zu of %zu lines of the metadata cannot be used",
     "%zu خط از %zu خط فهرست را نمی‌توان به کار برد")
WORD(SAY_CHECK_NO_CLIPS, "there is no clip left to train on", "هیچ کلیپی برای آموزش نمانده است")
WORD(SAY_CHECK_NO_CLIPS_WHY,
     "every line is rejected, exceeds a length limit, or is held out for validation",
     "هر خط یا رد شده، یا از سقف طول گذشته، یا برای اعتبارسنجی کنار گذاشته شده است")
WORD(SAY_CHECK_NO_CLIPS_FIX, "see rejected.tsv beside the caches", "rejected.tsv را کنار کش‌ها ببینید")
WORD(SAY_CHECK_BIG_BATCH, "a batch of %d needs more clips than there are (%u)",
     "batch %d تایی از همهٔ کلیپ‌ها (%u) بزرگ‌تر است")
WORD(SAY_CHECK_BIG_BATCH_WHY, "every batch has empty rows, which are computed anyway",
     "هر batch ردیف‌های خالی دارد که آن‌ها هم حساب می‌شوند")
WORD(SAY_CHECK_NO_VALIDATION, "no clip is held out for validation",
     "هیچ کلیپی برای اعتبارسنجی کنار گذاشته نشده است")
WORD(SAY_CHECK_NO_VALIDATION_WHY, "without one, nobody sees when the voice stops improving",
     "بدون آن کسی نمی‌بیند صدا کی از بهتر شدن بازمی‌ماند")
WORD(SAY_CHECK_NO_VALIDATION_SHARE,
     "a larger val_split, or more clips: with so few, this share selected none",
     "val_split بزرگ‌تر، یا کلیپ بیشتر: از این شمار کم، این سهم هیچ شد")
WORD(SAY_CHECK_LIMIT, "%s %g rejects %llu of %llu clips (%.1f %%)",
     "%1$s برابر %2$g از %4$llu کلیپ %3$llu تا را رد می‌کند (%5$.1f٪)")
WORD(SAY_CHECK_LIMIT_ABOUT, "%s %g rejects about %llu of %llu clips (%.1f %%)",
     "%1$s برابر %2$g از %4$llu کلیپ نزدیک به %3$llu تا را رد می‌کند (%5$.1f٪)")
WORD(SAY_CHECK_LIMIT_KEEPS, "; %.10g would keep %g %%", "؛ %.10g کافی است تا %g٪ بمانند")
WORD(SAY_CHECK_NO_DATASET,
     "not measured, because no dataset was given: caches, padding, room for the caches",
     "سنجیده نشد، چون داده‌ای نام برده نشده: کش‌ها، padding، جای کش‌ها")
WORD(SAY_CHECK_NO_DATASET_WHY, "these checks look at the real clips",
     "این بررسی‌ها خود کلیپ‌ها را نگاه می‌کنند")
WORD(SAY_CHECK_SHORT_CLIPS_WHY, "a vocoder would learn mostly silence", "vocoder بیشتر سکوت یاد می‌گیرد")
WORD(SAY_CHECK_UNREADABLE_DATASET_WHY, "there is nothing to train on", "چیزی برای آموزش نیست")

/* --- memory --- */

COUNTED(SAY_CHECK_BIG_NETWORK, "%.1f million parameters on %d core without a GPU",
     "%.1f million parameters on %d cores without a GPU", "%.1f میلیون پارامتر روی %d هسته، بدون GPU")
WORD(SAY_CHECK_BIG_NETWORK_WHY, "each step takes seconds, and a voice needs thousands of steps",
     "هر گام چند ثانیه طول می‌کشد و صدا هزاران گام می‌خواهد")
WORD(SAY_CHECK_SMALLER_VOCODER, "a smaller vocoder_size, or a GPU", "vocoder_size کوچک‌تر، یا GPU")
WORD(SAY_CHECK_SMALLER_VOICE, "model_size: nano, or a GPU", "`model_size: nano`، یا GPU")
WORD(SAY_CHECK_SINGLE, "each batch is a single clip", "هر batch تنها یک کلیپ است")
WORD(SAY_CHECK_SINGLE_WHY,
     "each step follows a single clip: the loss jumps, and learning takes longer than with a few at a time",
     "هر گام دنبال یک کلیپ تنها می‌رود: loss بالا و پایین می‌پرد و یادگیری بیشتر از وقتی طول می‌کشد که چند "
     "کلیپ با هم باشند")
WORD(SAY_CHECK_SINGLE_FIX,
     "batch_size: 8 or more; what does not fit at once is learned in parts (global_batch_size)",
     "batch_size برابر ۸ یا بیشتر؛ آنچه یک‌جا جا نشود بخش‌بخش یاد گرفته می‌شود (global_batch_size)")
WORD(SAY_CHECK_HOST_MEMORY, "host memory", "حافظهٔ میزبان")
WORD(SAY_CHECK_AVAILABLE, "%s available", "%s در دسترس")
WORD(SAY_CHECK_FOR_BATCHES, "%s for batches", "%s برای batchها")
WORD(SAY_CHECK_PINNED, "batches in host memory take %s of the %s available",
     "batchها %s از %s حافظهٔ در دسترس میزبان را می‌گیرند")
WORD(SAY_CHECK_PINNED_WHY,
     "page-locked memory cannot be swapped out, and leaves no room to cache the dataset's files",
     "حافظهٔ قفل‌شده به swap نمی‌رود و برای کش فایل‌های داده جایی نمی‌گذارد")
WORD(SAY_CHECK_SMALLER_BATCH, "a smaller batch_size", "batch_size کوچک‌تر")
WORD(SAY_CHECK_DEVICE, "device %s", "دستگاه %s")
WORD(SAY_CHECK_SHARE, "%s of %s", "%s از %s")
WORD(SAY_CHECK_PARAMETERS, "parameters", "پارامترها")
WORD(SAY_CHECK_MILLION, "%.2f million", "%.2f میلیون")
WORD(SAY_CHECK_LARGEST_BATCH, "largest batch", "بزرگ‌ترین batch")
WORD(SAY_CHECK_LONGEST_REAL, "with the longest clip of the dataset", "با بلندترین کلیپ داده")
WORD(SAY_CHECK_LONGEST_ALLOWED, "with the longest clip that the limits allow",
     "با بلندترین کلیپی که سقف‌ها اجازه می‌دهند")
WORD(SAY_CHECK_MAY_NOT_FIT_WHY, "whether it fits depends on the clips of the dataset",
     "اینکه جا بشود به کلیپ‌های داده بستگی دارد")

/* --- disks --- */

WORD(SAY_CHECK_CHECKPOINTS, "checkpoints", "checkpointها")
WORD(SAY_CHECK_NOT_A_FOLDER, "%s is not a folder", "%s پوشه نیست")
WORD(SAY_CHECK_READ_ONLY, "%s is on a disk that is mounted read-only",
     "%s روی دیسکی است که فقط‌خواندنی سوار شده")
WORD(SAY_CHECK_FORBIDDEN, "this user may not write to %s", "این کاربر اجازهٔ نوشتن در %s را ندارد")
WORD(SAY_CHECK_FOLDER_WHY, "the run could not save what it makes",
     "آموزش نمی‌تواند آنچه را می‌سازد ذخیره کند")
WORD(SAY_CHECK_FOLDER_FIX, "set %s to a folder that can be written to",
     "%s را پوشه‌ای بگذارید که بتوان در آن نوشت")
WORD(SAY_CHECK_FREE, "%s free", "%s آزاد")
WORD(SAY_CHECK_NEEDED_FOR, "%s needed: %s", "%s لازم: %s")
WORD(SAY_CHECK_NEEDED, "%s needed", "%s لازم")
WORD(SAY_CHECK_FULL, "the %s need %s, but only %s is free", "%s به %s نیاز دارند، ولی تنها %s آزاد است")
WORD(SAY_CHECK_FULL_WHY, "the disk would fill up in the middle of the run (%s)",
     "دیسک در میانهٔ آموزش پر می‌شود (%s)")
WORD(SAY_CHECK_FULL_FIX, "make room, or set %s to a folder on another disk",
     "جا باز کنید، یا %s را پوشه‌ای روی دیسکی دیگر بگذارید")
WORD(SAY_CHECK_FILES, "%llu files of %s", "%llu فایل، هر یک %s")
WORD(SAY_CHECK_FROM_HEADERS, "estimated from the lengths in the audio headers",
     "با برآورد از طول‌های نوشته در سرآیند صداها")
WORD(SAY_CHECK_NOTHING_TO_BUILD, "nothing is left to build", "چیزی برای ساختن نمانده")
WORD(SAY_CHECK_INTACT, "the checkpoint is intact", "checkpoint سالم است")
WORD(SAY_CHECK_NO_RESUME, "there is nothing to resume from: %s", "چیزی نیست که آموزش از آن ادامه یابد: %s")
WORD(SAY_CHECK_NO_RESUME_FIX,
     "name a checkpoint that exists, or set resume: none and an empty checkpoint_dir",
     "checkpointی را نام ببرید که هست، یا `resume: none` و checkpoint_dir خالی بگذارید")
WORD(SAY_CHECK_NO_INIT, "there are no weights to start from: %s", "وزنی نیست که آموزش با آن آغاز شود: %s")
WORD(SAY_CHECK_NO_INIT_FIX, "name a checkpoint that exists, or the folder of a run",
     "checkpointی را نام ببرید که هست، یا پوشهٔ یک آموزش را")

/* --- ulimit --- */

WORD(SAY_CHECK_UNLIMITED, "unlimited", "نامحدود")
WORD(SAY_CHECK_OPEN_FILES, "open files", "فایل‌های باز")
WORD(SAY_CHECK_OPEN_FILES_WHY, "caches, logs and the phonemiser's pipes are open at once",
     "کش‌ها، logها و لوله‌های واج‌ساز هم‌زمان بازند")
WORD(SAY_CHECK_STACK, "stack", "پشته")
WORD(SAY_CHECK_STACK_WHY, "threads take their stacks from this limit",
     "پشتهٔ نخ‌ها از همین سقف گرفته می‌شود")
WORD(SAY_CHECK_FILE_SIZE, "file size", "اندازهٔ فایل")
WORD(SAY_CHECK_FILE_SIZE_WHY, "checkpoints or caches could not be written",
     "checkpointها یا کش‌ها را نمی‌توان نوشت")
WORD(SAY_CHECK_PROCESSES, "processes", "پردازه‌ها")
WORD(SAY_CHECK_PROCESSES_WHY, "worker threads and phonemiser processes count as processes of the user",
     "نخ‌های worker و پردازه‌های واج‌ساز پردازه‌های کاربر به شمار می‌آیند")
WORD(SAY_CHECK_ADDRESSES, "address space", "فضای نشانی")
WORD(SAY_CHECK_ADDRESSES_GPU, "the CUDA driver reserves far more address space than memory",
     "درایور CUDA بسیار بیشتر از حافظه نشانی می‌گیرد")
WORD(SAY_CHECK_ADDRESSES_CPU, "the planned memory and the mapped caches need it",
     "حافظهٔ برآوردشده و کش‌های mmap‌شده به آن نیاز دارند")
WORD(SAY_CHECK_LOCKED, "locked memory", "حافظهٔ قفل‌شده")
WORD(SAY_CHECK_LOCKED_GPU, "the driver locks %s for batches, to which this limit does not apply",
     "درایور %s را برای batchها قفل می‌کند و این سقف شامل آن نمی‌شود")
WORD(SAY_CHECK_LOCKED_CPU, "nothing is locked without a GPU", "بدون GPU چیزی قفل نمی‌شود")
WORD(SAY_CHECK_LOW, "the limit on %s is %s, less than the %s needed",
     "سقف %s برابر %s است، کمتر از %s که لازم است")
WORD(SAY_CHECK_HARD, " (the hard limit is lower: an administrator has to raise it)",
     " (سقف hard پایین‌تر است: مدیر سیستم باید آن را بالا ببرد)")
WORD(SAY_CHECK_TIME, "the process may use %llu s of processor time",
     "پردازه تنها %llu ثانیه زمان پردازنده دارد")
WORD(SAY_CHECK_TIME_WHY, "the run is killed when that time is up", "با پایان این زمان، آموزش کشته می‌شود")
WORD(SAY_CHECK_SECONDS, "%llu s", "%llu ثانیه")
