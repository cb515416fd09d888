/* language_aloud.c - words for what is read aloud of addresses, code and lists; see AloudWords in
 * languages.h. */
#include "config/language_forms.h"

const AloudWords english_aloud = {.signs = {"dot", "at", "slash", "dash", "underscore", "question mark",
                                            "equals", "and", "hash", "percent", "plus", "colon", "tilde",
                                            "comma", "backslash", "star", "less than", "greater than"},
                                  .hosts = NULL,
                                  .block = "Code",
                                  .block_in = "Code in ",
                                  .lines = "lines",
                                  .one_line = "one line",
                                  .done = "Done",
                                  .open = "To do"};

const AloudWords german_aloud = {.signs = {"Punkt", "at", "Schrägstrich", "Minus", "Unterstrich",
                                           "Fragezeichen", "gleich", "und", "Raute", "Prozent", "plus",
                                           "Doppelpunkt", "Tilde", "Komma", "Backslash", "Stern",
                                           "kleiner als", "größer als"},
                                 .hosts = "de at ch eu",
                                 .block = "Code",
                                 .block_in = "Code in ",
                                 .lines = "Zeilen",
                                 .one_line = "eine Zeile",
                                 .done = "Erledigt",
                                 .open = "Offen"};

const AloudWords persian_aloud = {.signs = {"نقطه", "ات ساین", "اسلش", "خط تیره", "آندرلاین", "علامت سوال",
                                            "مساوی", "و", "هشتگ", "درصد", "به علاوه", "دو نقطه", "تیلدا",
                                            "ویرگول", "بک اسلش", "ستاره", "کوچکتر از", "بزرگتر از"},
                                  .hosts = "ir",
                                  .block = "کد",
                                  .block_in = "کد ",
                                  .lines = "خط",
                                  .one_line = "یک خط",
                                  .done = "انجام شده",
                                  .open = "انجام نشده"};

const AloudWords dutch_aloud = {.signs = {"punt", "apenstaartje", "slash", "streepje", "underscore",
                                          "vraagteken", "is", "en", "hekje", "procent", "plus",
                                          "dubbele punt", "tilde", "komma", "backslash", "sterretje",
                                          "kleiner dan", "groter dan"},
                                .hosts = "nl be",
                                .block = "Code",
                                .block_in = "Code in ",
                                .lines = "regels",
                                .one_line = "één regel",
                                .done = "Klaar",
                                .open = "Te doen"};

const AloudWords spanish_aloud = {.signs = {"punto", "arroba", "barra", "guion", "guion bajo",
                                            "interrogación", "igual", "y", "almohadilla", "por ciento", "más",
                                            "dos puntos", "tilde", "coma", "barra invertida", "asterisco",
                                            "menor que", "mayor que"},
                                  .hosts = NULL,
                                  .block = "Código",
                                  .block_in = "Código en ",
                                  .lines = "líneas",
                                  .one_line = "una línea",
                                  .done = "Hecho",
                                  .open = "Pendiente"};

const AloudWords french_aloud = {.signs = {"point", "arobase", "slash", "tiret", "tiret bas",
                                           "point d'interrogation", "égal", "et", "dièse", "pour cent",
                                           "plus", "deux points", "tilde", "virgule", "antislash", "étoile",
                                           "inférieur à", "supérieur à"},
                                 .hosts = "fr be",
                                 .block = "Code",
                                 .block_in = "Code en ",
                                 .lines = "lignes",
                                 .one_line = "une ligne",
                                 .done = "Fait",
                                 .open = "À faire"};

const AloudWords turkish_aloud = {.signs = {"nokta", "et", "bölü", "tire", "alt çizgi", "soru işareti",
                                            "eşittir", "ve", "kare", "yüzde", "artı", "iki nokta", "tilde",
                                            "virgül", "ters bölü", "yıldız", "küçüktür", "büyüktür"},
                                  .hosts = "tr",
                                  .block = "Kod",
                                  .block_in = "Kod ",
                                  .lines = "satır",
                                  .one_line = "bir satır",
                                  .done = "Yapıldı",
                                  .open = "Yapılacak"};

const AloudWords arabic_aloud = {.signs = {"نقطة", "آت", "سلاش", "شرطة", "شرطة سفلية", "علامة استفهام",
                                           "يساوي", "و", "هاشتاغ", "بالمئة", "زائد", "نقطتان", "تيلدا",
                                           "فاصلة", "باك سلاش", "نجمة", "أصغر من", "أكبر من"},
                                 .hosts = NULL,
                                 .block = "كود",
                                 .block_in = "كود ",
                                 .lines = "أسطر",
                                 .one_line = "سطر واحد",
                                 .done = "تم",
                                 .open = "لم يتم"};
