/* corpus.h - findings about the recordings of a dataset, and remarks. Rows of words.h. */
/* clang-format off */

WORD(SAY_FOLDERS_WHAT, "%zu folders of clips are taken as %zu speakers",
     "%zu پوشهٔ کلیپ، %zu گوینده شمرده می‌شوند")
WORD(SAY_FOLDERS_WHY,
     "only the folders say whose clips they are",
     "جز پوشه‌ها چیزی نمی‌گوید کلیپ‌ها از کیست")
WORD(SAY_FOLDERS_FIX, "if this is one person: --enable-multispeaker false; if they are several: true",
     "اگر همه یک نفر است: --enable-multispeaker false؛ اگر چند نفرند: true")
COUNTED(SAY_FEW_WHAT, "%zu clip to learn from, %.1f minutes of speech, is very little",
     "%zu clips to learn from, %.1f minutes of speech, are very few",
     "%zu کلیپ برای یاد گرفتن، %.1f دقیقه گفتار، بسیار کم است")
WORD(SAY_FEW_WHY, "from so little, a voice learns these sentences and says others badly or not at all",
     "از این مقدار، صدا همین جمله‌ها را یاد می‌گیرد و بقیه را بد می‌گوید یا هیچ نمی‌گوید")
WORD(SAY_FEW_FIX, "five minutes, about 100 sentences, make a voice that starts from a base",
     "پنج دقیقه، نزدیک به ۱۰۰ جمله، برای صدایی که با پایه آغاز می‌شود بس است")
WORD(SAY_LITTLE_EVEN, "%.1f minutes of speech are little, even for a voice that starts from a base",
     "%.1f دقیقه گفتار کم است، حتی برای صدایی که با پایه آغاز می‌شود")
WORD(SAY_LITTLE_ALONE,
     "%.1f minutes of speech are enough to adapt a ready-made voice (a base), too little to learn one "
     "from scratch",
     "%.1f دقیقه گفتار برای سازگار کردن صدایی آماده (پایه) بس است، ولی برای آموختن صدایی از صفر کم است")
WORD(SAY_LITTLE_WHY, "learning a language takes %d minutes or more, better hours",
     "یک زبان از %d دقیقه یا بیشتر یاد گرفته می‌شود، و بهتر از ساعت‌ها")
WORD(SAY_LITTLE_EVEN_FIX,
     "record five minutes, about 100 sentences, or more", "پنج دقیقه، نزدیک به ۱۰۰ جمله، یا بیشتر ضبط کنید")
WORD(SAY_LITTLE_ALONE_FIX,
     "`myxtts train DIR --minutes 10` starts from the base that comes with the program if the texts are "
     "English (with a GPU: --network both); every further minute helps",
     "اگر متن‌ها انگلیسی باشند، `myxtts train DIR --minutes 10` با پایه‌ای که همراه برنامه است آغاز می‌کند "
     "(با GPU: ‎--network both)؛ هر دقیقهٔ بیشتر کمک می‌کند")
COUNTED(SAY_REPEATED_WHAT, "%zu sentence is recorded more than once: %zu clips have %zu texts",
     "%zu sentences are recorded more than once: %zu clips have %zu texts",
     "%zu جمله بیش از یک بار ضبط شده است: %zu کلیپ %zu متن دارند")
COUNTED(SAY_REPEATED_BOTH, "%zu of them is in both metadata files: validation tests what was trained on",
     "%zu of them are in both metadata files: validation tests what was trained on",
     "%zu جمله از آن‌ها در هر دو فایل metadata هست: اعتبارسنجی همان را می‌شنود که آموخته شده")
WORD(SAY_REPEATED_BOTH_FIX, "without metadata_eval_file all takes of a text stay on one side",
     "بدون metadata_eval_file همهٔ ضبط‌های یک متن در یک سو می‌مانند")
WORD(SAY_REPEATED_WHY,
     "no harm, as all takes of a text are on one side of the split; other sentences would teach more",
     "زیانی ندارد، چون همهٔ ضبط‌های یک متن در یک سوی تقسیم‌اند؛ جمله‌های دیگر بیشتر یاد می‌دادند")
WORD(SAY_REPEATED_FIX,
     "keep the best take of each, if some are spoiled",
     "اگر بعضی خراب‌اند، از هر جمله بهترین ضبط را نگه دارید")
COUNTED(SAY_SAME_TEXT_WHAT, "%zu clips have %zu text between them", "%zu clips have %zu texts between them",
     "%zu کلیپ روی هم %zu متن دارند")
WORD(SAY_SAME_TEXT_WHY_ONE,
     "a voice learns sounds from the words they occur in: it will say this sentence, and little else",
     "صدا آواها را از واژه‌هایی که در آن‌ها می‌آیند یاد می‌گیرد: همین جمله را خواهد گفت و چیز زیادی جز "
     "آن نه")
