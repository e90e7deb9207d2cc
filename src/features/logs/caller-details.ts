import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import { readerOf } from '../../core/access/entry-reader.ts'
import { newSourceShape } from '../../core/catalog/source.ts'
import { type CallerDetails, picked } from '../../core/http/routes/access/whoami.ts'
import type { SourceInfo } from '../sources/index.ts'
import { type FilledSources, filledSources } from './filled-sources.ts'
import type { LogSearch } from './log-search.ts'

const searched = newSourceShape.pick({ name: true, description: true, columns: true })

export function entryDetails(sources: SourceInfo, search: LogSearch): CallerDetails {
  const readableSources = async (caller: Caller, signal: AbortSignal): Promise<FilledSources> => {
    const readable = caller.mayReadEntries ? sources.list(caller) : []
    if (readable.length === 0 || caller.role !== undefined) return { filled: readable, empty: [] }
    return filledSources(search, readable, readerOf(caller, signal))
  }
  return {
    shape: {
      sources: z
        .array(searched)
        .describe(
          'The sources that the token can search. Without a role, only those with entries that it sees, newest entry first.',
        ),
      empty_sources: z
        .array(z.string())
        .describe('Without a role: names of the other sources that the token can search.'),
    },
    of: async (caller, signal) => {
      const { filled, empty } = await readableSources(caller, signal)
      return {
        sources: filled.map((source) => picked(searched, source)),
        empty_sources: empty.map((source) => source.name),
      }
    },
  }
}
