import type { CommandOutput } from '../command-io.ts'
import { visible } from '../output/visible.ts'

export interface LoggedEntry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: unknown
}

export const queryArgument =
  'words of the message, and conditions such as status:>=500, path:/rest/* or NOT level:info'

/** One line for people: time, project, and the message, or the metadata of an entry without a message. */
export function entryText(
  { timestamp, project, event_message, metadata }: LoggedEntry,
  { colors }: CommandOutput,
): string {
  const text = event_message === '' ? colors.dim(visible(JSON.stringify(metadata))) : visible(event_message)
  const projects = project === '' ? [] : [colors.cyan(visible(project))]
  return [colors.dim(new Date(timestamp / 1000).toISOString()), ...projects, text].join('  ')
}
