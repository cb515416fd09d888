/* cmd_completion.c - myxtts completion: scripts that make a shell complete commands, options and values. They
 * are made from the output of --help, so they are complete. */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/line/options.h"

static const char usage[] =
    "myxtts completion bash|zsh|fish\n\n"
    "Prints a script with which the shell completes commands, options, settings and their values, and\n"
    "file names where an option takes one. `make install` puts it where the shells look for it. To try it\n"
    "in the current shell:\n"
    "    bash    source <(myxtts completion bash)\n"
    "    zsh     source <(myxtts completion zsh)\n"
    "    fish    myxtts completion fish | source";

static int is_switch(const json_t *option) { return json_is_null(json_object_get(option, "takes")); }

static int takes(const json_t *option, const char *what)
{
    return strcmp(json_get_text(option, "takes"), what) == 0;
}

/* A word that every shell takes as it is. */
static int is_plain(const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
            return 0;
    return *word != 0;
}

/* All that are plain, with blanks between them. Returns how many. */
static int print_words(const json_t *words)
{
    const json_t *word;
    size_t i;
    int count = 0;
    json_array_foreach(words, i, word)
    {
        if (is_plain(json_string_value(word)))
            printf("%s%s", count++ ? " " : "", json_string_value(word));
    }
    return count;
}

static void print_names(const json_t *list)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item) printf("%s%s", i ? " " : "", json_get_text(item, "name"));
}

/* What is beside a proposal: the first sentence, cut where it is long. Characters in `special` get a
 * backslash; a single quote is written as `quote`, since the text stands between two of them. */
static void print_help(const char *help, const char *special, const char *quote)
{
    enum { MOST = 76 };
    size_t n = 0;
    while (help[n] && !(strchr(".;", help[n]) && (help[n + 1] == ' ' || !help[n + 1])))
        n++;
    int cut = n > MOST;
    if (cut)
        for (n = MOST; n > 0 && help[n] != ' ';)
            n--;
    for (size_t i = 0; i < n; i++) {
        if (help[i] == '\'')
            fputs(quote, stdout);
        else
            printf("%s%c", strchr(special, help[i]) ? "\\" : "", help[i]);
    }
    fputs(cut ? " ..." : "", stdout);
}

/* ---- bash ---- */

/* One branch of a `case`: what the option of a command ("" for all of them) takes. */
static void bash_option(const json_t *option, const char *command)
{
    if (is_switch(option))
        return;
    printf("    %s:%s) takes=", *command ? command : "*", json_get_text(option, "name"));
    if (takes(option, "path")) {
        puts("path ;;");
        return;
    }
    fputs("words words='", stdout);
    print_words(json_object_get(option, "words"));
    puts("' ;;");
}

static void bash_options(const json_t *list, const char *command)
{
    const json_t *option;
    size_t i;
    json_array_foreach(list, i, option) bash_option(option, command);
}

