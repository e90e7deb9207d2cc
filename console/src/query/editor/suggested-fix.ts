interface Problem {
  message: string
  line?: number | undefined
  column?: number | undefined
}

/** What a message suggests in place of a name, and the query with it. Undefined if the query has changed since. */
export function suggestedFix(query: string, { message, line = 0, column = 0 }: Problem) {
  const [, replacement] = /Did you mean ([^?\s]+(?: [^?\s]+)?)\?/.exec(message) ?? []
  const lines = query.split('\n')
  const text = lines[line - 1] ?? ''
  const [name = ''] = /^@?[\w.`]+/.exec(text.slice(column - 1)) ?? []
  const words = message.split(/[^\w.@-]/).map((word) => word.replace(/\.$/, ''))
  if (replacement === undefined || name === '' || !words.includes(name.replaceAll('`', ''))) return undefined
  lines[line - 1] = text.slice(0, column - 1) + replacement + text.slice(column - 1 + name.length)
  return { replacement, query: lines.join('\n') }
}
