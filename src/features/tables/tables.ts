import { randomBytes } from 'node:crypto'
import type { Author } from '../../core/base/author.ts'
import { breakingChange, invalidBody, resourceNotFound, versionConflict } from '../../core/base/errors.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import type { RecordKind } from '../../core/catalog/catalog-state.ts'
import { type ItemChange, Items } from '../../core/catalog/items.ts'
import { readerOf } from '../../core/definitions/kind.ts'
import { SavedRecords } from '../../core/definitions/saved-records.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows, queryText } from '../../core/engine/json-rows.ts'
import {
  convertLookupRows,
  countLackingRows,
  createLookupTable,
  readLookupTables,
  switchTables,
} from '../../core/engine/lookup-tables.ts'
import { dropTable } from '../../core/engine/tables.ts'
import { retiredName } from '../../core/sql/isolation.ts'
import { sqlName, sqlText } from '../../core/sql/names.ts'
import type { TableColumn } from '../../shared/column-types.ts'
import type { RowBody, RowReader, RowReaders } from './row-readers.ts'
import { rowsShape, type StoredRows, showsAll, type TableFields, tableShape, tenantSource } from './table.ts'

const readTable = readerOf<TableFields>(tableShape)
export type SavedTable = ReturnType<typeof readTable>

interface TablesOptions {
  catalog: Catalog
  engine: Engine
  kind: RecordKind
  /** Throws if the disk is nearly full. */
  checkDisk: () => void
  /** Projects whose rows were erased from all tables. */
  erasedProjects: () => ReadonlySet<string>
  readers: Pick<RowReaders, 'read'>
}

/** Names of endpoints that work with a table, and would fail or return other columns if it had these. */
export type TableUsers = (table: string, columns: readonly TableColumn[]) => Promise<string[]>

interface ReplaceTerms {
  usersOf: TableUsers
  /** Whether they may break. */
  breaking: boolean
  /** Whether rows of erased projects may come back. */
  restoreErased: boolean
  by: Author
  /** Stops the reading of rows. */
  signal: AbortSignal
}

const limits = { deadlineMs: 120_000 }
const leftAfterMs = 3_600_000
/** Erased projects that a refusal names. */
const maxNamed = 10

/** No table of a user has such a name. */
const besideName = /^_table_(\d+)_/

/**
 * Small tables that users fill, to join logs with. Rows are written beside the table, and then both are exchanged in one step. What
 * is exchanged is always complete, so it does not matter which service does it, or when one ends.
 */
export class Tables extends Items<SavedTable> {
  readonly #options: TablesOptions
  readonly #rows: SavedRecords<StoredRows>
  /** The end of the queue of replacements, by the id of the table. */
  readonly #last = new Map<string, Promise<unknown>>()
  #onRows: (name: string) => void = () => {}
  /** Columns of the tables that can be read, by name. Another map whenever something has changed. */
  readable: ReadonlyMap<string, readonly TableColumn[]> = new Map()

