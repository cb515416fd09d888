/* languages.c - the one table of languages. Above it are the tables of words that some rows point to, below
 * it the functions that find a row. The order of the rows is that of the default of supported_languages,
 * which is part of the key of every text cache: append new rows at the end. */
#include "config/languages.h"

#include <stdio.h>
#include <string.h>

/* ---- abbreviations ---- */

static const Abbreviation english_abbreviations[] = {
    {"mr.", "Mister", 0},
    {"mrs.", "Missus", 0},
    {"ms.", "Miz", NEEDS_CAPITAL},
    {"messrs.", "Messers", 0},
    {"mme.", "Madame", NEEDS_CAPITAL},
    {"dr.", "Drive", AFTER_NAME},
    {"dr", "Drive", IN_ADDRESS},
    {"dr.", "Doctor", 0},
    {"drs.", "Doctors", 0},
    {"prof.", "Professor", 0},
    {"st.", "Street", AFTER_NAME},
    {"st", "Street", IN_ADDRESS},
    {"st.", "Saint", NEEDS_CAPITAL},
    {"ave.", "Avenue", 0},
    {"ave", "Avenue", IN_ADDRESS},
    {"blvd.", "Boulevard", 0},
    {"blvd", "Boulevard", 0},
    {"rd.", "Road", AFTER_NAME},
    {"rd", "Road", IN_ADDRESS},
    {"ln.", "Lane", AFTER_NAME},
    {"ln", "Lane", IN_ADDRESS},
    {"ct.", "Court", AFTER_NAME},
    {"ct", "Court", IN_ADDRESS},
    {"pl.", "Place", AFTER_NAME},
    {"sq.", "Square", AFTER_NAME},
    {"ter.", "Terrace", IN_ADDRESS},
    {"pkwy.", "Parkway", 0},
    {"hwy.", "Highway", 0},
    {"rte.", "Route", 0},
    {"N.", "North", IN_ADDRESS | NEEDS_CAPITAL | SAME_CASE},
    {"N.", "North", IN_ADDRESS | NEEDS_DIGIT | SAME_CASE},
    {"S.", "South", IN_ADDRESS | NEEDS_CAPITAL | SAME_CASE},
    {"S.", "South", IN_ADDRESS | NEEDS_DIGIT | SAME_CASE},
    {"E.", "East", IN_ADDRESS | NEEDS_CAPITAL | SAME_CASE},
    {"E.", "East", IN_ADDRESS | NEEDS_DIGIT | SAME_CASE},
    {"W.", "West", IN_ADDRESS | NEEDS_CAPITAL | SAME_CASE},
    {"W.", "West", IN_ADDRESS | NEEDS_DIGIT | SAME_CASE},
    {"apt.", "apartment", NEEDS_DIGIT},
    {"ste.", "suite", NEEDS_DIGIT},
    {"rm.", "room", NEEDS_DIGIT},
    {"mt.", "Mount", NEEDS_CAPITAL},
    {"ft.", "Fort", NEEDS_CAPITAL},
    {"sr.", "Senior", 0},
    {"jr.", "Junior", 0},
    {"esq.", "Esquire", 0},
    {"ltd.", "Limited", 0},
    {"inc.", "Incorporated", 0},
    {"co.", "Company", 0},
    {"corp.", "Corporation", 0},
    {"bros.", "Brothers", 0},
    {"dept.", "department", 0},
    {"univ.", "University", 0},
    {"govt.", "government", 0},
    {"assn.", "Association", 0},
    {"etc.", "et cetera", 0},
    {"vs.", "versus", 0},
    {"vs", "versus", 0},
    {"e.g.", "for example", 0},
    {"i.e.", "that is", 0},
    {"viz.", "viz", 0},
    {"cf.", "compare", 0},
    {"et al.", "et al", 0},
    {"no.", "number", NEEDS_DIGIT},
    {"nos.", "numbers", NEEDS_DIGIT},
    {"vol.", "volume", NEEDS_DIGIT},
    {"fig.", "figure", NEEDS_DIGIT},
    {"figs.", "figures", NEEDS_DIGIT},
    {"p.", "page", NEEDS_DIGIT | SAME_CASE},
    {"pp.", "pages", NEEDS_DIGIT | SAME_CASE},
    {"ch.", "chapter", NEEDS_DIGIT},
    {"sec.", "section", NEEDS_DIGIT},
    {"art.", "article", NEEDS_DIGIT},
    {"ext.", "extension", NEEDS_DIGIT},
    {"c.", "circa", NEEDS_DIGIT | SAME_CASE},
    {"ca.", "circa", NEEDS_DIGIT},
    {"est.", "established", NEEDS_DIGIT},
    {"gen.", "General", NEEDS_CAPITAL},
    {"col.", "Colonel", NEEDS_CAPITAL},
    {"capt.", "Captain", NEEDS_CAPITAL},
    {"lt.", "Lieutenant", NEEDS_CAPITAL},
    {"sgt.", "Sergeant", NEEDS_CAPITAL},
    {"cpl.", "Corporal", NEEDS_CAPITAL},
    {"pvt.", "Private", NEEDS_CAPITAL},
    {"maj.", "Major", NEEDS_CAPITAL},
    {"adm.", "Admiral", NEEDS_CAPITAL},
    {"cmdr.", "Commander", NEEDS_CAPITAL},
    {"rev.", "Reverend", NEEDS_CAPITAL},
    {"hon.", "Honorable", NEEDS_CAPITAL},
    {"gov.", "Governor", NEEDS_CAPITAL},
    {"sen.", "Senator", NEEDS_CAPITAL},
    {"rep.", "Representative", NEEDS_CAPITAL},
    {"pres.", "President", NEEDS_CAPITAL},
    {"supt.", "Superintendent", NEEDS_CAPITAL},
    {"approx.", "approximately", 0},
    {"avg.", "average", 0},
    {"misc.", "miscellaneous", 0},
    {"a.m.", "AM", 0},
    {"p.o.", "PO", 0},
    {"p.m.", "PM", 0},
    {"u.s.a.", "USA", 0},
    {"u.s.", "US", 0},
    {"u.k.", "UK", 0},
    {"d.c.", "DC", 0},
    {"ph.d.", "PhD", 0},
    {"a.d.", "AD", 0},
    {"b.c.e.", "BCE", 0},
    {"b.c.", "BC", 0},
    {"w/o", "without", SAME_CASE},
    {"w/", "with", SAME_CASE | NEEDS_BLANK},
    {"and/or", "and or", 0},
    {"he/she", "he or she", 0},
    {"his/her", "his or her", 0},
    {"him/her", "him or her", 0},
    {"C++", "C plus plus", SAME_CASE},
    {"C#", "C sharp", SAME_CASE},
    {"F#", "F sharp", SAME_CASE},
    {NULL, NULL, 0},
};