WORD(SAY_SAME_TEXT_WHY,
     "a voice learns sounds from the words they occur in: it will say these sentences, and little else",
     "صدا آواها را از واژه‌هایی که در آن‌ها می‌آیند یاد می‌گیرد: همین جمله‌ها را خواهد گفت و چیز زیادی "
     "جز آن‌ها نه")
WORD(SAY_SAME_TEXT_FIX, "record many different sentences once, rather than one many times",
     "به جای یک جمله در چند بار، جمله‌های گوناگون بسیار را هر کدام یک بار ضبط کنید")
COUNTED(SAY_NOTES_WHAT, "%zu text has notes, addresses or symbols that are unlikely to be read out: %s",
     "%zu texts have notes, addresses or symbols that are unlikely to be read out: %s, ...",
     "%zu متن یادداشت، نشانی یا نماد دارد که کسی آن را نمی‌خواند: %s")
WORD(SAY_NOTES_WHY,
     "the voice learns to say something else for them, or nothing",
     "صدا یاد می‌گیرد به جای آن‌ها چیز دیگری بگوید، یا هیچ")
WORD(SAY_NOTES_FIX, "write what is said, word for word; take clips with laughter or noise out",
     "آنچه گفته می‌شود را واژه به واژه بنویسید؛ کلیپ‌هایی را که خنده یا سروصدا دارند بردارید")
WORD(SAY_NOISE_ALL, "the recordings are noisy: in half of them speech is %.0f dB above the noise or less",
     "ضبط‌ها پرنویزند: در نیمی از آن‌ها گفتار %.0f دسی‌بل یا کمتر بالای نویز است")
COUNTED(SAY_NOISE_SOME, "%zu clip is much noisier than the others, where speech is %.0f dB above the noise",
     "%zu clips are much noisier than the others, where speech is %.0f dB above the noise",
     "%zu کلیپ بسیار پرنویزتر از بقیه است که گفتارشان %.0f دسی‌بل بالای نویز است")
WORD(SAY_NOISE_WHY, "the voice learns the noise with the speech", "صدا نویز را هم همراه گفتار یاد می‌گیرد")
WORD(SAY_NOISE_ALL_FIX,
     "record in a quiet room, nearer to the microphone", "در اتاقی آرام و نزدیک‌تر به میکروفون ضبط کنید")
WORD(SAY_NOISE_SOME_FIX,
     "record them again in a quiet room, nearer to the microphone; or take their lines out",
     "در اتاقی آرام و نزدیک‌تر به میکروفون دوباره ضبطشان کنید؛ یا خطشان را بردارید")
COUNTED(SAY_CLIPPED_WHAT, "%zu of %zu clips is clipped: the peaks are cut off, and cannot be restored",
     "%zu of %zu clips are clipped: the peaks are cut off, and cannot be restored",
     "%zu کلیپ از %zu کلیپ بریدگی دارد: اوج‌های صدا بریده شده و برنمی‌گردد")
WORD(SAY_CLIPPED_WHY,
     "a vocoder and a voice learn the distortion with the speech",
     "vocoder و صدا این خرابی را هم همراه گفتار یاد می‌گیرند")
WORD(SAY_CLIPPED_FIX,
     "record them again with less gain, or take their lines out",
     "با حساسیت کمتر دوباره ضبطشان کنید، یا خطشان را بردارید")
COUNTED(SAY_LOUDER, "%zu clip is much louder than the others, by up to %.0f dB",
     "%zu clips are much louder than the others, by up to %.0f dB",
     "%zu کلیپ بسیار بلندتر از بقیه است، تا %.0f دسی‌بل")
COUNTED(SAY_SOFTER, "%zu clip is much softer than the others, by up to %.0f dB",
     "%zu clips are much softer than the others, by up to %.0f dB",
     "%zu کلیپ بسیار آهسته‌تر از بقیه است، تا %.0f دسی‌بل")
COUNTED(SAY_LOUDER_OR_SOFTER, "%zu clip is much louder or softer than the others, by up to %.0f dB",
     "%zu clips are much louder or softer than the others, by up to %.0f dB",
     "%zu کلیپ بسیار بلندتر یا آهسته‌تر از بقیه است، تا %.0f دسی‌بل")
COUNTED(SAY_RECORDED_LOUDER, "%zu clip is recorded louder than the others, by up to %.0f dB",
     "%zu clips are recorded louder than the others, by up to %.0f dB",
     "%zu کلیپ بلندتر از بقیه ضبط شده، تا %.0f دسی‌بل")
