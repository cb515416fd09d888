// words.js - everything the pages say, in English and Persian, and how each writes numbers and dates.

const words = {
  en: {
    name: 'English', other: 'فارسی', dir: 'ltr', locale: 'en-GB',
    speak_title: 'myxtts: speak', runs_title: 'myxtts: runs',
    skip: 'Skip to content', nav: 'Pages', nav_speak: 'Speak', nav_runs: 'Runs',
    to_other_language: 'فارسی', theme: 'Theme', theme_auto: 'System', theme_light: 'Light', theme_dark: 'Dark',
    token_title: 'This server requires a token', token_text: 'It was set with --token-file when the server was started. The browser keeps it until you close this tab.',
    token_label: 'Token', token_wrong: 'The server rejected this token.', token_ok: 'Continue', cancel: 'Cancel',
    no_server: 'The server does not respond. Is it still running?',
    bad_answer: 'The server answered with {status}.',

    speak_heading: 'Say something', text: 'Text', text_hint: 'Type or paste the text to speak.',
    example: 'The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background.',
    voice: 'Voice', speaker: 'Speaker', spoken: 'Language', spoken_usual: 'Default', speed: 'Speed', pitch: 'Pitch',
    speed_value: '{n}×', pitch_value: '{n} semitones', pitch_zero: 'unchanged',
    reference: 'Reference recording', reference_hint: 'The speech will sound like the person in it, as far as this voice can. Drop a file here, choose one, or record.',
    reference_choose: 'Choose a file', reference_record: 'Record', reference_stop: 'Stop recording', reference_remove: 'Remove the recording',
    reference_is: 'Reference: {name} ({size})', reference_recorded: 'your recording', reference_recording: 'Recording … {s} s',
    reference_bad: '“{name}” cannot be read as a recording.', reference_no_microphone: 'The microphone cannot be used: {why}',
    reference_not_here: 'This voice cannot take on other voices.',
    speak: 'Speak', stop: 'Stop', shortcut: 'Ctrl + Enter',
    no_text: 'There is no text to speak yet.', no_voices: 'This server has no voice.',
    waiting: 'Waiting for the first sound …', speaking: 'Speaking: {s} s so far',
    done: 'Done: {s} s of sound, the first after {ms} ms.', stopped: 'Stopped after {s} s.',
    press_play: 'The browser needs a click: press play.',
    left_out: 'Skipped, because it cannot be spoken: {pieces}',
    result: 'Result', player: 'Player', strip: 'Mel, pitch and sounds over time; scrolls sideways',
    now: 'Now', nothing_now: '–', mel: 'Mel: low frequencies at the bottom, high ones at the top', pitch_line: 'Pitch, {low} to {high} Hz', no_pitch: 'Pitch: none',
    said: 'Spoken text', phonemes: 'Sounds', follow: 'Follow playback',
    download: 'Download', format: 'Format', downloading: 'Preparing the file …', downloaded: '{name} is ready: {size}.',

    record_title: 'myxtts: record', nav_record: 'Record', record_heading: 'Read aloud',
    record_place: 'Sentence {n} of {count}, {done} recorded', record_minutes: '{m} of {goal} minutes', record_seconds: '{s} s', record_level: 'Level',
    record_record: 'Record', record_stop: 'Stop', record_again: 'Record again', record_previous: 'Previous', record_next: 'Next', record_remove: 'Remove this take',
    record_save_again: 'Save this take again', record_copy: 'Copy', record_copied: 'Copied', record_device: 'Microphone', record_device_n: 'Microphone {n}',
    record_list: 'All sentences', record_done: 'recorded', record_with_findings: 'recorded, with notes', record_findings: 'Notes on this take',
    key_space: 'Space', key_enter: 'Enter', record_key_space: 'record and stop', record_key_enter: 'next sentence to read', record_key_arrows: 'back and forth', record_key_play: 'play',
    record_advice: 'A quiet room with curtains or carpet, the microphone a hand’s width from your mouth and a little to the side. Read as if you were telling it to someone, in the same way from the first sentence to the last.',
    record_then: 'When you have enough', record_not_yet: '{m} more minutes until training is worth trying; more recordings make a better voice. You can stop at any time: every take is saved, and this page continues where you stopped.',
    record_enough: '{m} minutes are enough to start. Type this, or keep reading: 15 to 30 minutes sound better.',
    record_all_read: 'You have read all sentences: {m} minutes. That is little for a voice; --sentences FILE gives you more sentences. To train with what you have, type:',
    record_live_opening: 'The browser asks for the microphone …', record_live_waiting: 'One moment …', record_live_saving: 'Saving …', record_live_ready: 'Ready. The room is quiet.',
    record_live_noise: 'A noisy room: fans, windows, other devices?', record_live_loud: 'Too loud', record_live_quiet: 'Too quiet', record_live_silence: 'Silence: read the sentence now', record_live_good: 'Good level',
    record_good: 'A good take, {s} s.',
    record_clipped: 'Too loud: the sound is cut off at its peaks. Move away a little or turn the microphone down, and record it again.',
    record_cut_begin: 'Cut off at the beginning: wait for the red light before you speak.',
    record_cut_end: 'Cut off at the end: wait a moment before you stop.',
    record_hurried: 'Too short for this sentence: did you read all of it?',
    record_quiet: 'Too quiet: come closer or turn the microphone up.',
    record_noisy: 'A noisy room: the noise is less than 20 dB below your voice.',
    record_pause: 'A long silence in the middle of the sentence.',
    record_silent: 'No voice was heard, so nothing was saved. Is the right microphone selected and switched on?',
    record_too_short: 'That was too short for a sentence; nothing was saved.', record_too_long: 'That was more than a minute; nothing was saved. Read one sentence at a time.',
    record_disk_full: 'The server’s disk is full: this take was not saved. Earlier recordings are safe. Free some space, then save it again.',
    record_lost: 'The microphone was disconnected. Plug it in again and continue.', record_not_allowed: 'The browser is not allowed to use the microphone: allow it next to the address of this page.',
    record_insecure: 'Browsers allow the microphone only on the machine itself or over https. Open http://localhost:{port}/record on the machine where the server runs; from elsewhere, first type “ssh -L {port}:127.0.0.1:{port} THAT-MACHINE”, then open http://localhost:{port}/record here.',

    runs_heading: 'Trainings', runs_none: 'There are no trainings in the --runs folder yet.',
    runs_off: 'Start the server with --runs FOLDER to see trainings here.',
    runs_count: '{n} trainings', runs_one: '1 training', runs_hidden: '{n} older trainings are not listed.', runs_incomplete: 'There are too many folders; some were not searched.', run: 'Run', state: 'State', step: 'Step', loss: 'Loss', words_wrong: 'Words wrong', busy: 'Busy',
    step_time: 'Step, ms', verdict: 'Verdict', updated: 'Changed', running: 'running', finished: 'finished', stopped_state: 'stopped', empty: 'no step yet', preparing: 'preparing', warm_up: 'warm-up', validating: 'validating', listening: 'listening',
    not_measured: 'not measured', time_left: 'Time left', minutes: '{n} min',
    of: '{a} of {b}', no_verdict: 'no verdict yet', live: 'Live, updated {time}', lost: 'No response since {time}; trying again',
    about: 'About this run', compare: 'Compare with', compare_none: 'nothing', device: 'Device', network: 'Network', size: 'Size', parameters: 'Parameters',
    batch: 'Batch', curves: 'Curves', training: 'training', validation: 'validation', validation_loss: 'Validation', voice_words: 'voice', recording_words: 'recordings',
    busy_share: 'busy', wait_share: 'waiting for data', loss_chart: 'Loss', words_chart: 'Words wrong, as heard by a recogniser', busy_chart: 'Device: busy and waiting',
    time_chart: 'Time of a step, ms', mean_time: 'mean', slowest_time: 'slowest batch', chart_summary: '{title}: {series}', series_summary: '{name} {last} at step {step}, lowest {low}',
    no_points: 'No figures yet.', pictures: 'Pictures', no_pictures: 'No pictures yet.', samples: 'Samples during training',
    no_samples: 'No samples yet. text2audio_interval_steps sets how often they are spoken.', sentence: 'Sentence {n}', recording: 'Recording', step_n: 'Step {n}',
    play_sample: 'Play {what}', stop_sample: 'Stop {what}', settings_differ: 'Settings that differ', setting: 'Setting', settings_same: 'All settings are the same.',
    settings_unknown: 'One of the logs has no settings.', findings: 'What the doctor says', at_step: 'step {n}', nan: 'none', picture_loss: 'Loss', picture_mel: 'Mel of a clip',
    picture_alignment: 'Alignment', picture_pitch: 'Pitch', torn: 'Truncated lines in the log: {n}', progress: 'Progress', samples_hint: 'Each row is one sentence, each column a moment of the training.',
    readout: 'step {step}: {values}', choose_run: 'Choose a run',
    chart_keys: 'Use the arrow keys to read the values.',
  },
  fa: {
    name: 'فارسی', other: 'English', dir: 'rtl', locale: 'fa-IR',
    speak_title: 'myxtts: گفتار', runs_title: 'myxtts: آموزش‌ها',
    skip: 'پرش به محتوا', nav: 'صفحه‌ها', nav_speak: 'گفتار', nav_runs: 'آموزش‌ها',
    to_other_language: 'English', theme: 'رنگ‌ها', theme_auto: 'مانند سیستم', theme_light: 'روشن', theme_dark: 'تیره',
    token_title: 'این سرور توکن می‌خواهد', token_text: 'توکن هنگام راه‌اندازی سرور با --token-file تعیین شده است و تا بستن این زبانه نگه داشته می‌شود.',
    token_label: 'توکن', token_wrong: 'سرور این توکن را نمی‌شناسد.', token_ok: 'ادامه', cancel: 'انصراف',
    no_server: 'سرور پاسخ نمی‌دهد. آیا هنوز در حال اجراست؟',
    bad_answer: 'پاسخ سرور {status} بود.',

    speak_heading: 'چیزی بگویید', text: 'متن', text_hint: 'متنی را که باید گفته شود بنویسید یا بچسبانید.',
    example: 'The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background.',
    voice: 'صدا', speaker: 'گوینده', spoken: 'زبان', spoken_usual: 'مثل همیشه', speed: 'سرعت', pitch: 'زیروبمی',
    speed_value: '{n} برابر', pitch_value: '{n} نیم‌پرده', pitch_zero: 'همان که آموخته',
    reference: 'یک فایل ضبط‌شده به‌عنوان الگو', reference_hint: 'تا جایی که بتواند با همان صدا می‌گوید. فایلی را این‌جا رها یا انتخاب کنید، یا صدا ضبط کنید.',
    reference_choose: 'انتخاب فایل', reference_record: 'ضبط صدا', reference_stop: 'پایان ضبط', reference_remove: 'حذف فایل الگو',
    reference_is: 'الگو: {name} ({size})', reference_recorded: 'صدای ضبط‌شدهٔ شما', reference_recording: 'در حال ضبط … {s} ثانیه',
    reference_bad: 'فایل «{name}» را نمی‌توان به‌عنوان صدا خواند.', reference_no_microphone: 'میکروفون در دسترس نیست: {why}',
    reference_not_here: 'این صدا نمی‌تواند صدای دیگری به خود بگیرد.',
    speak: 'بگو', stop: 'توقف', shortcut: 'Ctrl + Enter',
    no_text: 'هنوز متنی برای گفتن نیست.', no_voices: 'این سرور صدایی ندارد.',
    waiting: 'در انتظار نخستین صدا …', speaking: 'در حال گفتن: تا این‌جا {s} ثانیه',
    done: 'تمام شد: {s} ثانیه صدا، نخستین بخش پس از {ms} میلی‌ثانیه.', stopped: 'پس از {s} ثانیه متوقف شد.',
    press_play: 'مرورگر منتظر شماست: دکمهٔ پخش را بزنید.',
    left_out: 'کنار گذاشته شد، چون گفتنی نیست: {pieces}',
    result: 'آنچه شنیده می‌شود', player: 'پخش‌کننده', strip: 'mel، زیروبمی و آواها در طول زمان؛ به چپ و راست پیمایش می‌شود',
    now: 'اکنون', nothing_now: '–', mel: 'mel: صداهای بم در پایین، صداهای زیر در بالا', pitch_line: 'زیروبمی، {low} تا {high} هرتز', no_pitch: 'زیروبمی: ندارد',
    said: 'آن‌گونه که گفته شد', phonemes: 'آواها', follow: 'همراهی با صدا',
    download: 'دریافت', format: 'قالب', downloading: 'فایل در حال ساخت است …', downloaded: '{name} آماده است: {size}.',

    record_title: 'myxtts: ضبط صدا', nav_record: 'ضبط صدا', record_heading: 'با صدای بلند بخوانید',
    record_place: 'جملهٔ {n} از {count}؛ {done} جمله ضبط شده', record_minutes: '{m} از {goal} دقیقه', record_seconds: '{s} ثانیه', record_level: 'بلندی صدا',
    record_record: 'ضبط', record_stop: 'پایان', record_again: 'ضبط دوباره', record_previous: 'قبلی', record_next: 'بعدی', record_remove: 'حذف این ضبط',
    record_save_again: 'ذخیرهٔ دوبارهٔ این ضبط', record_copy: 'رونوشت', record_copied: 'رونوشت شد', record_device: 'میکروفون', record_device_n: 'میکروفون {n}',
    record_list: 'همهٔ جمله‌ها', record_done: 'ضبط شده', record_with_findings: 'ضبط شده، با تذکر', record_findings: 'آنچه در این ضبط شنیده می‌شود',
    key_space: 'فاصله', key_enter: 'اینتر', record_key_space: 'آغاز و پایان ضبط', record_key_enter: 'جملهٔ بعدی برای خواندن', record_key_arrows: 'پس و پیش', record_key_play: 'پخش',
    record_advice: 'اتاقی آرام با پرده یا فرش؛ میکروفون به اندازهٔ یک وجب از دهان دور و کمی در کنار آن. طوری بخوانید که انگار برای کسی تعریف می‌کنید، از نخستین جمله تا آخرین جمله به یک شیوه.',
    record_then: 'وقتی به اندازه شد', record_not_yet: '{m} دقیقهٔ دیگر تا آنجا که آموزش ارزش آزمودن دارد؛ هرچه بیشتر، صدا بهتر. هر وقت خواستید دست بکشید: هر ضبط ذخیره می‌شود و این صفحه از همان جا ادامه می‌دهد.',
    record_enough: '{m} دقیقه برای شروع بس است. این فرمان را بزنید یا باز هم بخوانید: ۱۵ تا ۳۰ دقیقه بهتر می‌شود.',
    record_all_read: 'همهٔ جمله‌ها خوانده شد: {m} دقیقه. برای یک صدا کم است؛ جمله‌های بیشتر با --sentences FILE می‌آید. برای آموزش با همین مقدار بزنید:',
    record_live_opening: 'مرورگر اجازهٔ میکروفون می‌خواهد …', record_live_waiting: 'یک لحظه …', record_live_saving: 'در حال ذخیره …', record_live_ready: 'آماده. اتاق آرام است.',
    record_live_noise: 'اتاق پرسروصداست: پنکه، پنجره، دستگاه‌های دیگر؟', record_live_loud: 'خیلی بلند', record_live_quiet: 'خیلی آهسته', record_live_silence: 'سکوت: حالا جمله را بخوانید', record_live_good: 'بلندی صدا خوب است',
    record_good: 'ضبط خوبی بود، {s} ثانیه.',
    record_clipped: 'خیلی بلند: اوج‌های صدا بریده شده است. کمی دورتر بروید یا حساسیت میکروفون را کم کنید و دوباره ضبط کنید.',
    record_cut_begin: 'آغاز آن بریده است: پیش از حرف زدن منتظر چراغ سرخ بمانید.',
    record_cut_end: 'پایان آن بریده است: پیش از پایان دادن لحظه‌ای صبر کنید.',
    record_hurried: 'برای این جمله خیلی کوتاه است: آیا همهٔ آن خوانده شد؟',
    record_quiet: 'خیلی آهسته: نزدیک‌تر بیایید یا حساسیت میکروفون را زیاد کنید.',
    record_noisy: 'اتاق پرسروصداست: صدای اتاق کمتر از ۲۰ دسی‌بل پایین‌تر از صدای شماست.',
    record_pause: 'سکوتی طولانی در میان جمله هست.',
    record_silent: 'صدایی شنیده نمی‌شود و چیزی ذخیره نشد. آیا میکروفون درست انتخاب شده و روشن است؟',
    record_too_short: 'برای یک جمله خیلی کوتاه بود؛ چیزی ذخیره نشد.', record_too_long: 'بیش از یک دقیقه شد؛ چیزی ذخیره نشد. هر بار یک جمله بخوانید.',
    record_disk_full: 'دیسک سرور پر است و این ضبط ذخیره نشده. آنچه پیش‌تر ضبط شده سر جایش است. جا باز کنید و دوباره ذخیره کنید.',
    record_lost: 'میکروفون قطع شد. دوباره وصلش کنید و ادامه دهید.', record_not_allowed: 'مرورگر اجازهٔ میکروفون ندارد: کنار نشانی همین صفحه به آن اجازه دهید.',
    record_insecure: 'مرورگرها میکروفون را فقط به خود همین دستگاه و به https می‌دهند. روی دستگاهی که سرور در آن اجرا می‌شود http://localhost:{port}/record را باز کنید؛ از جای دیگر نخست «ssh -L {port}:127.0.0.1:{port} THAT-MACHINE» را بزنید و سپس همین‌جا http://localhost:{port}/record را باز کنید.',

    runs_heading: 'آموزش‌ها', runs_none: 'هنوز آموزشی در پوشهٔ --runs نیست.',
    runs_off: 'برای دیدن آموزش‌ها سرور را با --runs FOLDER اجرا کنید.',
    runs_count: '{n} آموزش', runs_one: '۱ آموزش', runs_hidden: '{n} آموزش قدیمی‌تر در فهرست نیست.', runs_incomplete: 'پوشه‌ها بسیارند: همه دیده نشده‌اند.', run: 'اجرا', state: 'وضعیت', step: 'گام', loss: 'loss', words_wrong: 'واژه‌های نادرست', busy: 'مشغول',
    step_time: 'گام (ms)', verdict: 'نظر پزشک', updated: 'آخرین تغییر', running: 'در حال اجرا', finished: 'پایان‌یافته', stopped_state: 'متوقف', empty: 'هنوز بدون گام', preparing: 'آماده‌سازی', warm_up: 'گرم‌شدن', validating: 'اعتبارسنجی', listening: 'گوش‌دادن',
    not_measured: 'سنجیده نشده', time_left: 'زمان مانده', minutes: '{n} دقیقه',
    of: '{a} از {b}', no_verdict: 'هنوز نظری نیست', live: 'زنده: آخرین نگاه {time}', lost: 'از {time} پاسخی نرسیده؛ دوباره تلاش می‌شود',
    about: 'دربارهٔ این اجرا', compare: 'مقایسه با', compare_none: 'هیچ‌کدام', device: 'دستگاه', network: 'شبکه', size: 'اندازه', parameters: 'پارامترها',
    batch: 'batch', curves: 'نمودارها', training: 'آموزش', validation: 'اعتبارسنجی', validation_loss: 'loss اعتبارسنجی', voice_words: 'صدا', recording_words: 'فایل‌های ضبط‌شده',
    busy_share: 'مشغول', wait_share: 'در انتظار داده', loss_chart: 'loss', words_chart: 'واژه‌های نادرست به گوش بازشناس گفتار', busy_chart: 'دستگاه: مشغول و منتظر',
    time_chart: 'زمان هر گام، میلی‌ثانیه', mean_time: 'میانگین', slowest_time: 'کندترین batch', chart_summary: '{title}: {series}', series_summary: '{name} {last} در گام {step}، کمترین {low}',
    no_points: 'هنوز رقمی نیست.', pictures: 'تصویرها', no_pictures: 'هنوز تصویری نیست.', samples: 'نمونه‌های صدا در طول گام‌ها',
    no_samples: 'هنوز نمونه‌ای نیست. text2audio_interval_steps می‌گوید هر چند گام یک بار نمونه گفته شود.', sentence: 'جملهٔ {n}', recording: 'فایل ضبط‌شده', step_n: 'گام {n}',
    play_sample: 'پخش {what}', stop_sample: 'توقف {what}', settings_differ: 'تنظیم‌های متفاوت', setting: 'تنظیم', settings_same: 'همهٔ تنظیم‌ها یکسان است.',
    settings_unknown: 'یکی از logها تنظیم‌ها را ندارد.', findings: 'پزشک چه می‌گوید', at_step: 'گام {n}', nan: 'ندارد', picture_loss: 'loss', picture_mel: 'mel یک کلیپ',
    picture_alignment: 'هم‌ترازی', picture_pitch: 'زیروبمی', torn: 'خط‌های ناتمام log: {n}', progress: 'پیشرفت', samples_hint: 'هر سطر یک جمله است و هر ستون لحظه‌ای از آموزش.',
    readout: 'گام {step}: {values}', choose_run: 'یک اجرا را انتخاب کنید',
    chart_keys: 'با کلیدهای جهت‌دار مقدارها را بخوانید.',
  },
};

