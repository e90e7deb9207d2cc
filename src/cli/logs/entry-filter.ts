import { type Command, InvalidArgumentError } from 'commander'

const comparisons = { '=': 'eq', '!=': 'ne', '>': 'gt', '>=': 'gte', '<': 'lt', '<=': 'lte' } as const

/** A condition of a search, as the service expects it. */
export interface EntryCondition {
  path: string
  is: (typeof comparisons)[keyof typeof comparisons]
  value: string
}

export interface FilterOptions {
  project?: string
  where?: EntryCondition[]
}

export interface LoggedEntry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: unknown
}

export function addFilterOptions(command: Command): Command {
  return command
    .option('--project <project>', 'only entries of this project')
    .option(
      '--where <condition>',
      'path=value, path!=value, or a number after >, >=, < or <=; the path is project, id, event_message or in metadata; repeatable',
      collectCondition,
    )
}

export function collectCondition(
  value: string,
  before: readonly EntryCondition[] | undefined,
): EntryCondition[] {
  const [, path, sign, compared = ''] = /^([^=!<>]+)(!=|>=|<=|=|>|<)(.*)$/s.exec(value) ?? []
  if (path === undefined) {
    throw new InvalidArgumentError(
      `"${value}" must be a condition such as response.status_code=500 or region!=eu.`,
    )
  }
  const is = comparisons[sign as keyof typeof comparisons]
  if (is !== 'eq' && is !== 'ne' && numberOf(compared) === undefined) {
    throw new InvalidArgumentError(`Compare ${path} with a number; "${compared}" is not a number.`)
  }
  return [...(before ?? []), { path, is, value: compared }]
}

/** Decides like a search of the service, for streams that the service cannot filter. */
export function matches(
  entry: LoggedEntry,
  texts: readonly string[],
  conditions: readonly EntryCondition[],
): boolean {
  const message = entry.event_message.toLowerCase()
  return texts.every((text) => message.includes(text.toLowerCase())) && conditions.every(isMet)

  function isMet({ path, is, value }: EntryCondition): boolean {
    const found = valueAt(entry, path)
    if (is === 'eq') return found !== undefined && isEqual(found, value)
    // An absent value is different, too.
    if (is === 'ne') return !isEqual(found ?? '', value)
    const number = numberOf(textOf(found ?? ''))
    const limit = Number(value)
    if (number === undefined) return false
    if (is === 'gt') return number > limit
    if (is === 'gte') return number >= limit
    return is === 'lt' ? number < limit : number <= limit
  }
}

function isEqual(found: unknown, value: string): boolean {
  // Reading JSON has rounded a large integer.
  if (typeof found === 'number' && !Number.isSafeInteger(found) && numberOf(value) === found) return true
  return textOf(found) === value
}

/** Undefined if the entry has no value there. */
function valueAt(entry: LoggedEntry, path: string): unknown {
  if (path === 'project' || path === 'id' || path === 'event_message') return entry[path]
  let found: unknown = entry.metadata
  for (const part of path.replace(/^metadata\./, '').split('.')) {
    const key = part.replace(/%2E/gi, '.')
    if (typeof found !== 'object' || found === null || Array.isArray(found) || !Object.hasOwn(found, key)) {
      return undefined
    }
    found = (found as Record<string, unknown>)[key]
  }
  return found ?? undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function numberOf(text: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined
}
