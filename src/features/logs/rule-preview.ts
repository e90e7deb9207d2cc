import { z } from 'zod'
import type { EntryReader } from '../../core/access/entry-reader.ts'
import { JsonPaths, pathName } from '../../core/base/json/json-paths.ts'
import { JsonScanner } from '../../core/base/json/json-scanner.ts'
import { readShape } from '../../core/base/validation.ts'
import type { Source } from '../../core/catalog/source.ts'
import { rulesShape } from '../../core/catalog/source-rules.ts'
import { checkRules } from '../../core/intake/rules/check-rules.ts'
import type { RuledEntry } from '../../core/intake/rules/rules.ts'
import { rulesOf, type SourceRules } from '../../core/intake/rules/source-rules.ts'
import { beginningOfTime } from '../../shared/timestamps.ts'
import type { LogSearch } from './log-search.ts'
import { linesOf } from './related-entries.ts'

export const previewShape = z.strictObject({
  rules: rulesShape.optional().describe('Rules to try. Default: those of the source.'),
})

const maxPreviewed = 100

/** Applies rules to the newest entries of a source, which its current rules have left. */
export async function previewRules(
  { rules, search }: { rules: SourceRules; search: Pick<LogSearch, 'entries'> },
  source: Source,
  body: unknown,
  reader: EntryReader,
) {
  const sent = readShape(previewShape, body ?? {})
  const tried = { ...source, rules: sent.rules ?? source.rules }
  checkRules(tried)
  const text = rules.textOf(tried)
  const filter = { limit: maxPreviewed, from: beginningOfTime }
  const lines = linesOf((await search.entries(source.name, filter, reader)).lines)
  const hits: number[] = []
  const entries = (text === undefined ? [] : lines).flatMap((json) => {
    const line = Buffer.from(json)
    const entry = entryOf(line)
    const { message, metadata } = entry
    const stays = rulesOf(text as string).apply(entry, hits)
    if (stays && entry.message === message && entry.metadata === metadata) return []
    return [{ before: JSON.parse(json), after: stays ? shown(json, entry) : null }]
  })
  return { newest: lines.length, rules: rules.list(tried, hits), entries }
}

const columns = ['id', 'project', 'event_message', 'metadata'] as const
const paths = new JsonPaths()
for (const column of columns) paths.add([column])

/** Of the entry as JSON, with its metadata as it is stored. */
function entryOf(line: Buffer): RuledEntry {
  const found = paths.locate(new JsonScanner(line))
  const part = (column: (typeof columns)[number]) =>
    line.subarray(...(found.get(pathName([column])) ?? [0, 0]))
  return {
    text: (column) => JSON.parse(part(column).toString()),
    message: part('event_message'),
    metadata: part('metadata'),
  }
}

function shown(json: string, { message, metadata }: RuledEntry) {
  const entry = { event_message: JSON.parse(message.toString()), metadata: JSON.parse(metadata.toString()) }
  return { ...JSON.parse(json), ...entry }
}
