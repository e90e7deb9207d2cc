import { type Command, InvalidArgumentError } from 'commander'
import { collect } from '../arguments.ts'
import type { CommandOutput } from '../command-io.ts'
import { visible } from '../output/visible.ts'

export interface FilterOptions {
  project?: string
  /** In the search language. */
  where?: string[]
}

export interface LoggedEntry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: unknown
}

export const queryArgument =
  'words of the message, and conditions such as status:>=500, path:/rest/* or NOT level:info'

export function addFilterOptions(command: Command): Command {
  return command
    .option('--project <project>', 'only entries of this project')
    .option(
      '--where <condition>',
      'path=value, path!=value, or a number after >, >=, < or <=; the path is project, id, event_message or in metadata; repeatable',
      (value: string, before: string[] | undefined) => collect(whereCondition(value), before),
    )
}

/** A condition in the search language of the service. */
export function whereCondition(value: string): string {
  const [, path, sign, compared = ''] = /^([^=!<>]+)(!=|>=|<=|=|>|<)(.*)$/s.exec(value) ?? []
  if (path === undefined) {
    throw new InvalidArgumentError(
      `"${value}" must be a condition such as response.status_code=500 or region!=eu.`,
    )
  }
  if (sign === '=' || sign === '!=') return `${sign === '=' ? '' : '-'}${quoted(path)}:${quoted(compared)}`
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(compared)) {
    throw new InvalidArgumentError(`Compare ${path} with a number; "${compared}" is not a number.`)
  }
  return `${quoted(path)}:${sign}${compared}`
}

/** A query that all of these parts must match. */
export function joinedQuery(words: readonly string[], conditions: readonly string[]): string {
  const query = words.join(' ').trim()
  if (conditions.length === 0) return query
  return [...(query === '' ? [] : [`(${query})`]), ...conditions].join(' ')
}

export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** One line for people: time, project, and the message, or the metadata of an entry without a message. */
export function entryText(
  { timestamp, project, event_message, metadata }: LoggedEntry,
  { colors }: CommandOutput,
): string {
  const text = event_message === '' ? colors.dim(visible(JSON.stringify(metadata))) : visible(event_message)
  const projects = project === '' ? [] : [colors.cyan(visible(project))]
  return [colors.dim(new Date(timestamp / 1000).toISOString()), ...projects, text].join('  ')
}