static void bash_script(const json_t *all)
{
    const json_t *commands = json_object_get(all, "commands"), *settings = json_object_get(all, "settings"),
                 *o;
    size_t i;
    puts("# Completion of myxtts for bash, written by `myxtts completion bash`.\n"
         "_myxtts() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} "
         "command=${COMP_WORDS[1]}\n"
         "    local takes='' words='' options='' first=''\n"
         "    COMPREPLY=()");
    fputs("    local commands='", stdout);
    print_names(commands);
    puts("'\n    if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "        COMPREPLY=($(compgen -W \"$commands help --help --version\" -- \"$cur\"))\n"
         "        return\n    fi\n"
         "    # --option=value is three words here\n"
         "    if [ \"$cur\" = = ]; then\n        cur=''\n"
         "    elif [ \"$option\" = = ]; then\n        option=${COMP_WORDS[COMP_CWORD - 2]}\n    fi\n"
         "    case $command:${option//_/-} in");
    json_array_foreach(commands, i, o) bash_options(json_object_get(o, "options"), json_get_text(o, "name"));
    bash_options(json_object_get(all, "common"), "");
    bash_options(settings, "");
    puts("    esac\n    case $command in");
    json_array_foreach(commands, i, o)
    {
        printf("    %s) options='", json_get_text(o, "name"));
        print_names(json_object_get(o, "options"));
        fputs("' first='", stdout);
        print_words(json_object_get(o, "words"));
        puts("' ;;");
    }
    puts("    help) first=$commands ;;\n    *) return ;;\n    esac");
    fputs("    if [ \"$takes\" = words ]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    elif [ \"$takes\" = path ]; then\n        compopt -o default\n"
          "    elif [[ $cur == --no-* ]]; then\n        COMPREPLY=($(compgen -W '",
          stdout);
    json_array_foreach(settings, i, o)
    {
        if (is_switch(o))
            printf("--no-%s ", json_get_text(o, "name") + 2);
    }
    fputs("' -- \"$cur\"))\n    elif [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"$options ",
          stdout);
    print_names(json_object_get(all, "common"));
    fputs(" ", stdout);
    print_names(settings);
    puts("\" -- \"$cur\"))\n"
         "    elif [ \"$COMP_CWORD\" = 2 ] && [ -n \"$first\" ]; then\n"
         "        COMPREPLY=($(compgen -W \"$first\" -- \"$cur\"))\n"
         "    else\n        compopt -o default\n    fi\n}\ncomplete -F _myxtts myxtts");
}

/* ---- zsh ---- */

#define ZSH_SPECIAL "\\[]:"
#define ZSH_QUOTE "'\\''"

/* An argument of _arguments: '--output=[where it goes]:FILE:_files'. */
static void zsh_spec(const json_t *option, const char *indent)
{
    printf("%s'%s%s[", indent, json_get_text(option, "name"), is_switch(option) ? "" : "=");
    print_help(json_get_text(option, "help"), ZSH_SPECIAL, ZSH_QUOTE);
    fputs("]", stdout);
    if (!is_switch(option)) {
        const json_t *words = json_object_get(option, "words");
        printf(":%s:", takes(option, "words") ? "word" : json_get_text(option, "argument"));
        if (takes(option, "path")) {
            fputs("_files", stdout);
        } else if (json_array_size(words)) {
            fputs("(", stdout);
            print_words(words);
            fputs(")", stdout);
        }
    }
    puts("'");
    if (is_switch(option) && *json_get_text(option, "key"))
        printf("%s'--no-%s'\n", indent, json_get_text(option, "name") + 2);
}

static void zsh_specs(const json_t *list, const char *indent)
{
    const json_t *option;
    size_t i;
    json_array_foreach(list, i, option) zsh_spec(option, indent);
}

/* Own options hide others of the same name, which _arguments would take for a mistake. */
static void zsh_command(const json_t *command)
{
    const json_t *words = json_object_get(command, "words"), *option;
    size_t i;
    printf("    %s)\n        own=(\n", json_get_text(command, "name"));
    zsh_specs(json_object_get(command, "options"), "            ");
    if (json_array_size(words)) {
        fputs("            '1:what:(", stdout);
        print_words(words);
        puts(")'");
    }
    puts("            '*:file:_files'\n        )");
    json_array_foreach(json_object_get(command, "options"), i, option)
    {
        const char *name = json_get_text(option, "name");
        printf("        others=(${others:#%s[=\\[]*})\n", name);
    }
    puts("        ;;");
}

static void zsh_script(const json_t *all)
{
    const json_t *commands = json_object_get(all, "commands"), *o;
    size_t i;
    puts("#compdef myxtts\n# Completion of myxtts for zsh, written by `myxtts completion zsh`.\n"
         "_myxtts() {\n    local -a commands own others\n    local command=$words[2]\n    commands=(");
    json_array_foreach(commands, i, o)
    {
        printf("        '%s:", json_get_text(o, "name"));
        print_help(json_get_text(o, "help"), "\\:", ZSH_QUOTE);
        puts("'");
    }
    puts("        'help:explain a command'\n    )\n"
         "    if (( CURRENT == 2 )); then\n"
         "        _arguments '--help[the list of commands]' '--version[what this program is]' '1: "
         ":->command'\n"
         "        _describe -t commands command commands\n        return\n    fi\n"
         "    shift words\n    (( CURRENT-- ))\n    others=(");
    zsh_specs(json_object_get(all, "common"), "        ");
    zsh_specs(json_object_get(all, "settings"), "        ");
    puts("    )\n    case $command in");
    json_array_foreach(commands, i, o) zsh_command(o);
    puts(
        "    help)\n        _describe -t commands command commands\n        return\n        ;;\n"
        "    *) return 1 ;;\n    esac\n    _arguments -S $own $others\n}\n"
        "if [ \"$funcstack[1]\" = _myxtts ]; then\n    _myxtts \"$@\"\nelse\n    compdef _myxtts myxtts\nfi");
}

/* ---- fish ---- */

#define FISH_SPECIAL "\\"
#define FISH_QUOTE "\\'"

static void fish_option(const json_t *option, const char *condition)
{
    printf("complete -c myxtts -n '%s' -l %s", condition, json_get_text(option, "name") + 2);
    if (takes(option, "path")) {
        fputs(" -r -F", stdout);
    } else if (!is_switch(option)) {
        fputs(" -x -a '", stdout);
        print_words(json_object_get(option, "words"));
        fputs("'", stdout);
    }
    fputs(" -d '", stdout);
    print_help(json_get_text(option, "help"), FISH_SPECIAL, FISH_QUOTE);
    puts("'");
    if (is_switch(option) && *json_get_text(option, "key"))
        printf("complete -c myxtts -n '%s' -l no-%s\n", condition, json_get_text(option, "name") + 2);
}

static void fish_script(const json_t *all)
{
    const json_t *commands = json_object_get(all, "commands"), *o, *option;
    size_t i, k;
    puts("# Completion of myxtts for fish, written by `myxtts completion fish`.\n"
         "function __myxtts_command # 0 when one of these is the command; without any, when there is none "
         "yet\n"
         "    set -l tokens (commandline -opc)\n"
         "    if test (count $argv) = 0\n        test (count $tokens) = 1\n    else\n"
         "        test (count $tokens) -gt 1; and contains -- $tokens[2] $argv\n    end\nend\n"
         "function __myxtts_first # the same, when what is typed is its first argument\n"
         "    test (count (commandline -opc)) = 2; and __myxtts_command $argv\nend\n"
         "complete -c myxtts -n '__myxtts_command' -f -l help -d 'the list of commands'\n"
         "complete -c myxtts -n '__myxtts_command' -f -l version -d 'what this program is'\n"
         "complete -c myxtts -n '__myxtts_command' -f -a help -d 'explain a command'");
    json_array_foreach(commands, i, o)
    {
        printf("complete -c myxtts -n '__myxtts_command' -f -a %s -d '", json_get_text(o, "name"));
        print_help(json_get_text(o, "help"), FISH_SPECIAL, FISH_QUOTE);
        puts("'");
    }
    fputs("complete -c myxtts -n '__myxtts_first help' -f -a '", stdout);
    print_names(commands);
    puts("'");
    json_array_foreach(commands, i, o)
    {
        char condition[80];
        snprintf(condition, sizeof condition, "__myxtts_command %s", json_get_text(o, "name"));
        json_array_foreach(json_object_get(o, "options"), k, option) fish_option(option, condition);
        if (json_array_size(json_object_get(o, "words"))) {
            printf("complete -c myxtts -n '__myxtts_first %s' -f -a '", json_get_text(o, "name"));
            print_words(json_object_get(o, "words"));
            puts("'");
        }
    }
    json_array_foreach(json_object_get(all, "common"), i, option)
        fish_option(option, "not __myxtts_command; and not __myxtts_command help");
    json_array_foreach(json_object_get(all, "settings"), i, option)
        fish_option(option, "not __myxtts_command; and not __myxtts_command help");
}

const CmdUsage completion_usage = {usage, NULL, 0};

int cmd_completion(int argc, char **argv, Log *log)
{
    static const struct {
        const char *name;
        void (*print)(const json_t *all);
    } shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    CmdLine line;
    Err err = {0};
    json_t *all = NULL;
    int rc = cmd_line_parse(&line, &completion_usage, NULL, argc, argv, &err);
    if (!rc && !line.help && !(rc = cmd_line_expect(&line, 1, 1, "bash, zsh or fish", &err))) {
        size_t i = 0;
        while (i < 3 && strcmp(shells[i].name, line.positional[0]) != 0)
            i++;
        rc = i < 3 ? commands_describe(&all, &err)
                   : err_set(&err, ERR_USAGE, "'%s' is not a supported shell; choose bash, zsh or fish",
                             line.positional[0]);
        if (!rc)
            shells[i].print(all);
    }
    json_decref(all);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
