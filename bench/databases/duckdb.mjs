/** A temporary DuckDB database in a separate process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from '../support/at-the-end.mjs'
import { openHelper } from '../traffic/sender-process.mjs'

export async function openDuckdb() {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-bench-duckdb-'))
  const helper = openHelper(new URL('./duckdb-process.mjs', import.meta.url))
  const remove = atTheEnd(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  const close = async () => {
    await helper.close()
    remove()
  }
  const file = join(directory, 'lines.ndjson')
  try {
    await helper.ask('open', { file: join(directory, 'logs.duckdb') })
  } catch (error) {
    await close()
    throw error
  }
  return {
    run: (sql) => helper.ask('run', { sql }),
    read: async (sql) => (await helper.ask('read', { sql })).text,
    time: async (sql, calls) => (await helper.ask('time', { sql, calls })).times,
    /** Inserts NDJSON through a file, which is DuckDB's fastest way. */
    insertLines: async (into, lines, types) => {
      await writeFile(file, lines)
      const columns = Object.entries(types).map(([column, type]) => `${column}: '${type}'`)
      const source = `read_json('${file}', format = 'newline_delimited', columns = {${columns.join(', ')}})`
      await helper.ask('run', { sql: `INSERT INTO ${into} SELECT * FROM ${source}` })
    },
    close,
  }
}
