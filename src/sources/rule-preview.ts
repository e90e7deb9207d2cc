import { z } from 'zod'
import { JsonPaths, pathName } from '../base/json/json-paths.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'
import { readShape } from '../base/validation.ts'
import { rulesShape } from '../catalog/source-rules.ts'
import type { Sources } from '../catalog/sources.ts'
import type { RuledEntry } from '../rules/rules.ts'
import { rulesOf, type SourceRules } from '../rules/source-rules.ts'
import type { EntryReader } from './entry-queries.ts'
import type { LogSearch } from './log-search.ts'
import { checkRules } from './source-kind.ts'

export const previewShape = z.strictObject({
  rules: rulesShape.optional().describe('Rules to try. Default: those of the source.'),
})

const maxPreviewed = 100
const beginningOfTime = '1970-01-01T00:00:00Z'

interface PreviewOptions {
  sources: Pick<Sources, 'get'>
  rules: SourceRules
  search: Pick<LogSearch, 'entries'>
}

/** What rules do to entries. */
export class RulePreview {
  readonly #options: PreviewOptions

  constructor(options: PreviewOptions) {
    this.#options = options
  }

  list(name: string) {
    return this.#options.rules.list(this.#options.sources.get(name, () => true))
  }

  /** Applies rules to the newest entries of a source, which its current rules have left. */
  async run(name: string, body: unknown, reader: EntryReader) {
    const { sources, rules, search } = this.#options
    const source = sources.get(name, () => true)
    const sent = readShape(previewShape, body ?? {})
    const tried = { ...source, rules: sent.rules ?? source.rules }
    checkRules(tried)
    const text = rules.textOf(tried)
    const filter = { limit: maxPreviewed, from: beginningOfTime }
    const { lines } = await search.entries(source.name, filter, reader)
    const hits: number[] = []
    const entries =
      text === undefined
        ? []
        : linesOf(lines).flatMap((line) => {
            const entry = entryOf(line)
            const { message, metadata } = entry
            const stays = rulesOf(text).apply(entry, hits)
            if (stays && entry.message === message && entry.metadata === metadata) return []
            return [{ before: JSON.parse(line.toString()), after: stays ? shown(line, entry) : null }]
          })
    return { newest: linesOf(lines).length, rules: rules.list(tried, hits), entries }
  }
}

function linesOf(lines: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0, end = lines.indexOf(10); end >= 0; at = end + 1, end = lines.indexOf(10, at)) {
    found.push(lines.subarray(at, end))
  }
  return found
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

function shown(line: Buffer, { message, metadata }: RuledEntry) {
  const entry = { event_message: JSON.parse(message.toString()), metadata: JSON.parse(metadata.toString()) }
  return { ...JSON.parse(line.toString()), ...entry }
}