const kept = localStorage.getItem('language');
const wished = (navigator.languages || [navigator.language || 'en']).find((l) => /^(fa|en)\b/.test(l)) || 'en';
let language = kept in words ? kept : wished.slice(0, 2);

export const currentLanguage = () => language;

export function setLanguage(l) {
  language = l;
  localStorage.setItem('language', l);
}

// The sentence of a key, with {name} replaced by values.name.
export function say(key, values = {}) {
  return (words[language][key] ?? words.en[key] ?? key).replace(/\{(\w+)\}/g, (all, k) => values[k] ?? all);
}

export const number = (x, digits = 0) =>
  Number.isFinite(x) ? x.toLocaleString(say('locale'), { minimumFractionDigits: digits, maximumFractionDigits: digits }) : say('nan');

// As many digits as the size asks for: 0.1243, 1.27, 318.
export const figure = (x) => Number.isFinite(x) ? x.toLocaleString(say('locale'), { maximumSignificantDigits: Math.abs(x) < 1000 ? 4 : 6 }) : say('nan');

export const percent = (x, digits = 0) => Number.isFinite(x)
  ? x.toLocaleString(say('locale'), { style: 'percent', minimumFractionDigits: digits, maximumFractionDigits: digits }) : say('nan');

export const bytes = (n) => (n < 1e6 ? unit(n / 1e3, 'kilobyte') : unit(n / 1e6, 'megabyte'));

