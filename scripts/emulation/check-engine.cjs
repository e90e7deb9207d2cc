// Uses the engine once, in the directory given. What an emulator gets wrong shows in threads, in JSON, in loops over
// wide registers, and when the engine closes.

const { Session } = require('chdb')

const session = new Session(process.argv[2])
const ask = async (sql) => (await session.queryAsync(sql, { format: 'CSV' })).text().trim()
const row = (n) => JSON.stringify({ n, j: { a: { b: `x${n % 7}` }, c: n / 2 } })
const summary =
  'SELECT j.a.b::String AS k, count(), sum(n), max(j.c::Float64) FROM t GROUP BY k ORDER BY k LIMIT 1'

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
  await checkSums()
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