  constructor(options: TablesOptions) {
    super(options.catalog, options.kind, readTable)
    this.#options = options
    this.#rows = new SavedRecords(
      options.catalog,
      { name: 'table_rows', plural: 'tables with rows', most: options.kind.most },
      rowsShape,
    )
    this.#rows.follow((changes) => {
      this.#index()
      for (const { id } of changes) {
        const table = this.withId(id)
        if (table) this.#onRows(table.name)
      }
    })
  }

  /** Sets what follows from other rows of a table. */
  followRows(onRows: (name: string) => void): void {
    this.#onRows = onRows
  }

  columnsOf({ id, definition }: SavedTable): readonly TableColumn[] {
    return definition.columns.length > 0 ? definition.columns : (this.#rows.withId(id)?.body.columns ?? [])
  }

  rowsOf({ id }: Pick<SavedTable, 'id'>) {
    return this.#rows.withId(id)
  }

  /** Removes tables of definitions that are gone or were never stored, and creates what is missing. */
  async open(): Promise<void> {
    const { catalog } = this.#options
    const existing = await this.#existing()
    for (const name of existing.keys()) {
      const [, at] = besideName.exec(name) ?? []
      const isLeft = at === undefined ? !this.named(name) : Number(at) < Date.now() - leftAfterMs
      if (catalog.shared ? at !== undefined && isLeft : at !== undefined || isLeft) await this.#drop(name)
    }
    for (const table of this.list()) await this.#ensure(table)
  }

  /** The rows of a table are those that were sent, from one instant on. */
  async replace(
    table: SavedTable,
    body: RowBody,
    { usersOf, breaking, restoreErased, by, signal }: ReplaceTerms,
  ): Promise<{ stored: StoredRows; users: readonly string[] }> {
    const { checkDisk, erasedProjects, readers } = this.#options
    checkDisk()
    const bytes = body.bytes.length
    const replace = async (reader: RowReader) => {
      const summary = await reader.summary(erasedProjects())
      if (!restoreErased) await this.#refuseErased(table, summary.erased)
      const { definition } = this.#current(table)
      const isDeclared = definition.columns.length > 0
      const columns = isDeclared ? definition.columns : summary.columns
      if (columns.length === 0)
        throw invalidBody('The rows have no columns. Send at least one row, or declare columns.')
      const before = this.columnsOf(table)
      const isOther = before.length > 0 && JSON.stringify(before) !== JSON.stringify(columns)
      const users = isOther ? await usersOf(table.name, columns) : []
      if (isOther && !breaking) refuseBreaking(table, before, columns, users)
      const stored = await this.#fill(table, columns, by, async (beside) => {
        const digest = await this.#insert(beside, reader, columns)
        return { rows: summary.rows, bytes, digest }
      })
      return { stored, users }
    }
    return this.#inTurn(table.id, () => readers.read(body, signal, replace))
  }

  /** Also says which projects of rows were erased, without storing anything. */
  async checkErased(table: SavedTable, body: RowBody, signal: AbortSignal): Promise<void> {
    const { erasedProjects, readers } = this.#options
    const { erased } = await readers.read(body, signal, (reader) => reader.summary(erasedProjects()))
    await this.#refuseErased(table, erased)
  }

  /** A project that the table has again was restored on purpose. */
  async #refuseErased({ name }: SavedTable, projects: readonly string[]): Promise<void> {
    if (projects.length === 0) return
    const stored = new Set<string>()
    if (hasTenants(this.readable.get(name) ?? [])) {
      const sql = `SELECT DISTINCT ${tenantSource} AS project FROM ${sqlName(name)} WHERE ${tenantSource} IN ({projects:Array(String)})`
      const rows = await queryRows<{ project: string }>(
        this.#options.engine,
        { sql, parameters: { projects } },
        limits,
      )
      for (const { project } of rows) stored.add(project)
    }
    const restored = projects.filter((project) => !stored.has(project))
    if (restored.length === 0) return
    const names = restored.slice(0, maxNamed).map((project) => JSON.stringify(project))
    const more = restored.length > maxNamed ? ` and ${restored.length - maxNamed} more` : ''
    const changes = [
      {
        ...{ kind: 'erased_rows', breaking: true, definition: `tables/${name}` },
        message: `rows of erased projects would come back: ${names.join(', ')}${more}`,
      },
    ]
    throw breakingChange(
      changes,
      `nothing was changed: ${changes[0]?.message}. Remove these rows, or set restore_erased=true to store them anyway.`,
    )
  }

  /** Removes the rows of a project from all tables with a column `project`. Returns how many there were. */
  async eraseProject(project: string, by: Author): Promise<number> {
    let erased = 0
    for (const table of this.list()) {
      erased += await this.#inTurn(table.id, async () => {
        const columns = this.readable.get(this.withId(table.id)?.name ?? '')
        const count = columns ? await this.#countOf(table.name, columns, project) : 0
        if (!columns || count === 0) return 0
        await this.#fill(table, columns, by, async (beside) => {
          const kept = `ifNull(${tenantSource}, '') != ${sqlText(project)} OR isNull(${tenantSource})`
          const names = columns.map(({ name }) => sqlName(name)).join(', ')
          const sql = `INSERT INTO ${beside} (${names}) SELECT ${names} FROM ${sqlName(table.name)} WHERE ${kept}`
          await this.#options.engine.command({ sql }, limits)
          const rows = await this.#count(`SELECT count() FROM ${beside}`)
          // No longer those that were sent, so a workspace can send them again.
          return { rows, bytes: this.rowsOf(table)?.body.bytes ?? 0, digest: '' }
        })
        return count
      })
    }
    return erased
  }

  async #countOf(name: string, columns: readonly TableColumn[], project: string): Promise<number> {
    if (!hasTenants(columns)) return 0
    return this.#count(`SELECT count() FROM ${sqlName(name)} WHERE ${tenantSource} = ${sqlText(project)}`)
  }

  async #count(sql: string): Promise<number> {
    return Number(await queryText(this.#options.engine, { sql }, limits))
  }

  /** Some rows, in the order in which they were sent. */
  async page(table: SavedTable, format: string, offset: number, limit: number): Promise<Buffer> {
    const columns = this.readable.get(table.name)
    if (!columns) return Buffer.alloc(0)
    const names = columns.map(({ name, type }) =>
      type === 'timestamp'
        ? `formatDateTime(${sqlName(name)}, '%FT%T.%fZ', 'UTC') AS ${sqlName(name)}`
        : sqlName(name),
    )
    const sql = `SELECT ${names.join(', ')} FROM ${sqlName(table.name)} ORDER BY _part, _part_offset LIMIT ${limit} OFFSET ${offset}`
    const settings = { format_csv_null_representation: '', output_format_json_quote_64bit_integers: 0 }
    return (await this.#options.engine.query({ sql, format, settings }, limits)).body
  }

  /** Nobody reads it any more. */
  async dropRows(table: SavedTable, by: Author): Promise<void> {
    await this.#drop(table.name)
    const records = () => this.#rows.values().filter(({ id }) => id === table.id)
    await this.#rows.delete(records, by, (body) => body)
  }

  protected override async apply(changes: readonly ItemChange<SavedTable>[]): Promise<void> {
    for (const { after } of changes) if (after) await this.#ensure(after)
    this.take(changes)
  }

  protected override changed(): void {
    this.#index()
  }

  #index(): void {
    const all = this.values().map((table) => [table.name, this.columnsOf(table)] as const)
    this.readable = new Map(all.filter(([, columns]) => columns.length > 0))
  }

  /** Creates the table, or gives it the columns of its definition. */
  async #ensure(table: SavedTable): Promise<void> {
    const columns = this.columnsOf(table)
    if (columns.length === 0) return
    const { catalog } = this.#options
    const existing = (await this.#existing()).get(table.name)
    if (existing && JSON.stringify(existing) === JSON.stringify(columns)) return
    if (!existing) {
      const id = `${table.name}-${table.id}-${randomBytes(8).toString('hex')}`
      return catalog.run([createLookupTable(table.name, columns, id, catalog.topology)])
    }
    await this.#beside(columns, async (beside) => {
      await catalog.run([convertLookupRows(table.name, beside, existing, columns)])
      await this.#exchange(table.name, beside)
    })
  }

  async #existing(): Promise<Map<string, TableColumn[]>> {
    const tables = await queryRows<{ name: string; columns: string }>(
      this.#options.engine,
      { sql: readLookupTables },
      limits,
    )
    return new Map(tables.map(({ name, columns }) => [name, JSON.parse(columns) as TableColumn[]]))
  }

  async #beside<T>(columns: readonly TableColumn[], work: (name: string) => Promise<T>): Promise<T> {
    const { catalog } = this.#options
    const name = `_table_${Date.now()}_${randomBytes(8).toString('hex')}`
    try {
      await catalog.run([createLookupTable(name, columns, name, catalog.topology)])
      return await work(name)
    } finally {
      await this.#drop(name).catch(() => {})
    }
  }

  /** Replaces the rows by others, in one step. */
  #fill(
    table: SavedTable,
    columns: readonly TableColumn[],
    by: Author,
    write: (beside: string) => Promise<Omit<StoredRows, 'columns'>>,
  ): Promise<StoredRows> {
    const { catalog } = this.#options
    return this.#beside(columns, async (beside) => {
      const stored = { columns: [...columns], ...(await write(beside)) }
      // On a cluster, every node gets the rows before any of them reads the table.
      await catalog.waitForNodes(countLackingRows(beside, stored.rows, catalog.topology))
      // The catalog changes nothing meanwhile, and no backup begins.
      await catalog.hold(async () => {
        this.#current(table)
        if (!(await this.#existing()).has(table.name)) {
          const id = `${table.name}-${beside}`
          await catalog.run([createLookupTable(table.name, columns, id, catalog.topology)])
        }
        await this.#exchange(table.name, beside)
      })
      await this.#rows.put(table.id, by, () => stored)
      return stored
    })
  }

  async #exchange(name: string, beside: string): Promise<void> {
    const { catalog } = this.#options
    try {
      await catalog.run(switchTables(name, beside, catalog.topology), { max_table_size_to_drop: 0 })
    } finally {
      await this.#drop(retiredName(name)).catch(() => {})
    }
  }

  /** Throws if the definition has changed since a request began. */
  #current(table: SavedTable): SavedTable {
    const current = this.withId(table.id)
    if (!current) throw resourceNotFound(`No table has the id or name "${table.name}"`)
    if (JSON.stringify(current.definition.columns) === JSON.stringify(table.definition.columns))
      return current
    throw versionConflict(String(table.version), current.version)
  }

  async #insert(beside: string, reader: RowReader, columns: readonly TableColumn[]): Promise<string> {
    const { engine } = this.#options
    const target = {
      table: beside,
      columns: columns.map(({ name }) => sqlName(name)),
      format: 'JSONCompactEachRow',
    } as const
    for (;;) {
      const chunk = await reader.next(columns)
      if ('digest' in chunk) return chunk.digest
      await engine.insert(target, Buffer.from(chunk.lines.buffer), limits)
    }
  }

  async #drop(name: string): Promise<void> {
    const { catalog } = this.#options
    await catalog.run([dropTable(name, catalog.topology)], { max_table_size_to_drop: 0 })
  }

  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const run = (this.#last.get(id) ?? Promise.resolve()).then(work)
    const end = run
      .catch(() => {})
      .then(() => {
        if (this.#last.get(id) === end) this.#last.delete(id)
      })
    this.#last.set(id, end)
    return run
  }
}

const hasTenants = (columns: readonly TableColumn[]) => columns.some(({ name }) => name === tenantSource)

function refuseBreaking(
  { name }: SavedTable,
  before: readonly TableColumn[],
  after: readonly TableColumn[],
  users: readonly string[],
): void {
  const lost = before.find((old) => !after.some(({ name, type }) => name === old.name && type === old.type))
  const readers = users.map((user) => `endpoints/${user}`).join(', ')
  const messages = [
    ...(hasTenants(before) && !hasTenants(after) ? [`no column ${tenantSource}: ${showsAll}`] : []),
    ...(lost && readers ? [`these would fail or return other columns: ${readers}`] : []),
  ]
  if (messages.length === 0) return
  const changes = messages.map((message) => {
    return { kind: 'columns_changed', breaking: true, message, definition: `tables/${name}` }
  })
  throw breakingChange(changes, 'nothing was changed. Set breaking=true to replace the rows anyway.')
}
