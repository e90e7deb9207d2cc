import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { inUse, invalidParameter, sourceNotFound } from '../../core/base/errors.ts'
import { closestName } from '../../core/base/text/closest-name.ts'
import { readShape } from '../../core/base/validation.ts'
import { isBuiltIn } from '../../core/catalog/built-in-sources.ts'
import {
  type NewSource,
  newSourceShape,
  type Source,
  sourceRecords,
  type TypedColumn,
} from '../../core/catalog/source.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import {
  type DefinitionChange,
  kindForm,
  type NextDefinitions,
  type Opened,
  type Saved,
} from '../../core/definitions/kind.ts'
import { yamlFile } from '../../core/definitions/yaml-file.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryText } from '../../core/engine/json-rows.ts'
import { checkRules } from '../../core/intake/rules/check-rules.ts'
import { olderSql } from '../../core/sql/isolation.ts'
import { sqlName } from '../../core/sql/names.ts'
import { queryOf } from '../../core/sql/query.ts'
import { shownPath } from '../../shared/path-text.ts'
import type { HiddenEntries } from './hidden-entries.ts'

interface SourceParts {
  engine: Engine
  sources: Sources
  hiddenEntries: HiddenEntries
}

const limits = { deadlineMs: 30_000 }

const form = kindForm<NewSource>({
  ...sourceRecords,
  folder: 'sources',
  isReadBySql: true,
  fields: newSourceShape,
  fieldsOf,
  remainder: ({ name }) => ({ name }),
  file: yamlFile('source', newSourceShape, {
    example: 'description: Orders of the shop.',
    // Deleting a source deletes its entries.
    prunes: false,
    isReserved: isBuiltIn,
    inLines: ['columns'],
  }),
  docs: {
    about: 'Where entries are stored, and for how long.',
    fieldsName: 'SourceFields',
    view: { id: z.uuid().describe('Stays the same for the lifetime of the source.') },
    example: { name: 'my_app', retention_days: 30 },
    changeExample: { retention_days: 30 },
    referenceExample: 'edge_logs',
    changes: 'deploy',
    deletes: 'admin',
    texts: { change: 'The name cannot be changed.', delete: 'Deletes its entries as well.' },
    confirms: true,
    hidesEntries: true,
  },
})

export const sources = {
  ...form,
  open: (parts: SourceParts): Opened<Source> => ({
    items: parts.sources,
    notFound: (reference, names) => sourceNotFound(reference, closestName(reference, names)),
    reads: ({ name }) => ({ source: name }),
    kept: ({ published }) => ({ published }),
    async prepare(fields, { current }) {
      const sent = readShape(newSourceShape, fields)
      if (current && current.name !== sent.name) {
        throw invalidParameter('name', 'The name of a source cannot be changed.')
      }
      checkRules(sent)
      return { stored: sent }
    },
    changes: (before, after, next) => changesOf(parts, before, after, next),
    async refuseUsed(before, after, next) {
      const { name } = before
      if (!after && isBuiltIn(name)) {
        throw invalidParameter('name', `${name} is a built-in source and cannot be deleted.`)
      }
      const users = after ? [] : await next.usersOf('sources', before, 'all')
      if (users.length > 0) throw inUse(name, users)
      for (const { name: column } of after ? removedColumns(before, after) : []) {
        const readers = readersOf(name, column, next).slice(0, 5).join(', ')
        const advice = 'Change the query first, then remove the column.'
        if (readers) throw invalidParameter('columns', `Column ${column} is used by ${readers}. ${advice}`)
      }
    },
    extend: (before, after) => parts.sources.extend(before, after),
    removed: ({ name }) => parts.sources.dropDeleted(name),
  }),
}

/** Names of the endpoints that read a typed column. */
function readersOf(source: string, column: string, next: NextDefinitions): string[] {
  const endpoints = next.list<Saved & { definition: { query: string } }>('endpoints')
  const readers = endpoints.filter(({ definition: { query } }) => queryOf(query).readsColumn(source, column))
  return readers.map(({ name }) => name)
}