const unit = (x, u) => x.toLocaleString(say('locale'), { style: 'unit', unit: u, maximumFractionDigits: x < 10 ? 1 : 0 });

export const clockTime = (date) => date.toLocaleTimeString(say('locale'), { hour: '2-digit', minute: '2-digit', second: '2-digit' });

// "3 minutes ago" for what is near, the date for what is not.
export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  const relative = new Intl.RelativeTimeFormat(say('locale'), { numeric: 'auto', style: 'short' });
  if (past < 60) return relative.format(-Math.max(0, Math.round(past)), 'second');
  if (past < 3600) return relative.format(-Math.round(past / 60), 'minute');
  if (past < 86400) return relative.format(-Math.round(past / 3600), 'hour');
  return new Date(seconds * 1000).toLocaleDateString(say('locale'), { dateStyle: 'medium' });
}

// Puts the words into a page: data-say for the text, data-label for a name, data-hint for a placeholder.
export function translate(root = document) {
  document.documentElement.lang = language;
  document.documentElement.dir = say('dir');
  for (const e of root.querySelectorAll('[data-say]')) e.textContent = say(e.dataset.say);
  for (const e of root.querySelectorAll('[data-label]')) e.setAttribute('aria-label', say(e.dataset.label));
  for (const e of root.querySelectorAll('[data-hint]')) e.placeholder = say(e.dataset.hint);
}