static const Abbreviation spanish_abbreviations[] = {
    {"sr.", "señor", 0},      {"sra.", "señora", 0},
    {"srta.", "señorita", 0}, {"dr.", "doctor", 0},
    {"dra.", "doctora", 0},   {"ud.", "usted", 0},
    {"uds.", "ustedes", 0},   {"p. ej.", "por ejemplo", 0},
    {"etc.", "etcétera", 0},  {"n.º", "número", NEEDS_DIGIT},
    {NULL, NULL, 0},
};

static const Abbreviation french_abbreviations[] = {
    {"M.", "monsieur", NEEDS_CAPITAL | SAME_CASE},
    {"MM.", "messieurs", NEEDS_CAPITAL | SAME_CASE},
    {"dr.", "docteur", 0},
    {"etc.", "et cetera", 0},
    {"p. ex.", "par exemple", 0},
    {NULL, NULL, 0},
};

static const Abbreviation german_abbreviations[] = {
    {"z. b.", "zum Beispiel", 0},   {"z.b.", "zum Beispiel", 0},   {"d. h.", "das heißt", 0},
    {"d.h.", "das heißt", 0},       {"u. a.", "unter anderem", 0}, {"usw.", "und so weiter", 0},
    {"bzw.", "beziehungsweise", 0}, {"ca.", "circa", 0},           {"nr.", "Nummer", NEEDS_DIGIT},
    {"dr.", "Doktor", 0},           {"prof.", "Professor", 0},     {"hr.", "Herr", NEEDS_CAPITAL},
    {"fr.", "Frau", NEEDS_CAPITAL}, {"evtl.", "eventuell", 0},     {NULL, NULL, 0},
};

