import type { SourceReader } from '../definitions/readable-source.ts'
import type { Caller } from './caller.ts'

export interface EntryReader extends SourceReader {
  id: string
  /** The only project whose entries the reader sees; undefined for all projects. */
  project: string | undefined
  /** Of the project's plan: the reader sees no older entries. Undefined: all entries that are stored. */
  retentionDays: number | undefined
  signal: AbortSignal
}

/** Who reads entries when the caller does. */
export function readerOf(caller: Caller, signal: AbortSignal): EntryReader {
  const { id, project, retentionDays, isAdmin, maySearch, mayReadSource } = caller
  return { id, project, retentionDays, isAdmin, maySearch, mayReadSource, signal }
}
