import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { JsonValue } from '../../core/endpoints/definition/parameter-declaration.ts'
import { addServiceAction, addServiceOptions, collectPair, wholeNumber } from '../kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../kit/command-io.ts'
import { addRowsOptions, type RowsOptions, showRows } from '../kit/show-rows.ts'

interface SqlOptions extends RowsOptions {
  file?: string
  parameter?: Record<string, string>
  maxRows?: number
}

const help = `
The SQL is one SELECT with the rules of an endpoint; @now is the current time. A value of a parameter is a number, true,
false or null if it looks like one. To send such a value as text, quote it twice: -p version='"2"'.
`

export function defineSql(command: Command, io: CommandIo): void {
  addServiceOptions(command)
    .argument('[sql]', 'one SELECT; "-" or none reads standard input')
    .option('--file <file>', 'read the SQL from a file')
    .option('-p, --parameter <name=value>', 'value of a parameter; repeatable', collectPair)
    .option('--max-rows <n>', 'maximum number of rows (default: 1000)', wholeNumber(1, 10_000))
  addRowsOptions(command).addHelpText('after', help)
  addServiceAction(command, io, {
    examples: [
      'wellhead sql "SELECT project, count() AS n FROM edge_logs WHERE timestamp > @now - INTERVAL 1 DAY GROUP BY project ORDER BY n DESC"',
      'wellhead sql --file slow.sql -p project=acme -p limit=20 --format csv > slow.csv',
      "echo 'SELECT @now AS now' | wellhead sql",
    ],
    request: async (client, sql: string | undefined, options: SqlOptions) => {
      const query = await readSql(sql, options.file, io)
      const parameters = valuesOf(options.parameter ?? {})
      const json = { query, parameters, max_rows: options.maxRows }
      const send = (control: Record<string, string>) =>
        client.request('POST', '/api/sql', { query: control, json })
      await showRows(options, client, send)
    },
  })
}

export async function readSql(
  sql: string | undefined,
  file: string | undefined,
  io: CommandIo,
): Promise<string> {
  if (sql !== undefined && file !== undefined) throw usageFailure('Use either SQL or --file, not both.')
  if (sql !== undefined && sql !== '-') return sql
  if (sql === undefined && file === undefined && io.stdinIsTerminal) {
    throw usageFailure('There is no SQL. Write it as an argument, or use --file.')
  }
  const bytes =
    file === undefined || file === '-'
      ? await buffer(addAbortSignal(io.signal, io.stdin))
      : await readFile(resolve(io.cwd, file))
  if (!isUtf8(bytes)) throw new CommandFailure('The SQL is not valid UTF-8.')
  return new TextDecoder().decode(bytes)
}

/** Values of parameters: a number, true, false or null if the text looks like one. */
export function valuesOf(texts: Record<string, string>): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, readValue(text)]))
}

/** Text that is a JSON value is that value; integers that a double cannot hold stay text. */
function readValue(text: string): JsonValue {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (typeof value === 'object' && value !== null) return text
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return text
  return value as JsonValue
}
