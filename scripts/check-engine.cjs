// Uses the engine once, in the directory given. What an emulator gets wrong shows in threads, in JSON, and
// when the engine closes.

const { Session } = require('chdb')

const session = new Session(process.argv[2])
const ask = async (sql) => (await session.queryAsync(sql, { format: 'CSV' })).text().trim()
const row = (n) => JSON.stringify({ n, j: { a: { b: `x${n % 7}` }, c: n / 2 } })
const summary =
  'SELECT j.a.b::String AS k, count(), sum(n), max(j.c::Float64) FROM t GROUP BY k ORDER BY k LIMIT 1'

async function main() {
  await ask('CREATE TABLE t (n UInt64, j JSON) ENGINE = MergeTree ORDER BY n')
  const rows = Array.from({ length: 1000 }, (_, n) => row(n)).join('\n')
  await session.insert({ table: 't', values: Buffer.from(rows), format: 'JSONEachRow' })
  for (let i = 0; i < 20; i++) {
    const answers = [await ask(`SELECT ${i}`), await ask(summary)].join()
    if (answers !== `${i},"x0",143,71071,497`) throw new Error(`The engine answered ${answers}.`)
  }
  session.close()
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