static const Abbreviation italian_abbreviations[] = {
    {"sig.", "signor", 0},   {"sig.ra", "signora", 0},     {"dott.", "dottor", 0}, {"prof.", "professor", 0},
    {"ecc.", "eccetera", 0}, {"p. es.", "per esempio", 0}, {NULL, NULL, 0},
};

static const Abbreviation portuguese_abbreviations[] = {
    {"sr.", "senhor", 0},     {"sra.", "senhora", 0},       {"dr.", "doutor", 0}, {"dra.", "doutora", 0},
    {"etc.", "et cetera", 0}, {"p. ex.", "por exemplo", 0}, {NULL, NULL, 0},
};

static const Abbreviation polish_abbreviations[] = {
    {"np.", "na przykład", 0}, {"itd.", "i tak dalej", 0}, {"itp.", "i tym podobne", 0},
    {"prof.", "profesor", 0},  {"tzn.", "to znaczy", 0},   {NULL, NULL, 0},
};

static const Abbreviation turkish_abbreviations[] = {
    {"dr.", "Doktor", 0},   {"prof.", "Profesör", 0}, {"vb.", "ve benzeri", 0},
    {"örn.", "örneğin", 0}, {NULL, NULL, 0},
};

static const Abbreviation russian_abbreviations[] = {
    {"т. е.", "то есть", 0},
    {"т.е.", "то есть", 0},
    {"и т. д.", "и так далее", 0},
    {"и т.д.", "и так далее", 0},
    {"и т. п.", "и тому подобное", 0},
    {"др.", "другие", 0},
    {NULL, NULL, 0},
};

static const Abbreviation dutch_abbreviations[] = {
    {"dhr.", "de heer", 0},
    {"mevr.", "mevrouw", 0},
    {"dr.", "dokter", 0},
    {"bijv.", "bijvoorbeeld", 0},
    {"bv.", "bijvoorbeeld", 0},
    {"enz.", "enzovoort", 0},
    {"d.w.z.", "dat wil zeggen", 0},
    {NULL, NULL, 0},
};

static const Abbreviation czech_abbreviations[] = {
    {"např.", "například", 0}, {"atd.", "a tak dále", 0}, {"apod.", "a podobně", 0},
    {"tj.", "to jest", 0},     {"dr.", "doktor", 0},      {NULL, NULL, 0},
};

static const Abbreviation hungarian_abbreviations[] = {
    {"pl.", "például", 0},    {"stb.", "és a többi", 0}, {"dr.", "doktor", 0},
    {"kb.", "körülbelül", 0}, {NULL, NULL, 0},
};
/* ---- words around numbers ---- */

static const char *const english_months[12] = {"January",   "February", "March",    "April",
                                               "May",       "June",     "July",     "August",
                                               "September", "October",  "November", "December"};
static const char *const german_months[12] = {"Januar",    "Februar", "März",     "April",
                                              "Mai",       "Juni",    "Juli",     "August",
                                              "September", "Oktober", "November", "Dezember"};

static const MoneyNames english_money[] = {
    {"USD", "dollar", "dollars", "cent", "cents"}, {"GBP", "pound", "pounds", "penny", "pence"},
    {"EUR", "euro", "euros", "cent", "cents"},     {"JPY", "yen", "yen", "sen", "sen"},
    {"INR", "rupee", "rupees", "paisa", "paise"},  {"RUB", "rouble", "roubles", "kopeck", "kopecks"},
    {"KRW", "won", "won", "jeon", "jeon"},         {"TRY", "lira", "lira", "kurush", "kurush"},
    {"IRR", "rial", "rials", "dinar", "dinars"},   {NULL, NULL, NULL, NULL, NULL},
};

