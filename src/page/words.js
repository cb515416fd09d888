// words.js - everything the pages say, in English and Persian, and how each writes numbers and dates.

const words = {
  en: {
    name: 'English', other: 'فارسی', dir: 'ltr', locale: 'en-GB',
    speak_title: 'myxtts: speak', runs_title: 'myxtts: runs',
    skip: 'To the content', nav: 'Pages', nav_speak: 'Speak', nav_runs: 'Runs',
    to_other_language: 'فارسی', theme: 'Colours', theme_auto: 'As the system', theme_light: 'Light', theme_dark: 'Dark',
    token_title: 'This server wants a token', token_text: 'It was set with --token-file where the server was started. It is kept until you close this tab.',
    token_label: 'Token', token_wrong: 'The server does not know this token.', token_ok: 'Go on', cancel: 'Cancel',
    no_server: 'The server does not answer. Is it still running?',
    bad_answer: 'The server answered with {status}.',

    speak_heading: 'Say something', text: 'Text', text_hint: 'Type or paste what is to be said.',
    example: 'The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background.',
    voice: 'Voice', speaker: 'Speaker', spoken: 'Language', spoken_usual: 'As usual', speed: 'Speed', pitch: 'Pitch',
    speed_value: '{n}×', pitch_value: '{n} semitones', pitch_zero: 'as learned',
    reference: 'A recording as reference', reference_hint: 'Speaks in its voice, as far as this voice can. Drop a file here, choose one, or record.',
    reference_choose: 'Choose a file', reference_record: 'Record', reference_stop: 'Stop recording', reference_remove: 'Remove the recording',
    reference_is: 'Reference: {name} ({size})', reference_recorded: 'own recording', reference_recording: 'Recording … {s} s',
    reference_bad: '“{name}” cannot be read as a recording.', reference_no_microphone: 'The microphone cannot be used: {why}',
    reference_not_here: 'This voice cannot take on other voices.',
    speak: 'Speak', stop: 'Stop', shortcut: 'Ctrl + Enter',
    no_text: 'There is no text to speak yet.', no_voices: 'This server has no voice.',
    waiting: 'Waiting for the first sound …', speaking: 'Speaking: {s} s so far',
    done: 'Done: {s} s of sound, the first after {ms} ms.', stopped: 'Stopped after {s} s.',
    press_play: 'The browser waits for you: press play.',
    left_out: 'Left out, because it cannot be spoken: {pieces}',
    result: 'What is heard', player: 'Player', strip: 'Mel, pitch and sounds along the time; scrolls sideways',
    now: 'Now', nothing_now: '–', mel: 'Mel: low tones below, high tones above', pitch_line: 'Pitch, {low} to {high} Hz', no_pitch: 'Pitch: none',
    said: 'As it was said', phonemes: 'Sounds', follow: 'Follow the sound',
    download: 'Download', format: 'Format', downloading: 'Making the file …', downloaded: '{name} is ready: {size}.',

    runs_heading: 'Trainings', runs_none: 'There is no training under the folder of --runs yet.',
    runs_off: 'Start the server with --runs FOLDER to see trainings here.',
    runs_count: '{n} trainings', runs_one: '1 training', run: 'Run', state: 'State', step: 'Step', loss: 'Loss', words_wrong: 'Words wrong', busy: 'Busy',
    step_time: 'Step, ms', verdict: 'Verdict', updated: 'Changed', running: 'running', finished: 'finished', stopped_state: 'stopped', empty: 'no step yet',
    of: '{a} of {b}', no_verdict: 'no verdict yet', live: 'Live: looked at {time}', lost: 'No answer since {time}; trying again',
    about: 'About this run', compare: 'Compare with', compare_none: 'nothing', device: 'Device', network: 'Network', size: 'Size', parameters: 'Parameters',
    batch: 'Batch', curves: 'Curves', training: 'training', validation: 'validation', validation_loss: 'Validation', voice_words: 'voice', recording_words: 'recordings',
    busy_share: 'busy', wait_share: 'waits for data', loss_chart: 'Loss', words_chart: 'Words wrong, heard by a recogniser', busy_chart: 'Device: busy and waiting',
    time_chart: 'Time of a step, ms', mean_time: 'mean', slowest_time: 'slowest batch', chart_summary: '{title}: {series}', series_summary: '{name} {last} at step {step}, lowest {low}',
    no_points: 'No figures yet.', pictures: 'Pictures', no_pictures: 'No pictures yet.', samples: 'Samples over the steps',
    no_samples: 'No samples yet. text2audio_interval_steps says how often they are spoken.', sentence: 'Sentence {n}', recording: 'Recording', step_n: 'Step {n}',
    play_sample: 'Play {what}', stop_sample: 'Stop {what}', settings_differ: 'Settings that differ', setting: 'Setting', settings_same: 'All settings are the same.',
    settings_unknown: 'One of the logs has no settings.', findings: 'What the doctor says', at_step: 'step {n}', nan: 'none', picture_loss: 'Loss', picture_mel: 'Mel of a clip',
    picture_alignment: 'Alignment', picture_pitch: 'Pitch', torn: 'Lines of the log that were cut off: {n}', progress: 'Progress', samples_hint: 'Each row is one sentence, each column a moment of the training.',
    readout: 'step {step}: {values}', choose_run: 'Choose a run',
    chart_keys: 'The arrow keys read the values.',
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

    runs_heading: 'آموزش‌ها', runs_none: 'هنوز آموزشی در پوشهٔ --runs نیست.',
    runs_off: 'برای دیدن آموزش‌ها سرور را با --runs FOLDER اجرا کنید.',
    runs_count: '{n} آموزش', runs_one: '۱ آموزش', run: 'اجرا', state: 'وضعیت', step: 'گام', loss: 'loss', words_wrong: 'واژه‌های نادرست', busy: 'مشغول',
    step_time: 'گام (ms)', verdict: 'نظر پزشک', updated: 'آخرین تغییر', running: 'در حال اجرا', finished: 'پایان‌یافته', stopped_state: 'متوقف', empty: 'هنوز بدون گام',
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
