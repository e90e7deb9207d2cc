import type { Completed, CompletedCommand } from './completed-commands.ts'

export const shells = ['bash', 'zsh', 'fish'] as const

type Shell = (typeof shells)[number]

export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands)
}

/** In both shells `at` is the command so far, such as " token create". Flags are offered after a dash, or if nothing else fits. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const reply = (value: Completed) => {
    if (typeof value === 'object') return `words='${value.join(' ')}'`
    if (value === 'files') return 'files=1'
    return value === 'anything' ? ':' : `words=$(${namesCommand(value)})`
  }
  const atCommand = ({ path, commands, options, value }: CompletedCommand) => {
    const flags = options.flatMap((option) => option.flags).join(' ')
    const words = commands.length > 0 ? commands.map(({ name }) => name) : value
    return `      ${quoted(path && ` ${path}`)}) flags='${flags}'; [[ $current == -* ]] || ${reply(words)} ;;`
  }
  return `# Completion of wellhead for bash. Load it with: source <(wellhead completion bash)
_wellhead() {
  local at= flags= words= files= i
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${knownPaths(commands)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $previous" in
${valueCases(commands, reply)}
    *) case "$at" in
${commands.map(atCommand).join('\n')}
      esac ;;
  esac
  local IFS=$' \\t\\n'
  COMPREPLY=($(compgen -W "\${words:-\${files:-$flags}}" -- "$current"))
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _wellhead wellhead
`
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const reply = (value: Completed) => {
    if (typeof value === 'object') return `compadd -- ${value.join(' ')}`
    if (value === 'files') return '_files'
    return value === 'anything' ? 'false' : `compadd -- \${(f)"$(${namesCommand(value)})"}`
  }
  const described = (name: string, description: string) => quoted(`${name}:${description}`)
  const atCommand = ({ path, commands, options, value }: CompletedCommand) => {
    const flags = options.flatMap((option) => option.flags.map((flag) => described(flag, option.description)))
    const names = commands.map(({ name, description }) => described(name, description))
    const words = names.length > 0 ? `found=(${names.join(' ')}) && _describe command found` : reply(value)
    return `    (${quoted(path && ` ${path}`)}) flags=(${flags.join(' ')}); [[ $current != -* ]] && ${words} && return ;;`
  }
  return `#compdef wellhead
# Completion of wellhead for zsh. Load it with: source <(wellhead completion zsh)
_wellhead() {
  local at= previous="\${words[CURRENT-1]}" current="\${words[CURRENT]}" i
  local -a found flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      (${knownPaths(commands)}) at="$at \${words[i]}" ;;
    esac
  done
  case "$at $previous" in
${valueCases(commands, (value) => `${reply(value)}; return`, '(')}
  esac
  case "$at" in
${commands.map(atCommand).join('\n')}
  esac
  _describe flag flags
}
if [[ "$funcstack[1]" == _wellhead ]]; then
  _wellhead "$@"
else
  compdef _wellhead wellhead
fi
`
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, commands, options, value }) => {
    const complete = `complete -c wellhead -n "__wellhead_at '${path && ` ${path}`}'"`
    return [
      ...commands.map(({ name, description }) => `${complete} -a ${name} -d ${fishQuoted(description)}`),
      ...options.map(({ flags, description, value }) => {
        const names = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        )
        return `${complete} ${names.join(' ')}${fishValue(value, '-x', '-r -F')} -d ${fishQuoted(description)}`
      }),
      ...(value === 'anything' ? [] : [`${complete}${fishValue(value, '', '-F')}`]),
    ]
  })
  return `# Completion of wellhead for fish. Load it with: wellhead completion fish | source
function __wellhead_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${knownPaths(commands, ' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c wellhead -f
${lines.join('\n')}
`
}

function fishValue(value: Completed | undefined, forWords: string, forFiles: string): string {
  if (value === undefined) return ''
  if (value === 'files') return ` ${forFiles}`
  const words =
    typeof value === 'object' ? value.join(' ') : value === 'anything' ? '' : `(${namesCommand(value)})`
  return [forWords && ` ${forWords}`, words && ` -a ${fishQuoted(words)}`].join('')
}

function namesCommand(kind: 'endpoints' | 'sources'): string {
  return `wellhead __names ${kind} 2>/dev/null`
}

function knownPaths(commands: readonly CompletedCommand[], separator = '|'): string {
  return commands
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(` ${path}`))
    .join(separator)
}

/** Cases of options that take a value. */
function valueCases(
  commands: readonly CompletedCommand[],
  action: (value: Completed) => string,
  opening = '',
): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ flags, value }) => {
        if (value === undefined) return []
        const patterns = flags.map((flag) => quoted(`${path && ` ${path}`} ${flag}`)).join('|')
        return [`    ${opening}${patterns}) ${action(value)} ;;`]
      }),
    )
    .join('\n')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