/* Also behind a slash: "mg/kg", "USD/h". */
static const UnitName english_units[] = {
    {"kg", "kilogram", "kilograms", 0},
    {"g", "gram", "grams", 0},
    {"mg", "milligram", "milligrams", 0},
    {"µg", "microgram", "micrograms", 0},
    {"μg", "microgram", "micrograms", 0},
    {"km", "kilometer", "kilometers", 0},
    {"m", "meter", "meters", 0},
    {"cm", "centimeter", "centimeters", 0},
    {"mm", "millimeter", "millimeters", 0},
    {"nm", "nanometer", "nanometers", 0},
    {"µm", "micrometer", "micrometers", 0},
    {"μm", "micrometer", "micrometers", 0},
    {"km/h", "kilometer per hour", "kilometers per hour", 0},
    {"kph", "kilometer per hour", "kilometers per hour", 0},
    {"kmh", "kilometer per hour", "kilometers per hour", 0},
    {"mph", "mile per hour", "miles per hour", 0},
    {"m²", "square meter", "square meters", 0},
    {"m2", "square meter", "square meters", 0},
    {"km²", "square kilometer", "square kilometers", 0},
    {"km2", "square kilometer", "square kilometers", 0},
    {"cm²", "square centimeter", "square centimeters", 0},
    {"ft²", "square foot", "square feet", 0},
    {"sq ft", "square foot", "square feet", UNIT_STOPPED},
    {"sq. ft", "square foot", "square feet", UNIT_STOPPED},
    {"sq mi", "square mile", "square miles", UNIT_STOPPED},
    {"m³", "cubic meter", "cubic meters", 0},
    {"m3", "cubic meter", "cubic meters", 0},
    {"cm³", "cubic centimeter", "cubic centimeters", 0},
    {"cc", "cc", "cc", 0},
    {"ha", "hectare", "hectares", 0},
    {"L", "liter", "liters", 0},
    {"l", "liter", "liters", 0},
    {"ml", "milliliter", "milliliters", 0},
    {"mL", "milliliter", "milliliters", 0},
    {"cl", "centiliter", "centiliters", 0},
    {"dl", "deciliter", "deciliters", 0},
    {"dL", "deciliter", "deciliters", 0},
    {"ft", "foot", "feet", UNIT_STOPPED},
    {"in", "inch", "inches", UNIT_STOPPED | UNIT_NEEDS_STOP},
    {"yd", "yard", "yards", UNIT_STOPPED},
    {"mi", "mile", "miles", UNIT_STOPPED},
    {"lb", "pound", "pounds", UNIT_STOPPED},
    {"lbs", "pound", "pounds", UNIT_STOPPED},
    {"oz", "ounce", "ounces", UNIT_STOPPED},
    {"gal", "gallon", "gallons", UNIT_STOPPED},
    {"tsp", "teaspoon", "teaspoons", UNIT_STOPPED},
    {"tbsp", "tablespoon", "tablespoons", UNIT_STOPPED},
    {"s", "second", "seconds", UNIT_APART},
    {"sec", "second", "seconds", UNIT_STOPPED},
    {"ms", "millisecond", "milliseconds", 0},
    {"µs", "microsecond", "microseconds", 0},
    {"ns", "nanosecond", "nanoseconds", 0},
    {"min", "minute", "minutes", UNIT_STOPPED},
    {"mins", "minute", "minutes", UNIT_STOPPED},
    {"h", "hour", "hours", 0},
    {"hr", "hour", "hours", UNIT_STOPPED},
    {"hrs", "hour", "hours", UNIT_STOPPED},
    {"yr", "year", "years", UNIT_STOPPED},
    {"yrs", "year", "years", UNIT_STOPPED},
    {"°C", "degree Celsius", "degrees Celsius", 0},
    {"°F", "degree Fahrenheit", "degrees Fahrenheit", 0},
    {"°", "degree", "degrees", 0},
    {"Hz", "hertz", "hertz", 0},
    {"kHz", "kilohertz", "kilohertz", 0},
    {"MHz", "megahertz", "megahertz", 0},
    {"GHz", "gigahertz", "gigahertz", 0},
    {"KB", "kilobyte", "kilobytes", 0},
    {"kB", "kilobyte", "kilobytes", 0},
    {"MB", "megabyte", "megabytes", 0},
    {"GB", "gigabyte", "gigabytes", 0},
    {"TB", "terabyte", "terabytes", 0},
    {"PB", "petabyte", "petabytes", 0},
    {"kbps", "kilobit per second", "kilobits per second", 0},
    {"Mbps", "megabit per second", "megabits per second", 0},
    {"Gbps", "gigabit per second", "gigabits per second", 0},
    {"W", "watt", "watts", 0},
    {"kW", "kilowatt", "kilowatts", 0},
    {"MW", "megawatt", "megawatts", 0},
    {"GW", "gigawatt", "gigawatts", 0},
    {"kWh", "kilowatt hour", "kilowatt hours", 0},
    {"MWh", "megawatt hour", "megawatt hours", 0},
    {"V", "volt", "volts", 0},
    {"kV", "kilovolt", "kilovolts", 0},
    {"mA", "milliamp", "milliamps", 0},
    {"mAh", "milliamp hour", "milliamp hours", 0},
    {"kJ", "kilojoule", "kilojoules", 0},
    {"kcal", "kilocalorie", "kilocalories", 0},
    {"cal", "calorie", "calories", UNIT_STOPPED},
    {"Pa", "pascal", "pascals", 0},
    {"hPa", "hectopascal", "hectopascals", 0},
    {"kPa", "kilopascal", "kilopascals", 0},
    {"MPa", "megapascal", "megapascals", 0},
    {"mbar", "millibar", "millibars", 0},
    {"ppm", "part per million", "parts per million", 0},
    {"ppb", "part per billion", "parts per billion", 0},
    {"A", "amp", "amps", UNIT_APART},
    {"kVA", "kilovolt amp", "kilovolt amps", 0},
    {"N", "newton", "newtons", UNIT_APART},
    {"kN", "kilonewton", "kilonewtons", 0},
    {"J", "joule", "joules", UNIT_APART},
    {"MJ", "megajoule", "megajoules", 0},
    {"lm", "lumen", "lumens", 0},
    {"bpm", "beat per minute", "beats per minute", 0},
    {"dB", "decibel", "decibels", 0},
    {"rpm", "RPM", "RPM", 0},
    {"fps", "FPS", "FPS", 0},
    {"dpi", "DPI", "DPI", 0},
    {"psi", "PSI", "PSI", 0},
    {"px", "pixel", "pixels", 0},
    {"¢", "cent", "cents", 0},
    {"USD", "US dollar", "US dollars", 0},
    {"EUR", "euro", "euros", 0},
    {"GBP", "pound", "pounds", 0},
    {"JPY", "yen", "yen", 0},
    {"CAD", "Canadian dollar", "Canadian dollars", 0},
    {"AUD", "Australian dollar", "Australian dollars", 0},
    {NULL, NULL, NULL, 0},
};