COUNTED(SAY_RECORDED_SOFTER, "%zu clip is recorded softer than the others, by up to %.0f dB",
     "%zu clips are recorded softer than the others, by up to %.0f dB",
     "%zu کلیپ آهسته‌تر از بقیه ضبط شده، تا %.0f دسی‌بل")
COUNTED(SAY_RECORDED_LOUDER_OR_SOFTER,
     "%zu clip is recorded louder or softer than the others, by up to %.0f dB",
     "%zu clips are recorded louder or softer than the others, by up to %.0f dB",
     "%zu کلیپ بلندتر یا آهسته‌تر از بقیه ضبط شده، تا %.0f دسی‌بل")
WORD(SAY_LEVELLED_WHY, "they are levelled, which raises the noise in soft ones along with the speech",
     "بلندی آن‌ها یکسان می‌شود، و در آهسته‌ها نویز هم همراه گفتار بلند می‌شود")
WORD(SAY_LEVELLED_FIX, "nothing, unless they sound noisy", "هیچ، مگر پرنویز به گوش برسند")
WORD(SAY_LOUD_WHY,
     "loud ones count more than all others in the statistics of the mels; the voice learns to shout",
     "بلندها در آمار melها بیش از همهٔ بقیه به حساب می‌آیند؛ صدا یاد می‌گیرد فریاد بزند")
WORD(SAY_LOUD_FIX,
     "enable_loudness_normalization: true levels every clip",
     "`enable_loudness_normalization: true` بلندی هر کلیپ را یکسان می‌کند")
WORD(SAY_NARROW_ONE,
     "%zu of %zu recordings that were measured has no sound above %.0f Hz, and this voice hears up to "
     "%g Hz",
     "%zu ضبط از %zu ضبط سنجیده‌شده بالای %.0f هرتز صدایی ندارد، و این صدا تا %g هرتز می‌شنود")
WORD(SAY_NARROW_MANY,
     "%zu of %zu recordings that were measured have no sound above %.0f Hz or little more, and this "
     "voice hears up to %g Hz",
     "%zu ضبط از %zu ضبط سنجیده‌شده بالای %.0f هرتز یا کمی بیشتر صدایی ندارند، و این صدا تا %g هرتز "
     "می‌شنود")
WORD(SAY_NARROW_WHY,
     "whatever rate their files have, they were made with less: the voice will be as dull as a "
     "telephone, or, if only some are like that, dull at times",
     "نرخ فایل هرچه باشد، با نرخ کمتری ساخته شده‌اند: صدا مانند تلفن خفه می‌شود، و اگر بعضی چنین باشند، "
     "گاه‌گاه")
WORD(SAY_NARROW_ALL_FIX,
     "record with 22050 Hz or more; or train for what there is: sample_rate: %.0f, mel_fmax: %.0f",
     "با ۲۲۰۵۰ هرتز یا بیشتر ضبط کنید؛ یا برای همینی که هست آموزش دهید: sample_rate: %.0f، mel_fmax: %.0f")
WORD(SAY_NARROW_FIX,
     "record them again, or take their lines out", "دوباره ضبطشان کنید، یا خطشان را بردارید")
COUNTED(SAY_SILENCE_WHAT, "%zu clip begins or ends with more than %.0f s of silence, %.1f minutes of it",
     "%zu clips begin or end with more than %.0f s of silence, %.1f minutes of it",
     "%zu کلیپ با بیش از %.0f ثانیه سکوت آغاز یا تمام می‌شود، روی هم %.1f دقیقه")
WORD(SAY_SILENCE_WHY, "it is cut off, and not learned", "بریده می‌شود و آموخته نمی‌شود")
WORD(SAY_SILENCE_FIX,
     "nothing, unless something was said there, too softly", "هیچ، مگر آنجا چیزی بسیار آهسته گفته شده باشد")
COUNTED(SAY_CANCEL_WHAT,
     "the channels of %zu clip cancel each other out", "the channels of %zu clips cancel each other out",
     "کانال‌های %zu کلیپ یکدیگر را خنثی می‌کنند")
WORD(SAY_CANCEL_WHY, "one is the other inverted, and hardly anything is left of their mean",
     "یکی وارونهٔ دیگری است و از میانگینشان تقریباً چیزی نمی‌ماند")
WORD(SAY_CANCEL_FIX,
     "keep one channel: sox IN.wav OUT.wav remix 1", "یک کانال را نگه دارید: `sox IN.wav OUT.wav remix 1`")
COUNTED(SAY_EMPTY_WHAT, "%zu clip has a channel without sound", "%zu clips have a channel without sound",
     "%zu کلیپ کانالی بی‌صدا دارد")
