/** Compares bound values with the engine's own parameters. Prints the differences. */
import { join } from 'node:path'
import { Session } from 'chdb'
import fc from 'fast-check'
import { fieldText } from '../../../build/engine/clickhouse-client.js'
import { boundValue } from '../../../build/engine/host/composed-statement.js'
import { writeEngineConfig } from '../../../build/engine/host/engine-config.js'
import { EngineSession } from '../../../build/engine/host/session.js'
import { quote } from '../../../build/engine/host/statement.js'

const [, , directory, runs] = process.argv
const connectionArgs = writeEngineConfig(directory, { memoryBytes: 2 * 2 ** 30 })
const session = new EngineSession(new Session(join(directory, 'store'), { connectionArgs }))

const awkward = [
  "'",
  '\\',
  '\0',
  '"',
  '`',
  '$$',
  '--',
  '/*',
  '\n',
  '\r',
  '\t',
  '\b',
  '\v',
  ';',
  '\\N',
  'NULL',
  '\ud800',
  'ü',
  '😀',
  '}',
  '{x:String}',
]
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...awkward, 'x', ' ')).map((parts) => parts.join('')),
)
const whole = (bits, signed) => {
  const top = 2n ** BigInt(signed ? bits - 1 : bits)
  return fc.bigInt(signed ? -top : 0n, top - 1n).map(String)
}
const digits = (count) =>
  fc.integer({ min: 0, max: 10 ** count - 1 }).map((n) => String(n).padStart(count, '0'))
/** Seconds since 1970 with six decimals, as the service writes them. */
const seconds = fc
  .bigInt(100_000_000_000_000n, 9_999_999_999_999_999n)
  .map((micros) => `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, '0')}`)
const date = fc
  .tuple(
    fc.date({
      min: new Date('1890-01-01T00:00:00Z'),
      max: new Date('2310-12-31T23:59:59Z'),
      noInvalidDate: true,
    }),
    fc.option(fc.integer({ min: 1, max: 9 }).chain(digits)),
  )
  .map(
    ([date, part]) => date.toISOString().slice(0, 19).replace('T', ' ') + (part === null ? '' : `.${part}`),
  )
const instant = fc.oneof(date, seconds)
const bare = [
  ['String', text],
  ['Int64', whole(64, true)],
  ['UInt64', whole(64, false)],
  ['Int32', whole(32, true)],
  ['UInt32', whole(32, false)],
  ['UInt8', whole(8, false)],
  ['Float64', fc.double({ noNaN: true, noDefaultInfinity: true })],
  ['Bool', fc.boolean()],
  ["DateTime64(6, 'UTC')", instant],
  ["DateTime64(3, 'Europe/Berlin')", instant],
  ['DateTime64(0)', instant],
]
const bound = fc.oneof(
  ...bare.flatMap(([type, value]) => [
    fc.record({ type: fc.constant(type), value }),
    fc.record({ type: fc.constant(`Nullable(${type})`), value: fc.option(value) }),
  ]),
)

const batch = 50
const said = { compared: 0, strings: 0, left: [], differences: [] }
for (let at = 0; at < Number(runs); at += batch) {
  const samples = [
    ...fc.sample(bound, batch - 2),
    ...fc.sample(fc.record({ type: fc.constant('String'), value: text }), 2),
  ]
  const values = samples.map(({ type, value }) => ({ type, value, text: fieldText(value) }))
  const known = values.filter(({ type, text }) => {
    const inlined = boundValue(type, text) !== undefined
    if (!inlined) said.left.push({ type, text })
    return inlined
  })
  await session.run(`SET ${known.map(({ text }, i) => `param_p${i} = ${quote(text)}`).join(', ')}`, 'Null')
  const rows = async (expression) => {
    const list = known.map((given, i) => `${expression(given, i)} AS c${i}, hex(toString(c${i})) AS h${i}`)
    const { bytes } = await session.run(`SELECT ${list.join(', ')}`, 'TabSeparatedWithNamesAndTypes')
    return Buffer.from(bytes)
      .toString('latin1')
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t'))
  }
  const parameters = await rows(({ type }, i) => `{p${i}:${type}}`)
  const inlined = await rows(({ type, text }) => boundValue(type, text))
  known.forEach(({ type, value, text }, i) => {
    const [theirs, ours] = [parameters, inlined].map((lines) =>
      lines.map((line) => line.slice(2 * i, 2 * i + 2)),
    )
    said.compared++
    const isText = type === 'String'
    if (isText) said.strings++
    const same = JSON.stringify(theirs) === JSON.stringify(ours)
    const whole = !isText || ours[1][1] === Buffer.from(value).toString('hex').toUpperCase()
    if (!same || !whole) said.differences.push({ type, text, theirs, ours })
  })
}
console.log(JSON.stringify(said))
process.exit(0)