/* ---- letters that tell languages of one script apart ---- */

static const uint32_t arabic_letters[] = {
    0x629, /* teh marbuta */
    0x643, /* kaf */
    0x64A, /* yeh */
    0x649, /* alef maksura */
    0x625, /* alef with hamza below */
    0,
};
static const uint32_t persian_letters[] = {
    0x67E, /* peh */
    0x686, /* tcheh */
    0x698, /* jeh */
    0x6AF, /* gaf */
    0x6A9, /* keheh */
    0x6CC, /* Farsi yeh */
    0,
};

/* ---- the table ---- */

/* What a row leaves out is NULL or 0: no abbreviations, no neighbours, numbers as ICU spells them. */
static const Language languages[] = {
    {.code = "en",
     .names = "english",
     .voice = "en-us",
     .cleaner = CLEANER_ENGLISH,
     .is_heard = 1,
     .script = SCRIPT_LATIN,
     .neighbours = "sco",
     .openers =
         "The A An He She It They We I This That These Those There In On At But And Then When If As His "
         "Her Its Their My Our",
     .abbreviations = english_abbreviations,
     .numbers = {.decimal = '.',
                 .group = ',',
                 .english = 1,
                 .years = YEARS_ALWAYS,
                 .date = DATE_MONTH_DAY_YEAR,
                 .months = english_months,
                 .percent = {"percent"},
                 .to = "to",
                 .ordinals = "st nd rd th",
                 .and_word = "and",
                 .money = english_money,
                 .units = english_units}},
    {.code = "es",
     .names = "spanish",
     .script = SCRIPT_LATIN,
     .neighbours = "gl ca",
     .abbreviations = spanish_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .masculine_before_noun = 1,
                 .percent = {"por ciento"},
                 .to = "a",
                 .ordinals = "º .º er|ª .ª",
                 .and_word = "y"}},
    {.code = "fr",
     .names = "french",
     .voice = "fr-fr",
     .script = SCRIPT_LATIN,
     .neighbours = "oc",
     .abbreviations = french_abbreviations,
     .numbers = {.decimal = ',',
                 .group = ' ',
                 .percent = {"pour cent"},
                 .hour = "heures",
                 .hour_below_two = "heure",
                 .one_hour = "une",
                 .to = "à",
                 .ordinals = "er e ème eme nd|re ère nde",
                 .and_word = "et"}},
    {.code = "de",
     .names = "german",
     .script = SCRIPT_LATIN,
     .neighbours = "lb",
     .abbreviations = german_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .ordinal_days = 1,
                 .years = YEARS_ALWAYS,
                 .months = german_months,
                 .percent = {"Prozent"},
                 .hour = "Uhr",
                 .one_hour = "ein",
                 .to = "bis",
                 .ordinals = "",
                 .and_word = "und"}},
    {.code = "it",
     .names = "italian",
     .script = SCRIPT_LATIN,
     .neighbours = "co",
     .abbreviations = italian_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .percent = {"per cento"},
                 .to = "a",
                 .ordinals = "º °|ª",
                 .and_word = "e"}},
    {.code = "pt",
     .names = "portuguese",
     .script = SCRIPT_LATIN,
     .abbreviations = portuguese_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .percent = {"por cento"},
                 .to = "a",
                 .ordinals = "º .º|ª .ª",
                 .and_word = "e"}},
    {.code = "pl",
     .names = "polish",
     .script = SCRIPT_LATIN,
     .abbreviations = polish_abbreviations,
     .numbers =
         {.decimal = ',', .group = ' ', .percent = {"procent"}, .to = "do", .ordinals = "", .and_word = "i"}},
    {.code = "tr",
     .names = "turkish",
     .script = SCRIPT_LATIN,
     .neighbours = "az tk",
     .dotless = "tr az",
     .abbreviations = turkish_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .percent = {"yüzde"},
                 .percent_first = 1,
                 .ordinals = "",
                 .and_word = "ve"}},
    {.code = "ru",
     .names = "russian",
     .script = SCRIPT_CYRILLIC,
     .neighbours = "uk be bg",
     .abbreviations = russian_abbreviations,
     .numbers = {.decimal = ',',
                 .group = ' ',
                 .percent = {"процент", "процента", "процентов"},
                 .to = "до",
                 .ordinals = "",
                 .and_word = "и"}},
    {.code = "nl",
     .names = "dutch",
     .script = SCRIPT_LATIN,
     .neighbours = "af",
     .abbreviations = dutch_abbreviations,
     .numbers = {.decimal = ',',
                 .group = '.',
                 .years = YEARS_ALWAYS,
                 .percent = {"procent"},
                 .hour = "uur",
                 .one_hour = "een",
                 .to = "tot",
                 .ordinals = "e de ste",
                 .and_word = "en"}},
    {.code = "cs",
     .names = "czech",
     .script = SCRIPT_LATIN,
     .neighbours = "sk",
     .abbreviations = czech_abbreviations,
     .numbers = {.decimal = ',',
                 .group = ' ',
                 .masculine = 1,
                 .percent = {"procento", "procenta", "procent"},
                 .to = "až",
                 .ordinals = "",
                 .and_word = "a"}},
    {.code = "ar",
     .names = "arabic",
     .script = SCRIPT_ARABIC,
     .own_letters = arabic_letters,
     .numbers =
         {.decimal = '.', .group = ',', .percent = {"بالمئة"}, .to = "إلى", .ordinals = "", .and_word = "و"}},
    {.code = "fa",
     .names = "persian farsi",
     .script = SCRIPT_ARABIC,
     .own_letters = persian_letters,
     .numbers =
         {.decimal = '.', .group = ',', .percent = {"درصد"}, .to = "تا", .ordinals = "", .and_word = "و"}},
    /* espeak-ng 1.51's voice "cmn" turns Chinese characters into Pinyin and then reads that as English;
     * "cmn-latn-pinyin" reads both as Mandarin. */
    {.code = "zh",
     .names = "chinese mandarin",
     .voice = "cmn-latn-pinyin",
     .dictionary = "cmn",
     .script = SCRIPT_HAN,
     .readers = "cmn yue hak",
     .numbers = {.decimal = '.',
                 .group = ',',
                 .joined = 1,
                 .years = YEARS_BEFORE_SIGN,
                 .date = DATE_MARKED,
                 .date_signs = {"年", "月", "日"},
                 .spelled_years = 1,
                 .percent = {"百分之"},
                 .percent_first = 1,
                 .to = "到",
                 .ordinals = "",
                 .and_word = "和"}},
    {.code = "ja",
     .names = "japanese",
     .script = SCRIPT_KANA,
     .readers = "ja",
     .unreadable_hint = "write kanji as kana",
     .numbers = {.decimal = '.',
                 .group = ',',
                 .joined = 1,
                 .date = DATE_MARKED,
                 .date_signs = {"年", "月", "日"},
                 .percent = {"パーセント"},
                 .to = "から",
                 .ordinals = "",
                 .and_word = "と"}},
    {.code = "hu",
     .names = "hungarian",
     .script = SCRIPT_LATIN,
     .abbreviations = hungarian_abbreviations,
     .numbers = {.decimal = ',',
                 .group = ' ',
                 .date = DATE_YEAR_MONTH_DAY,
                 .percent = {"százalék"},
                 .ordinals = "",
                 .and_word = "és"}},
    {.code = "ko",
     .names = "korean",
     .script = SCRIPT_HANGUL,
     .readers = "ko",
     .numbers = {.decimal = '.',
                 .group = ',',
                 .joined = 1,
                 .date = DATE_MARKED,
                 .date_signs = {"년 ", "월 ", "일"},
                 .percent = {"퍼센트"},
                 .to = "에서",
                 .ordinals = "",
                 .and_word = "와"}},
};

