import {
  type Completion,
  type CompletionContext,
  type CompletionSource,
  ifNotIn,
} from '@codemirror/autocomplete'
import { sourcesRead, wordsOf } from './sources-read.ts'
import { functions, keywords, types } from './sql-words.ts'

/** Names of the data that a query can use. */
export interface SqlNames {
  /** Each source with its columns. */
  sources: Record<string, string[]>
  /** Paths of metadata, as they are written in SQL, each with the type to read it with. */
  paths: readonly { label: string; cast: string | null }[]
  parameters: string[]
  /** Other endpoints, which a query reads like a source. */
  endpoints?: readonly string[]
}

const typeNames = types.split(' ')
/** Function names are case-sensitive in the engine. */
const words: readonly Completion[] = [
  ...functions.map((label) => ({ label, type: 'function' })),
  ...keywords.split(' ').map((label) => ({ label: label.toUpperCase(), type: 'keyword' })),
  ...typeNames.map((label) => ({ label, type: 'type' })),
]

/** Suggests names that the query defines, names of the data, and words of SQL. */
export function sqlCompletion(names: () => SqlNames): CompletionSource {
  const complete = (context: CompletionContext) => {
    const word = context.matchBefore(/@?[\w.`]*/)
    if (!word || /^\d/.test(word.text) || (word.text === '' && !context.explicit)) return null
    const text = context.state.doc.toString()
    // The word that is being typed is not a name yet.
    const around = `${text.slice(0, word.from)} ${text.slice(context.pos)}`
    const path = word.text.lastIndexOf('metadata.')
    const start = path >= 0 ? path : word.text.lastIndexOf('.') + 1
    const typed = word.text.slice(start)
    const before = text.slice(0, word.from)
    const isCast = text.startsWith('::', context.pos)
    const options = ranked(candidates(around, before, start > 0, names(), isCast), typed)
    if (options.length === 0) return null
    return {
      from: word.from + start,
      options,
      filter: false,
      getMatch: ({ label }: Completion) => {
        const at = label.toLowerCase().indexOf(typed.toLowerCase())
        return at < 0 || typed === '' ? [] : [at, at + typed.length]
      },
      update: (_result: unknown, _from: number, _to: number, next: CompletionContext) => complete(next),
    }
  }
  return ifNotIn(['String', 'LineComment', 'BlockComment'], complete)
}

/** In the order of relevance. */
function candidates(
  query: string,
  before: string,
  isQualified: boolean,
  names: SqlNames,
  isCast: boolean,
): Completion[] {
  const all = Object.keys(names.sources)
  const { aliases, views } = namesDefined(query)
  const read = sourcesRead(query, new Set(all))
  const columns = [...new Set((read.length > 0 ? read : all).flatMap((name) => names.sources[name] ?? []))]
  const made = (labels: readonly string[], type: string): Completion[] =>
    labels.map((label) => ({ label, type }))
  const paths = names.paths.map(({ label, cast }): Completion => {
    if (cast === null) return { label, type: 'property' }
    return { label, type: 'property', detail: cast, apply: isCast ? label : `${label}::${cast}` }
  })
  const data = [...made(columns, 'property'), ...paths]
  if (isQualified) return data
  const endpoints = (names.endpoints ?? []).map((name) => `\`${name}\``)
  const tables = [...made(views, 'class'), ...made(all, 'class'), ...made(endpoints, 'class')]
  const parameters = made(
    names.parameters.map((name) => `@${name}`),
    'variable',
  )
  const others = [...made(aliases, 'variable'), ...parameters, ...data]
  const isTable = /\b(?:from|join)\s+$/i.test(before)
  return [...(isTable ? [...tables, ...others] : [...others, ...tables]), ...words]
}

/** Aliases of expressions and tables, and the views of WITH. */
export function namesDefined(query: string): { aliases: string[]; views: string[] } {
  const all = wordsOf(query)
  const [aliases, views] = [new Set<string>(), new Set<string>()]
  for (const [at, word] of all.entries()) {
    if (word.toLowerCase() !== 'as') continue
    const [before = '', after = ''] = [all[at - 1], all[at + 1]]
    if (after === '(') views.add(before)
    else if (/^[A-Za-z_]\w*$/.test(after) && !typeNames.includes(after)) aliases.add(after)
  }
  return { aliases: [...aliases], views: [...views].filter((name) => /^[A-Za-z_]\w*$/.test(name)) }
}

/** Suggestions that match what was typed, best matches first. Equal matches keep their order. */
export function ranked(options: readonly Completion[], typed: string): Completion[] {
  const seen = new Set<string>()
  return options
    .flatMap((option) => {
      const rank = rankOf(option.label, typed)
      if (rank === undefined || seen.has(option.label)) return []
      seen.add(option.label)
      return [{ option, rank }]
    })
    .sort((one, other) => one.rank - other.rank)
    .map(({ option }) => option)
}

/** 0 for a prefix, more for a looser match, undefined for none. */
function rankOf(label: string, typed: string): number | undefined {
  const name = typed.startsWith('@') ? label : label.replace(/^@/, '')
  if (name.startsWith(typed)) return 0
  const [lower, part] = [name.toLowerCase(), typed.toLowerCase()]
  if (lower.startsWith(part)) return 1
  if (part.length < 2) return undefined
  if (lower.split(/[._`]/).some((piece) => piece.startsWith(part))) return 2
  if (lower.includes(part)) return 3
  return part.length > 2 && isWithin(part, lower) ? 4 : undefined
}

/** Whether the letters occur in this order. */
function isWithin(letters: string, text: string): boolean {
  let at = -1
  return [...letters].every((letter) => {
    at = text.indexOf(letter, at + 1)
    return at >= 0
  })
}