function fieldsOf(source: Source) {
  const { name, description, aliases, retention_days, search_index, columns, project } = source
  const { list_columns, rules, published } = source
  return {
    ...{ name, description, aliases, retention_days, search_index, columns, project },
    ...{ list_columns, rules, published },
  }
}

function removedColumns(before: Source, after: Source): TypedColumn[] {
  return before.columns.filter(({ name }) => after.columns.every((column) => column.name !== name))
}

/** What senders, queries and the stored entries notice. */
async function changesOf(
  { engine, hiddenEntries }: SourceParts,
  before: Source,
  after: Source | undefined,
  next: NextDefinitions,
): Promise<DefinitionChange[]> {
  const { name } = before
  const changes: DefinitionChange[] = []
  const add = (kind: string, breaking: boolean, message: string, column?: string) =>
    changes.push({ kind, breaking, message, ...(column !== undefined && { column }) })
  if (!after) {
    add('source_deleted', true, `source deleted; ${await count(engine, name, '1')} will be deleted`)
    return changes
  }
  if (after.description !== before.description) add('description_changed', false, 'description changed')
  if (after.project !== before.project) {
    const from = after.project === null ? 'removed' : `is ${shownPath(after.project)}`
    add('project_path_changed', false, `path of the project ${from}; stored entries keep theirs`)
  }
  if (after.list_columns.join() !== before.list_columns.join()) {
    add('list_columns_changed', false, 'columns of the list changed')
  }
  if (!isDeepStrictEqual(after.rules, before.rules)) {
    add('rules_changed', false, 'rules changed; stored entries stay as they are')
  }
  if (after.search_index !== before.search_index) {
    add('search_index_changed', false, `index of words ${after.search_index ? 'added' : 'removed'}`)
  }
  if (after.published && !before.published) {
    add('published', false, 'published; tokens with a project and the scope search can now read its entries')
  }
  if (!after.published && before.published) {
    add('unpublished', true, 'unpublished; tokens with a project can no longer read its entries')
  }
  for (const alias of new Set([...after.aliases, ...before.aliases])) {
    if (!before.aliases.includes(alias)) add('alias_added', false, `alias ${alias} added`)
    if (!after.aliases.includes(alias))
      add('alias_removed', true, `alias ${alias} removed; requests that send to it will fail`)
  }
  const [days, was] = [after.retention_days, before.retention_days]
  const what = `retention_days ${was} → ${days}`
  if (days > was) add('retention_raised', false, what)
  if (days < was) {
    const conditions = [{ source: name, sql: olderSql(days, hiddenEntries.now()) }]
    changes.push(await hiddenEntries.change({ kind: 'retention_lowered', what, conditions }))
  }
  for (const column of after.columns) {
    const old = before.columns.find((one) => one.name === column.name)
    if (old && contentOf(old) === contentOf(column)) continue
    const isOther = old && (old.path !== column.path || old.type !== column.type)
    const readers = isOther ? readersOf(name, column.name, next).join(', ') : ''
    const effect = readers && `; results of ${readers} may differ`
    const how = old ? ` changed from ${contentOf(old)} to` : ' added:'
    const kind = old ? 'column_changed' : 'column_added'
    add(kind, readers !== '', `column ${column.name}${how} ${contentOf(column)}${effect}`, column.name)
  }
  for (const { name: column, path } of removedColumns(before, after)) {
    const filled = await count(engine, name, `ifNull(toString(${sqlName(column)}), '') != ''`)
    const remains = `metadata.${shownPath(path)} remains in ${filled}, and queries then read it from JSON text`
    add('column_removed', false, `column ${column} removed; ${remains}`, column)
  }
  return changes
}

function contentOf({ path, type, searched }: TypedColumn): string {
  return `metadata.${shownPath(path)}, ${type}${searched ? ', searched' : ''}`
}

/** Counts entries of a source, in words. */
async function count(engine: Engine, source: string, condition: string): Promise<string> {
  const sql = `SELECT count() FROM ${sqlName(source)} WHERE ${condition}`
  const entries = Number(await queryText(engine, { sql }, limits))
  return entries === 1 ? '1 entry' : `${entries} entries`
}