/* Regions that another voice speaks, and codes that mean one of the languages above. */
static const LanguageVariant variants[] = {
    {"en-uk", "en-gb", NULL},
    {"zh-cn", "cmn-latn-pinyin", NULL},
    {"zh-tw", "cmn-latn-pinyin", NULL},
    {"zh-sg", "cmn-latn-pinyin", NULL},
    {"zh-hans", "cmn-latn-pinyin", NULL},
    {"zh-hant", "cmn-latn-pinyin", NULL},
    {"zh-hk", "yue", NULL},
    {"cmn", "cmn-latn-pinyin", "zh"},
    {"yue", "yue", "zh"},
    {"jp", "ja", "ja"},
    {"kr", "ko", "ko"},
    {"cz", "cs", "cs"},
    {"pt-pt", "pt", NULL},
    {"es-es", "es", NULL},
    {"es-mx", "es-419", NULL},
    {"es-ar", "es-419", NULL},
    {"es-us", "es-419", NULL},
    {"es-co", "es-419", NULL},
    {"no", "nb", NULL},
    {"fa-ir", "fa", NULL},
};

/* ---- finding a row ---- */

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

_Static_assert(sizeof languages / sizeof languages[0] <= CONFIG_MAX_LIST,
               "supported_languages cannot hold every language");

const Language *language_row(int i) { return i < COUNT(languages) ? &languages[i] : NULL; }

const char *language_code(int i) { return i < COUNT(languages) ? languages[i].code : NULL; }

const Language *language_find(const char *code)
{
    for (int i = 0; i < COUNT(languages); i++)
        if (strcmp(languages[i].code, code) == 0)
            return &languages[i];
    return NULL;
}

int language_is_known(const char *code) { return language_find(code) != NULL; }

int language_has_dotless_i(const char *code)
{
    char primary[3];
    snprintf(primary, sizeof primary, "%s", code);
    for (int i = 0; i < COUNT(languages); i++)
        if (language_has_word(languages[i].dotless, primary))
            return 1;
    return 0;
}

int language_has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words ? words : ""; *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        if (length == n && memcmp(p, word, n) == 0)
            return 1;
        p += length;
    }
    return 0;
}

const LanguageVariant *language_variant(const char *code)
{
    for (int i = 0; i < COUNT(variants); i++)
        if (strcmp(variants[i].code, code) == 0)
            return &variants[i];
    return NULL;
}
