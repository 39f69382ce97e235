/** Completion scripts of bash, zsh and fish, written from the table of commands. Pure. */

export interface Entry {
  readonly name: string
  readonly summary: string
  readonly subcommands: readonly string[]
  readonly options: readonly { readonly name: string; readonly summary: string }[]
}
type Script = (entries: readonly Entry[]) => string

const optionsOf = ({ options }: Entry): string => options.map(({ name }) => `--${name}`).join(' ')
const namesOf = (entries: readonly Entry[]): string => entries.map(({ name }) => name).join(' ')
/** Within single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Words first: without a match bash completes files (`-o default`). */
const bash: Script = entries => `# bash completion of tollgate
_tollgate() {
  local word=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" = 1 ]; then
    words=${quoted(`${namesOf(entries)} --help --version`)}
  else
    case $command in
${entries
  .map(
    entry => `      ${entry.name})
        words=${quoted(optionsOf(entry))}
        [ "$COMP_CWORD" = 2 ] && words="${entry.subcommands.join(' ')} $words" ;;`,
  )
  .join('\n')}
    esac
  fi
  case $word in
    -*|'') ;;
    *) [ "$COMP_CWORD" -gt 2 ] && words= ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tollgate tollgate`

const zsh: Script = entries => `#compdef tollgate
_tollgate() {
  local -a names
  if (( CURRENT == 2 )); then
    names=(
${entries.map(({ name, summary }) => `      ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`).join('\n')}
    )
    _describe command names
    return
  fi
  case $words[2] in
${entries
  .map(
    entry => `    ${entry.name})
      (( CURRENT == 3 )) && compadd -- ${entry.subcommands.join(' ')}
      compadd -- ${optionsOf(entry)} ;;`,
  )
  .join('\n')}
  esac
  _files
}
compdef _tollgate tollgate`

const fish: Script = entries =>
  [
    '# fish completion of tollgate',
    ...entries.flatMap(({ name, summary, subcommands, options }) => [
      `complete -c tollgate -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
      ...subcommands.map(
        each => `complete -c tollgate -n '__fish_seen_subcommand_from ${name}' -f -a ${each}`,
      ),
      ...options.map(
        option =>
          `complete -c tollgate -n '__fish_seen_subcommand_from ${name}' -l ${option.name} -d ${quoted(option.summary)}`,
      ),
    ]),
  ].join('\n')

export const SHELLS: Readonly<Record<string, Script>> = { bash, zsh, fish }
