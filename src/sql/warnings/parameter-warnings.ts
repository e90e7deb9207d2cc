import { closestName } from '../../base/text/closest-name.ts'
import type { Finding, QueryText } from './query-text.ts'

export interface WarnedParameters {
  /** Names that the endpoint declares. */
  declared: readonly string[]
  /** Names that the service sets, such as now. */
  reserved: readonly string[]
  /** Names that are used outside of the SQL. */
  usedElsewhere: readonly string[]
}

export function parameterWarnings(
  { tokens }: QueryText,
  { declared, reserved, usedElsewhere }: WarnedParameters,
): Finding[] {
  const used = new Map<string, number>()
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === 'parameter' && !used.has(text.slice(1))) used.set(text.slice(1), at)
  }
  const known = new Set([...declared, ...reserved])
  const undeclared = [...used].filter(([name]) => !known.has(name))
  const unused = declared.filter((name) => !used.has(name) && !usedElsewhere.includes(name))
  const findings = undeclared.map(([name, at]): Finding => {
    const closest = closestName(name, known)
    const help = closest === undefined ? 'Declare it.' : `Did you mean @${closest}?`
    const message = `@${name} is not declared, so it is null unless a caller sends it. ${help}`
    return { code: 'undeclared_parameter', message, at }
  })
  const inQuotes = new Set(
    tokens.flatMap(({ kind, text }) => (kind === 'string' ? (text.match(/(?<=@)\w+/g) ?? []) : [])),
  )
  for (const name of unused) {
    const help = inQuotes.has(name)
      ? `In quotes, @${name} is only text; remove the quotes.`
      : `Use @${name}, or remove the declaration.`
    const message = `The parameter ${name} is declared, but the SQL does not use it. ${help}`
    findings.push({ code: 'unused_parameter', message, at: -1 })
  }
  return findings
}
