import { z } from 'zod'
import { invalidParameter } from '../../core/base/errors.ts'
import { isoInstant, readShape, text } from '../../core/base/validation.ts'
import { auditSource, projectPathsOf, quarantineSource } from '../../core/catalog/reserved-sources.ts'
import { projectKeys, type Source } from '../../core/catalog/source.ts'
import { cutoffShape } from '../../core/engine/removed-rows.ts'
import { maxProjectLength } from '../../core/intake/line-projects.ts'
import { instantSql } from '../../core/sql/isolation.ts'
import { sqlText } from '../../core/sql/names.ts'
import { parseIsoTimestamp } from '../../shared/timestamps.ts'

const time = isoInstant.nullable().default(null)

/** Every query has them while they are erased. */
const maxIdsLength = 40_000

/** What users send. */
export const erasureShape = z.strictObject({
  project: text
    .min(1, 'must not be empty')
    .refine(
      (name) => [...name].length <= maxProjectLength,
      `must be at most ${maxProjectLength} characters long`,
    )
    .describe('The project whose entries are erased.'),
  source: z.string().max(200).nullable().default(null).describe('Only entries of this source. Null: of all.'),
  from: time.describe('Only entries from this time on.'),
  to: time.describe(
    'Only entries before this time. Null: all that were acknowledged before the erasure was accepted.',
  ),
  ids: z
    .array(z.string().min(1, 'must not be empty').max(128, 'must be at most 128 characters long'))
    .min(1, 'must have at least one id')
    .max(1_000, 'must be at most 1000 ids')
    .refine(
      (ids) => ids.join('').length <= maxIdsLength,
      `must have at most ${maxIdsLength} characters together`,
    )
    .nullable()
    .default(null)
    .describe('Only entries with these ids.'),
  dry_run: z.boolean().default(false).describe('Counts the entries, and erases nothing.'),
})

/** What is erased. Never has more than what was asked for: nothing of what is gone. */
export const storedErasureShape = z.object({
  id: z.string(),
  project: z.string(),
  source: z.string().nullable(),
  from: z.string().nullable(),
  to: z.string(),
  ids: z.array(z.string()).nullable(),
  /**
   * Tables that had such entries when the erasure was accepted, and what separates these entries from later ones. Null: not
   * accepted yet, or by an earlier version.
   */
  cutoffs: z
    .record(z.string(), cutoffShape.extend({ source_id: z.string() }))
    .nullable()
    .default(null),
  /** Whether the rows of tables that users fill are gone, if `everything` is. */
  rows_erased: z.boolean().default(false),
  /** A build that lacks the feature of tables leaves their rows to one that has it. */
  rows_left: z.enum(['none', 'left', 'erased']).default('none'),
  /** Whether nothing but the project was named. */
  everything: z.boolean().default(false),
  entries: z.int(),
  created_at: z.string(),
  created_by: z.string(),
  done_at: z.string().nullable(),
})

export type Erasure = z.output<typeof storedErasureShape>
/** A source, and where its entries have their project. */
export type ErasedSource = Pick<Source, 'id' | 'name' | 'project'>
/** Without an end: as it was sent. */
export type ErasedRows = Pick<Erasure, 'project' | 'source' | 'from' | 'ids'> & { to: string | null }

export function readErasure(body: unknown) {
  const sent = readShape(erasureShape, body)
  const [from, to] = [sent.from, sent.to].map((at) => (at === null ? undefined : parseIsoTimestamp(at)))
  if (from !== undefined && to !== undefined && from >= to) {
    throw invalidParameter('to', 'to must be later than from.')
  }
  return sent
}

/** Condition for rows of a table, if an erasure concerns it. The audit keeps who erased what, which has no entries. */
export function erasedSql(
  rows: ErasedRows,
  table: string,
  sources: Iterable<ErasedSource>,
): string | undefined {
  const { project, source, from, to, ids } = rows
  const isQuarantine = table === quarantineSource
  if (table === auditSource || (source !== null && source !== table && !isQuarantine)) return undefined
  const terms = [ownSql(project, table, sources)]
  if (isQuarantine && source !== null && source !== table) {
    terms.push(`JSONExtractString(metadata, 'source') = ${sqlText(source)}`)
  }
  if (from !== null) terms.push(`timestamp >= ${instantSql(microsOf(from))}`)
  if (to !== null) terms.push(`timestamp < ${instantSql(microsOf(to))}`)
  if (ids !== null) {
    const list = `(${ids.map(sqlText).join(', ')})`
    const own = `id IN ${list}`
    terms.push(isQuarantine ? `(${own} OR JSONExtractString(event_message, 'id') IN ${list})` : own)
  }
  return terms.join(' AND ')
}

function ownSql(project: string, table: string, sources: Iterable<ErasedSource>): string {
  if (table === quarantineSource) return quarantinedSql(project, sources)
  const own = `project = ${sqlText(project)}`
  const paths = projectPathsOf(table).map((keys) => keys.map(sqlText).join(', '))
  if (paths.length === 0) return own
  const named = paths.map((path) => `JSONExtractString(metadata, ${path}) = ${sqlText(project)}`)
  return `(${[own, ...named].join(' OR ')})`
}

/**
 * Rejected entries have the project of the token, if that has one. Otherwise their text may name it, where the intake reads it, or
 * in a form that cannot be read.
 */
function quarantinedSql(project: string, sources: Iterable<ErasedSource>): string {
  const at = (keys: readonly string[]) =>
    `JSONExtract(event_message, ${keys.map(sqlText).join(', ')}, 'String')`
  const own = [...sources].flatMap((source) => {
    const keys = projectKeys(source)
    const isOf = `JSONExtractString(metadata, 'source') = ${sqlText(source.name)}`
    return keys ? [keys, ['metadata', ...keys]].map((path) => `if(${isOf}, ${at(path)}, '')`) : []
  })
  const usual = [['metadata', 'project_ref'], ['project_ref'], ['metadata', 'project']].map(at)
  const first = `arrayFirst(p -> p != '', [${[at(['project']), ...own, ...usual].join(', ')}])`
  const quoted = sqlText(JSON.stringify(project))
  const named = `if(isValidJSON(event_message), ${first} = ${sqlText(project)}, position(event_message, ${quoted}) > 0)`
  return `(project = ${sqlText(project)} OR (project = '' AND ${named}))`
}

function microsOf(at: string): bigint {
  return parseIsoTimestamp(at) as bigint
}
