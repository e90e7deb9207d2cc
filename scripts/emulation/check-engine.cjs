// Starts the engine's server once, in the directory given, as src/core/engine/embedded/host.ts does, and uses it. What an emulator
// gets wrong shows in threads, in JSON and in loops over wide registers.

const fs = require('node:fs')
const { join } = require('node:path')
const { libchdbPath } = require('chdb/libchdb')
const { DataType, load, open } = require('ffi-rs')
const { exitNow } = require('./exit-normally.cjs')

const library = 'chdb'
const [, , directory] = process.argv
const at = (name) => join(directory, name)
const row = (n) => JSON.stringify({ n, j: { a: { b: `x${n % 7}` }, c: n / 2 } })
const summary =
  'SELECT j.a.b::String AS k, count(), sum(n), max(j.c::Float64) FROM t GROUP BY k ORDER BY k LIMIT 1'

const config = `<clickhouse>
  <listen_host>127.0.0.1</listen_host><http_port>0</http_port>
  <path>${at('store/')}</path><users_config>${at('users.xml')}</users_config>
</clickhouse>`
const users = `<clickhouse>
  <profiles><default/></profiles><quotas><default/></quotas>
  <users><default><password/><networks><ip>127.0.0.1</ip></networks></default></users>
</clickhouse>`
const statements = `SYSTEM START LISTEN HTTP;
SELECT getServerPort('http_port') INTO OUTFILE '${at('port')}' FORMAT TabSeparated;
SELECT sleepEachRow(3) FROM numbers(1000000) SETTINGS max_block_size = 1 FORMAT Null;`

/** Starts the server, and returns its address. */
async function startServer() {
  fs.mkdirSync(directory, { recursive: true })
  const files = { 'config.xml': config, 'users.xml': users, 'start.sql': statements }
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(at(name), text)
  open({ library, path: libchdbPath() })
  const args = ['check', '-C', at('config.xml'), '--queries-file', at('start.sql')]
  const ended = load({
    library,
    funcName: 'chdb_query_cmdline',
    retType: DataType.External,
    paramsType: [DataType.I32, DataType.StringArray],
    paramsValue: [args.length, args],
    runInNewThread: true,
  })
  const failed = ended.then(() => Promise.reject(new Error('The server ended.')))
  return Promise.race([failed, listening()])
}

async function listening() {
  for (;;) {
    const port = fs.existsSync(at('port')) ? fs.readFileSync(at('port'), 'utf8') : ''
    if (port.endsWith('\n')) return `http://127.0.0.1:${port.trim()}`
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

let url
async function ask(sql, rows = '') {
  const query = new URLSearchParams({ default_format: 'CSV', query: sql })
  const response = await fetch(`${url}/?${query}`, { method: 'POST', body: rows })
  const text = (await response.text()).trim()
  if (!response.ok) throw new Error(text)
  return text
}

/** Sums and the like of many numbers, in all their widths: known values, so that nothing has to be believed. */
async function checkSums() {
  for (const count of [7, 32, 1003, 70_000]) {
    const numbers = Array.from({ length: count }, (_, n) => n)
    const sum = (of) => numbers.reduce((total, n) => total + of(n), 0)
    const whole = ['UInt64', 'Int64', 'UInt32', 'Int32', 'Float64'].map((type) => [
      `sum(to${type}(number))`,
      sum((n) => n),
    ])
    const expected = [
      ...whole,
      ['sum(toUInt8(number % 251))', sum((n) => n % 251)],
      ['sum(toInt16(number % 1000))', sum((n) => n % 1000)],
      ['sum(toFloat32(number % 16))', sum((n) => n % 16)],
      ['sumIf(number, number % 3 = 0)', sum((n) => (n % 3 === 0 ? n : 0))],
      ['countIf(number % 7 = 1)', sum((n) => (n % 7 === 1 ? 1 : 0))],
      ['sum(toNullable(number) + 1)', sum((n) => n + 1)],
      ['min(number + 5)', 5],
      ['max(number * 2)', (count - 1) * 2],
      ['toUInt64(avg(number) * 2)', count - 1],
      ['uniqExact(number)', count],
      ["countIf(toString(number) LIKE '%99%')", sum((n) => (`${n}`.includes('99') ? 1 : 0))],
      ['sum(length(lower(upper(toString(number)))))', sum((n) => `${n}`.length)],
      ['arraySum(groupArray(number))', sum((n) => n)],
      ["sum(dateDiff('second', toDateTime(0), toDateTime(number)))", sum((n) => n)],
    ]
    const columns = expected.map(([expression]) => expression).join(', ')
    const answered = await ask(`SELECT ${columns} FROM numbers(${count})`)
    const wanted = expected.map(([, value]) => value).join()
    if (answered !== wanted)
      throw new Error(`Of ${count} numbers the engine made ${answered}, not ${wanted}.`)
  }
}

async function main() {
  url = await startServer()
  if ((await (await fetch(`${url}/ping`)).text()) !== 'Ok.\n')
    throw new Error('The server does not respond to a ping.')
  await checkSums()
  await ask('CREATE TABLE t (n UInt64, j JSON) ENGINE = MergeTree ORDER BY n')
  const rows = Array.from({ length: 1000 }, (_, n) => row(n)).join('\n')
  await ask('INSERT INTO t FORMAT JSONEachRow', rows)
  for (let i = 0; i < 20; i++) {
    const answers = [await ask(`SELECT ${i}`), await ask(summary)].join()
    if (answers !== `${i},"x0",143,71071,497`) throw new Error(`The engine answered ${answers}.`)
  }
}

main().then(
  () => exitNow(0),
  (error) => {
    console.error(error)
    exitNow(1)
  },
)