WORD(SAY_EMPTY_WHY, "channels are averaged: with an empty one the speech is half as loud",
     "از کانال‌ها میانگین گرفته می‌شود: با یک کانال خالی گفتار نصف می‌شود")
WORD(SAY_EMPTY_FIX,
     "nothing if clips are levelled; otherwise sox IN.wav OUT.wav remix 1 keeps the first channel",
     "اگر بلندی کلیپ‌ها یکسان می‌شود هیچ؛ وگرنه `sox IN.wav OUT.wav remix 1` کانال اول را نگه می‌دارد")
COUNTED(SAY_RATE_WHAT,
     "%zu clip is much faster or slower than the others, which have %.0f symbols a second of speech",
     "%zu clips are much faster or slower than the others, which have %.0f symbols a second of speech",
     "%zu کلیپ بسیار تندتر یا کندتر از بقیه است که در هر ثانیه گفتار %.0f نماد دارند")
WORD(SAY_RATE_WHY,
     "usually the text is not what is said, or only a part of it; otherwise the sound plays at the wrong "
     "speed",
     "بیشتر وقت‌ها متن آن نیست که گفته شده، یا تنها بخشی از آن است؛ وگرنه صدا با سرعتی نادرست پخش می‌شود")
WORD(SAY_RATE_FIX,
     "listen to them; correct the texts, or take the lines out",
     "گوششان کنید؛ متن‌ها را درست کنید، یا خطشان را بردارید")
COUNTED(SAY_OTHER_WHAT, "%zu clip sounds like another voice, or like another microphone or room",
     "%zu clips sound like another voice, or like another microphone or room",
     "%zu کلیپ به صدای دیگری می‌ماند، یا به میکروفون یا اتاقی دیگر")
WORD(SAY_OTHER_WHY, "all clips are learned as one speaker: the voice becomes a mixture of both",
     "همهٔ کلیپ‌ها از آنِ یک گوینده به حساب می‌آیند: صدا آمیزه‌ای از هر دو می‌شود")
WORD(SAY_OTHER_FIX,
     "listen to them; name the speaker of each line in a column of the metadata, or take the lines out",
     "گوششان کنید؛ گویندهٔ هر خط را در ستونی از metadata بنویسید، یا خطشان را بردارید")

/* --- what is usual --- */

WORD(SAY_CORPUS_RECORDINGS, "recordings", "ضبط‌ها")
WORD(SAY_CORPUS_FINDINGS, "findings", "یافته‌ها")
WORD(SAY_CORPUS_REMARKS, "remarks", "تذکرها")
WORD(SAY_CORPUS_MEASURED, "measured", "سنجیده")
WORD(SAY_CORPUS_NOISE, "noise", "نویز")
WORD(SAY_CORPUS_SOUND, "sound", "صدا")
WORD(SAY_CORPUS_RATE, "rate", "آهنگ گفتار")
WORD(SAY_CORPUS_SILENCE, "silence", "سکوت")
WORD(SAY_CORPUS_AMOUNT, "amount", "مقدار")
WORD(SAY_CORPUS_ROW_MEASURED,
     "%zu of %zu clips; `myxtts prepare` measures all", "%zu کلیپ از %zu؛ `myxtts prepare` همه را می‌سنجد")
WORD(SAY_CORPUS_ROW_NOISE,
     "%.0f dB below the speech (%.0f and %.0f dB): %s",
     "%.0f دسی‌بل پایین‌تر از گفتار (%.0f و %.0f دسی‌بل): %s")
WORD(SAY_CORPUS_NOISE_GOOD, "good", "خوب")
WORD(SAY_CORPUS_NOISE_USABLE, "usable, 30 dB or more is good", "قابل استفاده، ۳۰ دسی‌بل یا بیشتر خوب است")
WORD(SAY_CORPUS_NOISE_BAD, "noisy, 20 dB is the least that is usable",
     "پرنویز، کمتر از ۲۰ دسی‌بل قابل استفاده نیست")
WORD(SAY_CORPUS_ROW_SOUND,
     "up to %.1f kHz; the voice hears up to %.1f kHz", "تا %.1f کیلوهرتز؛ شبکه تا %.1f کیلوهرتز می‌شنود")
WORD(SAY_CORPUS_ROW_RATE, "%.1f symbols a second of speech", "%.1f نماد در هر ثانیه گفتار")
WORD(SAY_CORPUS_ROW_SILENCE, "%.1f %% are cut off at the ends", "%.1f٪ از دو سر بریده می‌شود")
WORD(SAY_CORPUS_ROW_AMOUNT, "%.1f hours of speech: enough for a voice of its own (%.0f minutes)",
     "%.1f ساعت گفتار: برای صدایی از صفر بس است (%.0f دقیقه)")
WORD(SAY_AS, ", as ", "، مانند ")
